"""A public list of verified results: a folder of bundles under version control, and the static site made of it.

Only bundles are kept, so nothing else can be forged: every number of the site is recomputed from them each time it is built.
"""

from perjoule.publishing.entry import Entry, Ranked, Trial, checked
from perjoule.publishing.folder import add, bundles
from perjoule.publishing.ranking import Group, groups
from perjoule.publishing.site import build

__all__ = ["Entry", "Group", "Ranked", "Trial", "add", "build", "bundles", "checked", "groups"]

"""A public list of verified results: a folder of bundles under version control, and the static site made of
it.

Only bundles are kept, so nothing else can be forged: every number of the site is recomputed from them each
time it is built.
"""

from perjoule.publishing.entry import BundledTrial, Entry, Ranked, checked
from perjoule.publishing.folder import add, bundles
from perjoule.publishing.ranking import RankedGroup, groups
from perjoule.publishing.site import build

__all__ = ["BundledTrial", "Entry", "Ranked", "RankedGroup", "add", "build", "bundles", "checked", "groups"]

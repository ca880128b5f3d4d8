"""How Sphinx lays out the documentation (https://www.sphinx-doc.org) that setup/site_pages.py prepares:
`make site`.
"""

import importlib.metadata

project = "perjoule"
release = importlib.metadata.version("perjoule")
root_doc = "README"
extensions = ["myst_parser"]  # pages are Markdown, as a forge shows them
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"perjoule {release}"
html_extra_path = ["extra"]
smartquotes = False  # a quoted word is one to write in a campaign
html_show_copyright = html_show_sphinx = html_copy_source = False

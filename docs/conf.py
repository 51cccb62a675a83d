"""Sphinx's settings for the site that `make site` builds. Nothing in it is loaded from another host."""

from pathlib import Path

project = html_title = "gnod"
root_doc = "index"
extensions = ["myst_parser"]
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4  # as on GitHub
html_theme = "furo"
html_copy_source = False
html_show_search_summary = False  # summaries need a server; without them, search works from the disk
html_search_scorer = str(Path(__file__).with_name("scorer.js"))

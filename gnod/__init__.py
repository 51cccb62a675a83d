"""gnod: an always-on search daemon for one person's folders.

All packages may use the modules in this folder. `bm25` has the formula of keyword scores and the weights of path, title
and body. `presets` has the models of each preset.
"""

__version__ = "0.1.0"

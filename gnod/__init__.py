"""gnod: an always-on search daemon for one person's folders.

Beside the packages stand modules that all of them may use. `bm25` has the formula of keyword scores and the weights of
path, title and body, `presets` the models of each preset.
"""

__version__ = "0.1.0"

"""gnod: an always-on search daemon for one person's folders."""

__version__ = "0.1.0"

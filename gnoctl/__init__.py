"""gnoctl: the thin command line in front of gnod. Knows the protocol, and nothing of the daemon behind it."""

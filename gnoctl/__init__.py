"""gnoctl: the thin command line in front of gnod. Uses the protocol; must not depend on the daemon behind it."""

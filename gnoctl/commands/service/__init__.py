"""`gnoctl service …`: the daemon as a service of systemd or launchd."""

"""The page: a process between the daemon's socket and a browser (`gnoctl web`).

It is a client like any other: it imports the protocol and no part of the daemon, opens none of the user's files, and
sends nothing beyond loopback. `security` decides who may send requests, and `server` has the addresses.
"""

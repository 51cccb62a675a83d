"""Language models: names and files, running them (run/), getting them (supply/), and using models of servers (remote/).

This package must not depend on the store, the wire or search. `gnod.configured` decides which models the config uses.
"""

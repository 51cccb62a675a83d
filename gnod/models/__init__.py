"""Language models: their names and files, running them (run/), getting them (supply/), those of servers (remote/).

Must not depend on the store, the wire or search. Which models the config asks for is in `gnod.configured`.
"""

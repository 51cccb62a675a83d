"""Language models: their names and files, running them (run/), getting them (supply/), those of servers (remote/).

Knows no store, no wire and no search. Which models the config asks for is in `gnod.configured`.
"""

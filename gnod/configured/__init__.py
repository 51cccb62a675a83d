"""The config in the running daemon: the active config, its models, and what may leave the machine.

Services of one capability are in their own package. `gnod.config` reads the file, `gnod.models` runs models.
"""

"""What the config file asks for, as the running daemon has it: the active config, its models, what leaves the machine.

The services of one capability are in its own package. Reading the file is in `gnod.config`, running a model in
`gnod.models`.
"""

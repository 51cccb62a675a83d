"""Short texts that people and agents store: encrypted, found by topic and by meaning. Must not depend on the wire
types.

`keywords`, `ranking` and `previews` are pure. `sealing` and `keys` are the cryptography, `vault` holds the key.
`memories` stores, `recall` searches, `resident` is what both keep in memory, `database` the file.
"""

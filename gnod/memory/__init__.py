"""What people and agents tell gnod to remember: short texts, kept encrypted, found by name and by meaning.

`kinds`, `keywords`, `ranking`, `pool` and `previews` are pure. `sealing` and `keys` know the cryptography, `vault` who
holds the key. `memories` stores, `recall` is the search, `resident` what both keep in memory. Nothing here knows the
wire.
"""

"""Short texts that people and agents store: encrypted, found by topic and by meaning. `service` is the entry point.

    memories     stores, changes and reads them; `resident` holds their data in RAM key/         the key and what
    protects it recalling/   from a query to ranked memories

This package must not depend on the wire. The tables are in `gnod.store.memory`.
"""

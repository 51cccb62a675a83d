"""Short texts that people and agents store: encrypted, found by topic and by meaning. `service` is the entry.

    memories     stores, changes and reads them; `resident` is what stays in RAM
    key/         the key and what protects it
    recalling/   from a query to ranked memories

Must not depend on the wire. Their tables are in `gnod.store.memory`.
"""

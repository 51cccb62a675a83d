"""Store the index on disk: one SQLite database, and files beside it. `database` opens it and has the threads.

    schema, migrations   its history
    tables/              one module for each table
    documents/           changes of several tables at once: storing, removing, compacting
    keyword_index/       full text; postings/ is its copy in files, for scoring
    vectors/  links/  memory/  backup/  health/
    readers/             processes that read for many clients

Functions take a connection. The package knows tables, but not users' files, the meaning of queries or the wire.
"""

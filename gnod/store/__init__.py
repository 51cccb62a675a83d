"""The index on disk: one SQLite database, and files beside it. `database` opens it and has the threads.

    schema, migrations   its history
    tables/              one module for each table
    documents/           what changes several tables at once: storing, removing, compacting
    keyword_index/       full text; postings/ is its copy in files, which scores
    vectors/  links/  memory/  backup/  health/
    readers/             processes that read for many clients

Functions take a connection. Knows tables; knows no files of users, no meaning of queries and no wire.
"""

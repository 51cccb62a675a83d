"""From files to index rows. This folder has the steps, each package below it one part of the work.

    sync        make the index of one collection equal to its folder; the entry
    files/      what is in a folder, and what of it is read
    workers/    the processes that read it
    formats/    one module for each format; reading/ has what they share
    prepare     from converted Markdown to a document: text/, code/, links/
    ocr/        from a page to its text
    embedding   from chunks to vectors

Must not depend on queries or the wire. When work is done is decided in `gnod.freshness` and `gnod.background`.
"""

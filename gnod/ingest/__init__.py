"""Turn files into index rows. The modules of this package are the steps; each subpackage does one part of the work.

    sync        make the index of one collection equal to its folder; the entry
    files/      find the files of a folder, and choose the ones to read
    workers/    the processes that read them
    formats/    one module for each format; reading/ is their common code
    prepare     from converted Markdown to a document: text/, code/, links/
    ocr/        from a page to its text
    embedding   from chunks to vectors

Must not depend on queries or the wire. `gnod.freshness` and `gnod.background` decide when to work.
"""

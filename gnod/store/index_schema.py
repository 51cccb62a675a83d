"""Define the schema of an index, in parts by subject, and its migrations.

A release never changes a migration of an earlier release. It adds one, with a new number, to SCHEMA.
gnod/store/schema.py runs the migrations.
"""

from __future__ import annotations

import time

import apsw

from gnod.analysis import terms
from gnod.errors import NewerDatabase
from gnod.store import schema
from gnod.store.faults import INDEX

# The key in `schema_meta` for the version of the analyser that made the terms.
_TERMS = "tokenizer_version"
# The newest format of FTS5's own tables that gnod can read (SQLite 3.42).
_FULLTEXT_FORMAT = 5

# Keep this many changes of vectors. A copy in memory that missed more is loaded again.
KEPT_CHANGES = 50_000

_COLLECTIONS = """
    -- `mounted`: the folder was a mount point at the last walk, so an empty folder in its place is an unmounted drive.
    -- `reader`: the program that recognises scanned pages. `masked`: secrets in conversations are removed.
    CREATE TABLE collections (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL,
        language TEXT,
        masked INTEGER NOT NULL DEFAULT 1,
        last_sync REAL,
        served_by INTEGER REFERENCES embedding_models (id) ON DELETE SET NULL,
        mounted INTEGER NOT NULL DEFAULT 0,
        reader TEXT
    ) STRICT;
    CREATE TABLE contexts (
        scope TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (scope, text)
    ) STRICT, WITHOUT ROWID;
    -- The factors that gnod.tuning learned.
    CREATE TABLE collection_priors (
        collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
        vector_odds REAL NOT NULL,
        model TEXT NOT NULL,
        documents INTEGER NOT NULL,
        questions INTEGER NOT NULL,
        keyword REAL NOT NULL,
        vector REAL NOT NULL,
        before REAL NOT NULL,
        after REAL NOT NULL,
        measured_at REAL NOT NULL
    ) STRICT;
"""

_TEXTS = """
    -- Texts by their keys. `packed`: the compressed text; `markdown` is then empty. gnod/store/packing.py makes key and
    -- compressed text. `title`: the title inside the text. `digest_rest`: the part of the hash that the key lacks; NULL
    -- if the hash is the SHA-256 of the text itself.
    CREATE TABLE mirrors (
        mirror_hash TEXT PRIMARY KEY,
        markdown TEXT NOT NULL,
        title TEXT NOT NULL,
        packed BLOB,
        digest_rest BLOB
    ) STRICT;
    CREATE VIEW content AS
        SELECT mirror_hash, coalesce(unpacked(packed), markdown) AS markdown, title FROM mirrors;
    -- Dictionaries for compression. `texts`: about how many texts there were when the dictionary was made.
    CREATE TABLE dictionaries (
        id INTEGER PRIMARY KEY,
        texts INTEGER NOT NULL,
        data BLOB NOT NULL
    ) STRICT;
    -- `embed_hash`: the key of the text that is embedded; empty for a chunk without words, which is not embedded.
    CREATE TABLE chunks (
        mirror_hash TEXT NOT NULL REFERENCES mirrors (mirror_hash) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        heading TEXT NOT NULL,
        embed_hash TEXT NOT NULL,
        PRIMARY KEY (mirror_hash, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX chunks_by_embed_hash ON chunks (embed_hash);
"""

# gnod/analysis makes the terms. SQLite's tokenizer only splits at spaces, so all other characters are token characters.
_TERM_PUNCTUATION = "".join(chr(c) for c in range(0x21, 0x7F) if not chr(c).isalnum()).replace("'", "''''")

_DOCUMENTS = f"""
    -- `dated`: seconds since 1970. `dated_by`: the metadata field with this date; NULL for the file's time.
    -- `other_titles`: one per line. `ctime_ns`: when the kernel last noted a change of the file. `container`: the path
    -- of the file that contains the document. `unread`: the parts of the file that are not indexed, and why (a list of
    -- records.Unread). `log`: where a part of a log ends in the file, and the reader's state there (records.LogMark).
    -- `chunks`: the number of chunks of the text; the status reads it from the index documents_counted.
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY,
        collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        docid TEXT NOT NULL,
        source_hash TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        mirror_hash TEXT NOT NULL,
        title TEXT NOT NULL,
        mime TEXT NOT NULL,
        converter TEXT NOT NULL,
        language TEXT,
        doc_type TEXT,
        author TEXT,
        dated REAL NOT NULL,
        dated_by TEXT,
        other_titles TEXT,
        metadata TEXT NOT NULL,
        line_map TEXT NOT NULL,
        active INTEGER NOT NULL DEFAULT 1,
        indexed_at REAL NOT NULL,
        removed_at REAL,
        locations TEXT,
        reader TEXT,
        pages_used INTEGER NOT NULL DEFAULT 0,
        scan_note TEXT,
        container TEXT,
        unread TEXT,
        chunks INTEGER NOT NULL DEFAULT 0,
        ctime_ns INTEGER,
        log BLOB,
        UNIQUE (collection_id, path)
    ) STRICT;
    CREATE INDEX documents_by_docid ON documents (docid);
    CREATE INDEX documents_by_mirror_hash ON documents (mirror_hash) WHERE active;
    CREATE INDEX documents_by_language ON documents (language) WHERE active;
    CREATE INDEX documents_by_container ON documents (collection_id, container) WHERE container IS NOT NULL;
    CREATE INDEX documents_with_scans ON documents (source_hash) WHERE reader IS NOT NULL;
    CREATE INDEX documents_in_part ON documents (collection_id, path) WHERE active AND unread IS NOT NULL;
    CREATE INDEX documents_counted ON documents (collection_id, container, chunks, active) WHERE active;
    -- `tag`: in the form for comparison. `is_own`: 0 for a tag above an own one (gnod/store/tables/tags.py).
    CREATE TABLE tags (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        tag TEXT NOT NULL,
        written TEXT NOT NULL,
        is_own INTEGER NOT NULL,
        PRIMARY KEY (document_id, tag)
    ) STRICT, WITHOUT ROWID;
    -- FTS5 needs two more bytes per document for a word outside the first column. Most words are in the body.
    CREATE VIRTUAL TABLE documents_fts USING fts5 (
        body, title, filepath,
        content = '', contentless_delete = 1,
        tokenize = 'ascii tokenchars ''{_TERM_PUNCTUATION}'''
    );
    -- The definitions of source code. `first_line`: where the comments above begin. `folded`: the name in lower case.
    CREATE TABLE definitions (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        first_line INTEGER NOT NULL,
        line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        path TEXT NOT NULL,
        folded TEXT NOT NULL,
        PRIMARY KEY (document_id, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX definitions_by_name ON definitions (folded);
"""

_LINKS = """
    -- The names by which links find a document (gnod/store/link_names.py), and the links.
    CREATE TABLE names (
        collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        rank INTEGER NOT NULL,
        depth INTEGER NOT NULL,
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        PRIMARY KEY (collection_id, name, rank, depth, document_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX names_by_document ON names (document_id);
    CREATE TABLE links (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        collection_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        target TEXT NOT NULL,
        key TEXT,
        reach INTEGER NOT NULL,
        fragment TEXT NOT NULL,
        line INTEGER NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        PRIMARY KEY (document_id, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX links_by_key ON links (collection_id, key, reach) WHERE key IS NOT NULL;
"""

_SKIPPED = ", ".join(
    f"'{kind}'" for kind in ("binary", "empty", "needs_ocr", "not_downloaded", "too_large", "unsupported")
)

_FAILURES = f"""
    -- `folded`: the path in the form for comparison (gnod/store/link_names.py).
    CREATE TABLE ingest_errors (
        collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        folded TEXT NOT NULL,
        stage TEXT NOT NULL,
        kind TEXT NOT NULL,
        message TEXT NOT NULL,
        first_at REAL NOT NULL,
        last_at REAL NOT NULL,
        count INTEGER NOT NULL,
        size INTEGER,
        mtime_ns INTEGER,
        inode INTEGER,
        ctime_ns INTEGER,
        acknowledged INTEGER NOT NULL,
        PRIMARY KEY (collection_id, path)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX ingest_errors_by_name ON ingest_errors (collection_id, folded);
    -- Each search counts the failed files. It must not read the skipped files, because there can be many. The condition
    -- must equal the one in `failures.count`.
    CREATE INDEX ingest_errors_failed ON ingest_errors (collection_id)
        WHERE NOT acknowledged AND kind NOT IN ({_SKIPPED});
"""

_CHANGES = f"""
    -- The clock of gnod.store.tables.changes: one row per path, at its last change. It has names, not ids, because the
    -- changes of a removed collection must still be reported.
    CREATE TABLE changes (
        clock INTEGER PRIMARY KEY AUTOINCREMENT,
        collection TEXT NOT NULL,
        path TEXT NOT NULL,
        UNIQUE (collection, path)
    ) STRICT;
    -- One row: a reader with a lower clock has missed changes that were deleted.
    CREATE TABLE changes_floor (clock INTEGER NOT NULL) STRICT;
    -- ON CONFLICT REPLACE would not work: the conflict clause of an upsert that fires a trigger overrides it.
    CREATE TRIGGER change_came BEFORE INSERT ON changes
    BEGIN
        DELETE FROM changes WHERE collection = NEW.collection AND path = NEW.path;
    END;
    CREATE TRIGGER document_came AFTER INSERT ON documents WHEN NEW.active
    BEGIN
        INSERT INTO changes (collection, path)
        SELECT name, NEW.path FROM collections WHERE id = NEW.collection_id;
    END;
    CREATE TRIGGER document_changed
    AFTER UPDATE OF active, source_hash, mirror_hash, title, language ON documents
    WHEN OLD.active <> NEW.active OR OLD.source_hash <> NEW.source_hash OR OLD.mirror_hash <> NEW.mirror_hash
        OR OLD.title <> NEW.title OR OLD.language IS NOT NEW.language
    BEGIN
        INSERT INTO changes (collection, path)
        SELECT name, NEW.path FROM collections WHERE id = NEW.collection_id;
    END;
    CREATE TRIGGER document_left AFTER DELETE ON documents WHEN OLD.active
    BEGIN
        INSERT INTO changes (collection, path)
        SELECT name, OLD.path FROM collections WHERE id = OLD.collection_id;
    END;
    -- A skipped file is not a change, unless it was reported before.
    CREATE TRIGGER ingest_error_came AFTER INSERT ON ingest_errors
    BEGIN
        INSERT INTO changes (collection, path)
        SELECT name, NEW.path FROM collections WHERE id = NEW.collection_id AND (
            NEW.kind NOT IN ({_SKIPPED})
            OR EXISTS (SELECT 1 FROM changes WHERE collection = name AND path = NEW.path)
        );
    END;
    CREATE TRIGGER ingest_error_changed AFTER UPDATE OF kind, message, acknowledged ON ingest_errors
    WHEN OLD.kind <> NEW.kind OR OLD.message <> NEW.message OR OLD.acknowledged > NEW.acknowledged
    BEGIN
        INSERT INTO changes (collection, path)
        SELECT name, NEW.path FROM collections WHERE id = NEW.collection_id AND (
            NEW.kind NOT IN ({_SKIPPED})
            OR EXISTS (SELECT 1 FROM changes WHERE collection = name AND path = NEW.path)
        );
    END;
    CREATE TRIGGER ingest_error_left AFTER DELETE ON ingest_errors
    BEGIN
        INSERT INTO changes (collection, path)
        SELECT name, OLD.path FROM collections WHERE id = OLD.collection_id
        AND EXISTS (SELECT 1 FROM changes WHERE collection = name AND path = OLD.path);
    END;
    CREATE TRIGGER collection_left BEFORE DELETE ON collections
    BEGIN
        INSERT INTO changes (collection, path) SELECT collection, path FROM changes WHERE collection = OLD.name;
    END;
    CREATE TRIGGER collection_renamed AFTER UPDATE OF name ON collections WHEN OLD.name <> NEW.name
    BEGIN
        INSERT INTO changes (collection, path) SELECT collection, path FROM changes WHERE collection = OLD.name;
        INSERT INTO changes (collection, path)
        SELECT NEW.name, path FROM documents WHERE collection_id = NEW.id AND active
        UNION SELECT NEW.name, path FROM ingest_errors WHERE collection_id = NEW.id AND kind NOT IN ({_SKIPPED});
    END;
"""

_VECTORS = """
    -- Ids are never reused: copies of vectors refer to them. `dimensions`: NULL until the model's first vector.
    CREATE TABLE embedding_models (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uri TEXT NOT NULL UNIQUE,
        dimensions INTEGER
    ) STRICT;
    -- `start` to `last_line`: offsets and lines of the embedded piece in the chunk's text; NULL: the chunk's end.
    -- `embedding`: float32, little-endian, of length 1. `is_brief`: only the beginning of the text was embedded. The
    -- vector represents the whole text until that is embedded in full.
    CREATE TABLE content_vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
        embed_hash TEXT NOT NULL,
        start INTEGER NOT NULL DEFAULT 0,
        end INTEGER,
        line INTEGER NOT NULL DEFAULT 0,
        last_line INTEGER,
        embedding BLOB NOT NULL,
        is_brief INTEGER NOT NULL DEFAULT 0,
        UNIQUE (embed_hash, model_id, start)
    ) STRICT;
    CREATE INDEX content_vectors_by_model ON content_vectors (model_id);
    CREATE TABLE embedding_errors (
        model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
        embed_hash TEXT NOT NULL,
        message TEXT NOT NULL,
        PRIMARY KEY (embed_hash, model_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER chunk_left AFTER DELETE ON chunks
    WHEN NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = OLD.embed_hash)
    BEGIN
        DELETE FROM content_vectors WHERE embed_hash = OLD.embed_hash;
        DELETE FROM embedding_errors WHERE embed_hash = OLD.embed_hash;
    END;
    -- The vector of a fixed text, from the first answer of each model that a server runs: float32, little-endian. If a
    -- later answer has another vector, it comes from another model.
    CREATE TABLE endpoints (uri TEXT PRIMARY KEY, fingerprint BLOB NOT NULL) STRICT, WITHOUT ROWID;
"""

_VECTORS_OF_TEXT = "SELECT model_id, id FROM content_vectors WHERE embed_hash = {row}.embed_hash"
_VECTORS_OF_DOCUMENT = (
    "SELECT v.model_id, v.id FROM chunks k JOIN content_vectors v ON v.embed_hash = k.embed_hash"
    " WHERE k.mirror_hash = {row}.mirror_hash"
)

_VECTOR_CHANGES = f"""
    -- Changes for the copies in memory. These also know the documents of each vector, so a vector that comes to a
    -- document or leaves it is recorded, even if the vector itself does not change. An edited document keeps the
    -- vectors of its unchanged chunks.
    CREATE TABLE vector_changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        model_id INTEGER NOT NULL,
        vector_id INTEGER NOT NULL
    ) STRICT;
    CREATE TRIGGER vector_changes_pruned AFTER INSERT ON vector_changes WHEN NEW.seq % 1024 = 0
    BEGIN
        DELETE FROM vector_changes WHERE seq <= NEW.seq - {KEPT_CHANGES};
    END;
    CREATE TRIGGER vector_came AFTER INSERT ON content_vectors
    BEGIN
        INSERT INTO vector_changes (model_id, vector_id) VALUES (NEW.model_id, NEW.id);
    END;
    CREATE TRIGGER vector_left AFTER DELETE ON content_vectors
    BEGIN
        INSERT INTO vector_changes (model_id, vector_id) VALUES (OLD.model_id, OLD.id);
    END;
    CREATE TRIGGER vector_came_to_chunk AFTER INSERT ON chunks
    BEGIN
        INSERT INTO vector_changes (model_id, vector_id) {_VECTORS_OF_TEXT.format(row="NEW")};
    END;
    CREATE TRIGGER vector_left_chunk AFTER DELETE ON chunks
    BEGIN
        INSERT INTO vector_changes (model_id, vector_id) {_VECTORS_OF_TEXT.format(row="OLD")};
    END;
    CREATE TRIGGER vector_came_to_document AFTER INSERT ON documents WHEN NEW.active
    BEGIN
        INSERT INTO vector_changes (model_id, vector_id) {_VECTORS_OF_DOCUMENT.format(row="NEW")};
    END;
    CREATE TRIGGER vector_changed_document AFTER UPDATE OF active, mirror_hash ON documents
    WHEN OLD.active <> NEW.active OR OLD.mirror_hash <> NEW.mirror_hash
    BEGIN
        INSERT INTO vector_changes (model_id, vector_id)
        {_VECTORS_OF_DOCUMENT.format(row="OLD")} UNION {_VECTORS_OF_DOCUMENT.format(row="NEW")};
    END;
    CREATE TRIGGER vector_left_document AFTER DELETE ON documents WHEN OLD.active
    BEGIN
        INSERT INTO vector_changes (model_id, vector_id) {_VECTORS_OF_DOCUMENT.format(row="OLD")};
    END;
"""

# A row of `embeddable` can change while its text is already pending.
_BRIEF_IS_DUE = """UPDATE unembedded SET brief_due = 1
        WHERE embed_hash = {row}.embed_hash AND NOT brief_due AND EXISTS (
            SELECT 1 FROM embeddable e
            WHERE e.embed_hash = {row}.embed_hash AND e.model_id = unembedded.model_id AND e.brief_due
        );"""
_NEWER = """UPDATE unembedded SET changed_ns = NEW.mtime_ns WHERE changed_ns < NEW.mtime_ns
        AND embed_hash IN (SELECT embed_hash FROM chunks WHERE mirror_hash = NEW.mirror_hash);"""

_UNEMBEDDED = f"""
    -- The texts that each model has neither embedded in full nor failed at. Triggers maintain the table, so counting
    -- takes time in proportion to its rows. The ids are in order of arrival. `brief_due`: the text begins a document
    -- and has no vector. `changed_ns`: when the newest file with the text was changed; 0 while unknown.
    CREATE TABLE unembedded (
        id INTEGER PRIMARY KEY,
        model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
        embed_hash TEXT NOT NULL,
        brief_due INTEGER NOT NULL,
        changed_ns INTEGER NOT NULL,
        UNIQUE (embed_hash, model_id)
    ) STRICT;
    CREATE INDEX unembedded_in_order ON unembedded (model_id, brief_due, changed_ns, id);
    -- Texts with the models that have neither embedded them in full nor failed at them.
    CREATE VIEW embeddable AS
    SELECT m.id AS model_id, k.embed_hash AS embed_hash,
        EXISTS (SELECT 1 FROM chunks b WHERE b.embed_hash = k.embed_hash AND b.seq = 0) AND NOT EXISTS (
            SELECT 1 FROM content_vectors v WHERE v.embed_hash = k.embed_hash AND v.model_id = m.id
        ) AS brief_due,
        coalesce((
            SELECT max(d.mtime_ns) FROM chunks b JOIN documents d ON d.mirror_hash = b.mirror_hash AND d.active
            WHERE b.embed_hash = k.embed_hash
        ), 0) AS changed_ns
    FROM embedding_models m JOIN chunks k
    WHERE k.embed_hash <> '' AND NOT EXISTS (
        SELECT 1 FROM content_vectors v WHERE v.embed_hash = k.embed_hash AND v.model_id = m.id AND NOT v.is_brief
    )
    AND NOT EXISTS (SELECT 1 FROM embedding_errors e WHERE e.embed_hash = k.embed_hash AND e.model_id = m.id);
    CREATE TRIGGER model_came AFTER INSERT ON embedding_models
    BEGIN
        INSERT OR IGNORE INTO unembedded (model_id, embed_hash, brief_due, changed_ns)
        SELECT * FROM embeddable WHERE model_id = NEW.id;
    END;
    CREATE TRIGGER chunk_came AFTER INSERT ON chunks WHEN NEW.embed_hash <> ''
    BEGIN
        INSERT OR IGNORE INTO unembedded (model_id, embed_hash, brief_due, changed_ns)
        SELECT * FROM embeddable WHERE embed_hash = NEW.embed_hash;
        {_BRIEF_IS_DUE.format(row="NEW")}
    END;
    CREATE TRIGGER document_is_newer AFTER INSERT ON documents WHEN NEW.active
    BEGIN
        {_NEWER}
    END;
    CREATE TRIGGER document_became_newer AFTER UPDATE OF active, mirror_hash, mtime_ns ON documents WHEN NEW.active
    BEGIN
        {_NEWER}
    END;
    CREATE TRIGGER last_chunk_left AFTER DELETE ON chunks
    WHEN NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = OLD.embed_hash)
    BEGIN
        DELETE FROM unembedded WHERE embed_hash = OLD.embed_hash;
    END;
    CREATE TRIGGER embedded_in_brief AFTER INSERT ON content_vectors WHEN NEW.is_brief
    BEGIN
        UPDATE unembedded SET brief_due = 0 WHERE embed_hash = NEW.embed_hash AND model_id = NEW.model_id;
    END;
    CREATE TRIGGER embedded AFTER INSERT ON content_vectors WHEN NOT NEW.is_brief
    BEGIN
        DELETE FROM unembedded WHERE embed_hash = NEW.embed_hash AND model_id = NEW.model_id;
    END;
    CREATE TRIGGER no_longer_embedded AFTER DELETE ON content_vectors
    BEGIN
        INSERT OR IGNORE INTO unembedded (model_id, embed_hash, brief_due, changed_ns)
        SELECT * FROM embeddable WHERE embed_hash = OLD.embed_hash AND model_id = OLD.model_id;
        {_BRIEF_IS_DUE.format(row="OLD")}
    END;
    CREATE TRIGGER failed AFTER INSERT ON embedding_errors
    BEGIN
        DELETE FROM unembedded WHERE embed_hash = NEW.embed_hash AND model_id = NEW.model_id;
    END;
    CREATE TRIGGER failure_forgotten AFTER DELETE ON embedding_errors
    BEGIN
        INSERT OR IGNORE INTO unembedded (model_id, embed_hash, brief_due, changed_ns)
        SELECT * FROM embeddable WHERE embed_hash = OLD.embed_hash AND model_id = OLD.model_id;
    END;
"""

_SCANS_LEFT = """
    DELETE FROM scanned_pages WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND state <> 1
    AND NOT EXISTS (
        SELECT 1 FROM documents WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND active
    );
"""

_SCANS = f"""
    -- Pages without text, by the content of their file. `reader`: the program that recognises them. `state`: 0 pending,
    -- 1 recognised, 2 failed.
    CREATE TABLE scanned_pages (
        source_hash TEXT NOT NULL,
        reader TEXT NOT NULL,
        page INTEGER NOT NULL,
        state INTEGER NOT NULL DEFAULT 0,
        text TEXT,
        confidence REAL,
        boxes BLOB,
        problem TEXT,
        PRIMARY KEY (source_hash, reader, page)
    ) STRICT;
    CREATE INDEX scanned_pages_by_state ON scanned_pages (state, source_hash, reader, page) WHERE state <> 1;
    CREATE TRIGGER scan_left AFTER UPDATE OF active, source_hash, reader ON documents
    WHEN OLD.reader IS NOT NULL AND OLD.active
        AND (NOT NEW.active OR OLD.source_hash <> NEW.source_hash OR OLD.reader IS NOT NEW.reader)
    BEGIN {_SCANS_LEFT} END;
    CREATE TRIGGER scan_deleted AFTER DELETE ON documents WHEN OLD.reader IS NOT NULL
    BEGIN {_SCANS_LEFT} END;
"""

_SAME_FILE = "docid = NEW.docid AND source_hash = NEW.source_hash AND active AND id <> NEW.id"
# "OR IGNORE" would not work: the conflict clause of the statement that fires the trigger overrides it.
_NOTE_COPIES = f"""
    INSERT INTO copies SELECT id, source_hash FROM documents WHERE NEW.active AND {_SAME_FILE} LIMIT 1
        ON CONFLICT DO NOTHING;
    INSERT INTO copies SELECT NEW.id, NEW.source_hash
        WHERE NEW.active AND EXISTS (SELECT 1 FROM documents WHERE {_SAME_FILE}) ON CONFLICT DO NOTHING;
"""

_COPIES = f"""
    -- Documents whose files have the same bytes. Results show one of them. A row may remain after the others are gone.
    -- Few files have copies, so with this table a search need not read the hashes of all documents that it finds.
    CREATE TABLE copies (
        document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
        source_hash TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER copy_came AFTER INSERT ON documents
    BEGIN {_NOTE_COPIES} END;
    CREATE TRIGGER copy_changed AFTER UPDATE OF active, source_hash ON documents
    WHEN OLD.active <> NEW.active OR OLD.source_hash <> NEW.source_hash
    BEGIN
        DELETE FROM copies WHERE document_id = NEW.id;
        {_NOTE_COPIES}
    END;
"""

_LLM_CACHE = """
    -- `used`: when the value was last stored. A read writes nothing.
    CREATE TABLE llm_cache (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        created REAL NOT NULL,
        used REAL NOT NULL
    ) STRICT;
    CREATE INDEX llm_cache_by_use ON llm_cache (used);
"""

_PARTS = (
    _COLLECTIONS,
    _TEXTS,
    _DOCUMENTS,
    _LINKS,
    _FAILURES,
    _CHANGES,
    _VECTORS,
    _VECTOR_CHANGES,
    _UNEMBEDDED,
    _SCANS,
    _COPIES,
    _LLM_CACHE,
)


def m001_first_release(connection: apsw.Connection) -> None:
    for part in _PARTS:
        connection.execute(part)
    # The clock begins at the time in microseconds, so that a clock from an earlier database at this path is lower.
    begin = time.time_ns() // 1000
    connection.execute("INSERT INTO changes_floor VALUES (?)", (begin,))
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', ?)", (begin,))
    record_tokenizer(connection)


def tokenizer_is_current(connection: apsw.Connection) -> bool:
    """Return whether this version of the analyser made the terms in the index."""
    found = connection.execute("SELECT value FROM schema_meta WHERE key = ?", (_TERMS,)).get
    return bool(found == str(terms.VERSION))


def record_tokenizer(connection: apsw.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, ?)", (_TERMS, str(terms.VERSION)))


def _refuse_newer_fulltext(connection: apsw.Connection) -> None:
    """Raise if gnod cannot read FTS5's own tables, which contain the lengths of documents."""
    try:
        found = connection.execute("SELECT v FROM documents_fts_config WHERE k = 'version'").get
    except apsw.SQLError:  # the table is missing: the check of the index reports that
        return
    if isinstance(found, int) and found > _FULLTEXT_FORMAT:
        raise NewerDatabase(
            f"SQLite {apsw.sqlite_lib_version()} is not supported: it stores full text in format {found}, and gnod "
            f"reads formats up to {_FULLTEXT_FORMAT}; upgrade gnod, or install an older version of the package apsw"
        )


SCHEMA = schema.Schema(INDEX, "".join(_PARTS), (m001_first_release,), _refuse_newer_fulltext)

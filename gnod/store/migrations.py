"""The schema and its history. Each migration runs in one transaction with the row that records it."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import apsw

from gnod.analysis import terms
from gnod.errors import NewerDatabase
from gnod.store import schema
from gnod.store.health.faults import INDEX

TOKENIZER = "gnod-terms"
# The newest format of FTS5's own tables that gnod can read (SQLite 3.42).
_FULLTEXT_FORMAT = 5

_log = logging.getLogger(__name__)

# A copy of the vectors that missed more changes is loaded again.
KEPT_CHANGES = 50_000

# gnod/analysis makes the terms: SQLite's tokenizer only splits at spaces, so all other characters are token characters.
_TERM_PUNCTUATION = "".join(chr(c) for c in range(0x21, 0x7F) if not chr(c).isalnum())


def m001_first_schema(connection: apsw.Connection) -> None:
    token_characters = _TERM_PUNCTUATION.replace("'", "''''")
    connection.execute(f"""
        CREATE TABLE collections (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            path TEXT NOT NULL,
            language TEXT,
            last_sync REAL
        ) STRICT;
        CREATE TABLE contexts (
            scope TEXT NOT NULL,
            text TEXT NOT NULL,
            PRIMARY KEY (scope, text)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE content (
            mirror_hash TEXT PRIMARY KEY,
            markdown TEXT NOT NULL
        ) STRICT;
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
            dated REAL NOT NULL, -- the frontmatter's date, else the file's time; seconds since 1970
            metadata TEXT NOT NULL,
            line_map TEXT NOT NULL,
            active INTEGER NOT NULL DEFAULT 1,
            indexed_at REAL NOT NULL,
            removed_at REAL,
            UNIQUE (collection_id, path)
        ) STRICT;
        CREATE INDEX documents_by_source_hash ON documents (source_hash);
        CREATE INDEX documents_by_mirror_hash ON documents (mirror_hash) WHERE active;
        CREATE INDEX documents_by_language ON documents (language) WHERE active;
        CREATE TABLE tags (
            document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
            tag TEXT NOT NULL,
            PRIMARY KEY (document_id, tag)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE chunks (
            mirror_hash TEXT NOT NULL REFERENCES content (mirror_hash) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            start INTEGER NOT NULL,
            end INTEGER NOT NULL,
            start_line INTEGER NOT NULL,
            end_line INTEGER NOT NULL,
            heading TEXT NOT NULL,
            embed_hash TEXT NOT NULL,
            PRIMARY KEY (mirror_hash, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE ingest_errors (
            collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
            path TEXT NOT NULL,
            stage TEXT NOT NULL,
            kind TEXT NOT NULL,
            message TEXT NOT NULL,
            first_at REAL NOT NULL,
            last_at REAL NOT NULL,
            count INTEGER NOT NULL,
            size INTEGER,
            mtime_ns INTEGER,
            inode INTEGER,
            PRIMARY KEY (collection_id, path)
        ) STRICT, WITHOUT ROWID;
        CREATE VIRTUAL TABLE documents_fts USING fts5 (
            filepath, title, body,
            content = '', contentless_delete = 1,
            tokenize = 'ascii tokenchars ''{token_characters}'''
        );
    """)


def m002_vectors(connection: apsw.Connection) -> None:
    # `content.title`: the title inside the text; NULL: stored by an older version, to be rebuilt. Triggers keep the
    # tables consistent, whatever changes chunks or vectors. Ids are never reused: copies of vectors refer to them.
    connection.execute(f"""
        ALTER TABLE content ADD COLUMN title TEXT;
        CREATE INDEX content_to_be_made_anew ON content (mirror_hash) WHERE title IS NULL;
        UPDATE documents SET mtime_ns = -1;
        CREATE INDEX chunks_by_embed_hash ON chunks (embed_hash);
        CREATE TABLE embedding_models (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uri TEXT NOT NULL UNIQUE,
            dimensions INTEGER -- NULL until its first vector
        ) STRICT;
        ALTER TABLE collections ADD COLUMN served_by INTEGER REFERENCES embedding_models (id) ON DELETE SET NULL;
        CREATE TABLE content_vectors (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
            embed_hash TEXT NOT NULL,
            -- The piece of the chunk's text that was embedded: offsets and lines in it; NULL: the chunk's end.
            start INTEGER NOT NULL DEFAULT 0,
            end INTEGER,
            line INTEGER NOT NULL DEFAULT 0,
            last_line INTEGER,
            embedding BLOB NOT NULL, -- float32, little-endian, of length 1
            UNIQUE (embed_hash, model_id, start)
        ) STRICT;
        CREATE INDEX content_vectors_by_model ON content_vectors (model_id);
        CREATE TABLE embedding_errors (
            model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
            embed_hash TEXT NOT NULL,
            message TEXT NOT NULL,
            PRIMARY KEY (embed_hash, model_id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE vector_changes (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            model_id INTEGER NOT NULL,
            vector_id INTEGER NOT NULL
        ) STRICT;
        CREATE TRIGGER chunk_left AFTER DELETE ON chunks
        WHEN NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = OLD.embed_hash)
        BEGIN
            DELETE FROM content_vectors WHERE embed_hash = OLD.embed_hash;
            DELETE FROM embedding_errors WHERE embed_hash = OLD.embed_hash;
        END;
        CREATE TRIGGER vector_came AFTER INSERT ON content_vectors
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) VALUES (NEW.model_id, NEW.id);
        END;
        CREATE TRIGGER vector_left AFTER DELETE ON content_vectors
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) VALUES (OLD.model_id, OLD.id);
        END;
        CREATE TRIGGER vector_changes_pruned AFTER INSERT ON vector_changes WHEN NEW.seq % 1024 = 0
        BEGIN
            DELETE FROM vector_changes WHERE seq <= NEW.seq - {KEPT_CHANGES};
        END;
    """)


def m003_llm_cache(connection: apsw.Connection) -> None:
    connection.execute("""
        CREATE TABLE llm_cache (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            created REAL NOT NULL,
            used REAL NOT NULL -- when it was last put: a read writes nothing
        ) STRICT;
        CREATE INDEX llm_cache_by_use ON llm_cache (used);
    """)


def m004_changes(connection: apsw.Connection) -> None:
    # The clock of `gnod.store.documents.changes`: one row per path, at its last change. Names, not ids: the changes of
    # a removed collection must still be reported. The clock begins at the time in microseconds, so that a clock from an
    # earlier database at this path is lower.
    begin = time.time_ns() // 1000
    skips = ", ".join(f"'{kind}'" for kind in ("binary", "empty", "too_large", "unsupported"))
    connection.execute(f"""
        CREATE TABLE changes (
            clock INTEGER PRIMARY KEY AUTOINCREMENT,
            collection TEXT NOT NULL,
            path TEXT NOT NULL,
            UNIQUE (collection, path)
        ) STRICT;
        -- One row: a reader with a lower clock has missed changes that were deleted.
        CREATE TABLE changes_floor (clock INTEGER NOT NULL) STRICT;
        INSERT INTO changes_floor VALUES ({begin});
        INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', {begin});
        INSERT INTO changes (collection, path)
        SELECT c.name, d.path FROM documents d JOIN collections c ON c.id = d.collection_id
        WHERE d.active ORDER BY d.indexed_at;
        INSERT INTO changes (collection, path)
        SELECT c.name, e.path FROM ingest_errors e JOIN collections c ON c.id = e.collection_id
        WHERE e.kind NOT IN ({skips}) ORDER BY e.last_at;
        -- Not ON CONFLICT REPLACE: the conflict clause of an upsert that fires a trigger overrides it.
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
                NEW.kind NOT IN ({skips})
                OR EXISTS (SELECT 1 FROM changes WHERE collection = name AND path = NEW.path)
            );
        END;
        CREATE TRIGGER ingest_error_changed AFTER UPDATE OF kind, message ON ingest_errors
        WHEN OLD.kind <> NEW.kind OR OLD.message <> NEW.message
        BEGIN
            INSERT INTO changes (collection, path)
            SELECT name, NEW.path FROM collections WHERE id = NEW.collection_id AND (
                NEW.kind NOT IN ({skips})
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
            UNION SELECT NEW.name, path FROM ingest_errors WHERE collection_id = NEW.id AND kind NOT IN ({skips});
        END;
    """)


def m005_unembedded(connection: apsw.Connection) -> None:
    # What each model has neither embedded nor failed at: counting takes time in proportion to it. Kept by triggers. The
    # ids are in order of arrival.
    connection.execute("""
        CREATE TABLE unembedded (
            id INTEGER PRIMARY KEY,
            model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
            embed_hash TEXT NOT NULL,
            UNIQUE (embed_hash, model_id)
        ) STRICT;
        CREATE INDEX unembedded_by_model ON unembedded (model_id);
        CREATE VIEW embeddable AS -- each text, and each model that has neither embedded it nor failed at it
        SELECT m.id AS model_id, k.embed_hash AS embed_hash FROM embedding_models m JOIN chunks k
        WHERE NOT EXISTS (SELECT 1 FROM content_vectors v WHERE v.embed_hash = k.embed_hash AND v.model_id = m.id)
        AND NOT EXISTS (SELECT 1 FROM embedding_errors e WHERE e.embed_hash = k.embed_hash AND e.model_id = m.id);
        CREATE TRIGGER model_came AFTER INSERT ON embedding_models
        BEGIN
            INSERT OR IGNORE INTO unembedded (model_id, embed_hash)
            SELECT model_id, embed_hash FROM embeddable WHERE model_id = NEW.id;
        END;
        CREATE TRIGGER chunk_came AFTER INSERT ON chunks
        BEGIN
            INSERT OR IGNORE INTO unembedded (model_id, embed_hash)
            SELECT model_id, embed_hash FROM embeddable WHERE embed_hash = NEW.embed_hash;
        END;
        CREATE TRIGGER last_chunk_left AFTER DELETE ON chunks
        WHEN NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = OLD.embed_hash)
        BEGIN
            DELETE FROM unembedded WHERE embed_hash = OLD.embed_hash;
        END;
        CREATE TRIGGER embedded AFTER INSERT ON content_vectors
        BEGIN
            DELETE FROM unembedded WHERE embed_hash = NEW.embed_hash AND model_id = NEW.model_id;
        END;
        CREATE TRIGGER no_longer_embedded AFTER DELETE ON content_vectors
        BEGIN
            INSERT OR IGNORE INTO unembedded (model_id, embed_hash)
            SELECT model_id, embed_hash FROM embeddable WHERE embed_hash = OLD.embed_hash AND model_id = OLD.model_id;
        END;
        CREATE TRIGGER failed AFTER INSERT ON embedding_errors
        BEGIN
            DELETE FROM unembedded WHERE embed_hash = NEW.embed_hash AND model_id = NEW.model_id;
        END;
        CREATE TRIGGER failure_forgotten AFTER DELETE ON embedding_errors
        BEGIN
            INSERT OR IGNORE INTO unembedded (model_id, embed_hash)
            SELECT model_id, embed_hash FROM embeddable WHERE embed_hash = OLD.embed_hash AND model_id = OLD.model_id;
        END;
        INSERT OR IGNORE INTO unembedded (model_id, embed_hash) SELECT model_id, embed_hash FROM embeddable;
    """)


def m006_mounts(connection: apsw.Connection) -> None:
    # Whether the folder was a mount point at the last walk: an empty folder in its place is an unmounted drive.
    connection.execute("ALTER TABLE collections ADD COLUMN mounted INTEGER NOT NULL DEFAULT 0")


def m007_failed(connection: apsw.Connection) -> None:
    # Every search counts the failed files, and must not read the skipped ones, of which there can be many. The
    # condition must equal that of `failures.count`.
    connection.execute(
        "CREATE INDEX ingest_errors_failed ON ingest_errors (collection_id)"
        " WHERE kind NOT IN ('binary', 'empty', 'too_large', 'unsupported')"
    )


def m008_places_and_priors(connection: apsw.Connection) -> None:
    # A copy in memory also knows which documents hold a vector. So `vector_changes` records each vector that comes to
    # a document or leaves it, although the vector itself stays: an edited document keeps those of its unchanged chunks.
    # `collection_priors` has what `gnod.tuning` learned.
    of_text = "SELECT model_id, id FROM content_vectors WHERE embed_hash = {row}.embed_hash"
    of_document = (
        "SELECT v.model_id, v.id FROM chunks k JOIN content_vectors v ON v.embed_hash = k.embed_hash"
        " WHERE k.mirror_hash = {row}.mirror_hash"
    )
    connection.execute(f"""
        CREATE TRIGGER vector_came_to_chunk AFTER INSERT ON chunks
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) {of_text.format(row="NEW")};
        END;
        CREATE TRIGGER vector_left_chunk AFTER DELETE ON chunks
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) {of_text.format(row="OLD")};
        END;
        CREATE TRIGGER vector_came_to_document AFTER INSERT ON documents WHEN NEW.active
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) {of_document.format(row="NEW")};
        END;
        CREATE TRIGGER vector_changed_document AFTER UPDATE OF active, mirror_hash ON documents
        WHEN OLD.active <> NEW.active OR OLD.mirror_hash <> NEW.mirror_hash
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id)
            {of_document.format(row="OLD")} UNION {of_document.format(row="NEW")};
        END;
        CREATE TRIGGER vector_left_document AFTER DELETE ON documents WHEN OLD.active
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) {of_document.format(row="OLD")};
        END;
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
            low REAL NOT NULL,
            high REAL NOT NULL,
            measured_at REAL NOT NULL
        ) STRICT;
    """)


def m009_headings(connection: apsw.Connection) -> None:
    # Earlier versions did not recognise the headings of these formats. The files are read again at the next sync.
    changed = "mime IN ('text/org', 'text/asciidoc')"
    connection.execute(f"""
        UPDATE content SET title = NULL WHERE mirror_hash IN (SELECT mirror_hash FROM documents WHERE {changed});
        UPDATE documents SET mtime_ns = -1 WHERE {changed};
    """)


def m010_endpoints(connection: apsw.Connection) -> None:
    # The vector of a fixed text, from the first answer of each model that a server runs: float32, little-endian. An
    # answer with another one is of another model.
    connection.execute("CREATE TABLE endpoints (uri TEXT PRIMARY KEY, fingerprint BLOB NOT NULL) STRICT, WITHOUT ROWID")


def m011_content_by_headings(connection: apsw.Connection) -> None:
    # All documents with the same text shared content, also if only some of them were Markdown and have headings. Files
    # that are not Markdown, files that share content with them, and Markdown that got no headings are read again.
    connection.execute("""
        CREATE TEMP TABLE shared AS SELECT mirror_hash FROM content c
            WHERE EXISTS (SELECT 1 FROM documents d WHERE d.mirror_hash = c.mirror_hash
                AND (d.converter GLOB 'text/*' OR d.converter GLOB 'code/*'))
            OR (markdown GLOB '#*' OR instr(markdown, char(10) || '#') > 0)
                AND NOT EXISTS (SELECT 1 FROM chunks k WHERE k.mirror_hash = c.mirror_hash AND k.heading <> '');
        UPDATE content SET title = NULL WHERE mirror_hash IN (SELECT mirror_hash FROM shared);
        UPDATE documents SET mtime_ns = -1 WHERE mirror_hash IN (SELECT mirror_hash FROM shared);
        DROP TABLE shared;
    """)


def m012_locations(connection: apsw.Connection) -> None:
    # Where pages, slides, sheets, cells and messages begin. Documents that have them are read again at the next sync.
    connection.execute("""
        ALTER TABLE documents ADD COLUMN locations TEXT;
        CREATE TEMP TABLE located AS SELECT DISTINCT mirror_hash FROM documents WHERE mime IN
            ('application/pdf', 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
             'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'application/vnd.ms-excel',
             'application/x-ipynb+json', 'application/mbox', 'application/zip');
        UPDATE content SET title = NULL WHERE mirror_hash IN (SELECT mirror_hash FROM located);
        UPDATE documents SET mtime_ns = -1 WHERE mirror_hash IN (SELECT mirror_hash FROM located);
        DROP TABLE located;
    """)


def m013_copies(connection: apsw.Connection) -> None:
    # Documents whose file equals that of another document: results show one of them. A row may stay when the others
    # are gone. Few files have copies, so a search need not read the hashes of all that it finds.
    others = "source_hash = NEW.source_hash AND active AND id <> NEW.id"
    # Not "OR IGNORE": the statement that fires a trigger decides on that.
    note = f"""
        INSERT INTO copies SELECT id, source_hash FROM documents WHERE NEW.active AND {others} LIMIT 1
            ON CONFLICT DO NOTHING;
        INSERT INTO copies SELECT NEW.id, NEW.source_hash
            WHERE NEW.active AND EXISTS (SELECT 1 FROM documents WHERE {others}) ON CONFLICT DO NOTHING;
    """
    connection.execute(f"""
        CREATE TABLE copies (
            document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
            source_hash TEXT NOT NULL
        ) STRICT;
        CREATE TRIGGER copy_came AFTER INSERT ON documents
        BEGIN {note} END;
        CREATE TRIGGER copy_changed AFTER UPDATE OF active, source_hash ON documents
        WHEN OLD.active <> NEW.active OR OLD.source_hash <> NEW.source_hash
        BEGIN
            DELETE FROM copies WHERE document_id = NEW.id;
            {note}
        END;
        INSERT INTO copies SELECT id, source_hash FROM documents WHERE active AND source_hash IN
            (SELECT source_hash FROM documents WHERE active GROUP BY source_hash HAVING count(*) > 1);
    """)


def m014_scanned_pages(connection: apsw.Connection) -> None:
    # Pages without text, by the content of their file; `state`: 0 pending, 1 recognised, 2 failed. `reader` names the
    # program that recognises them, and that of a collection. Documents that may have such pages are read again.
    left = """
        DELETE FROM scanned_pages WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND state <> 1
        AND NOT EXISTS (
            SELECT 1 FROM documents WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND active
        );
    """
    connection.execute(f"""
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
        ALTER TABLE documents ADD COLUMN reader TEXT;
        ALTER TABLE documents ADD COLUMN pages_used INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE documents ADD COLUMN scan_note TEXT;
        ALTER TABLE collections ADD COLUMN reader TEXT;
        CREATE INDEX documents_with_scans ON documents (source_hash) WHERE reader IS NOT NULL;
        CREATE TRIGGER scan_left AFTER UPDATE OF active, source_hash, reader ON documents
        WHEN OLD.reader IS NOT NULL AND OLD.active
            AND (NOT NEW.active OR OLD.source_hash <> NEW.source_hash OR OLD.reader IS NOT NEW.reader)
        BEGIN {left} END;
        CREATE TRIGGER scan_deleted AFTER DELETE ON documents WHEN OLD.reader IS NOT NULL
        BEGIN {left} END;
    """)


def m015_formats(connection: apsw.Connection) -> None:
    # Files of these formats have another text now, or locations, and are read again at the next sync; so are files
    # that had no converter.
    changed = """
        mime IN ('application/pdf', 'text/x-rst', 'text/asciidoc', 'text/org', 'text/x-tex', 'text/vtt',
            'text/calendar', 'text/vcard', 'text/xml', 'text/csv', 'text/tab-separated-values', 'application/epub+zip')
        OR path LIKE '%.srt' OR mime = 'text/html' AND path LIKE '%bookmark%'
    """
    connection.execute(f"""
        UPDATE content SET title = NULL WHERE mirror_hash IN (SELECT mirror_hash FROM documents WHERE {changed});
        UPDATE documents SET mtime_ns = -1 WHERE {changed};
        UPDATE ingest_errors SET mtime_ns = -1 WHERE kind = 'unsupported';
    """)


def m016_members(connection: apsw.Connection) -> None:
    # `container`: the path of the file that the document is in. `unread`: what of a file is not indexed, and why.
    # Archives and mails are read again, for the files in them.
    connection.execute("""
        ALTER TABLE documents ADD COLUMN container TEXT;
        ALTER TABLE documents ADD COLUMN unread TEXT;
        CREATE INDEX documents_by_container ON documents (collection_id, container) WHERE container IS NOT NULL;
        UPDATE documents SET mtime_ns = -1 WHERE mime IN ('application/zip', 'application/mbox', 'message/rfc822');
        DELETE FROM ingest_errors WHERE kind = 'unsupported' AND
            (path LIKE '%.zip' OR path LIKE '%.tar' OR path LIKE '%.tar.%' OR path LIKE '%.t_z' OR path LIKE '%.tbz2');
        DELETE FROM ingest_errors WHERE kind = 'too_large' AND (path LIKE '%.mbox' OR path LIKE '%.mbx');
    """)


def m017_definitions(connection: apsw.Connection) -> None:
    # What source code defines. `first_line`: that of the comments above it; `folded`: the name in lower case.
    # Files of the languages that are parsed are read again, and the archives that such files are in.
    changed = """
        converter = 'code/1' AND mime IN ('text/x-c', 'text/x-c++', 'text/x-csharp', 'text/x-go', 'text/x-java',
            'text/x-javascript', 'text/x-php', 'text/x-python', 'text/x-ruby', 'text/x-rust', 'text/x-shell',
            'text/x-typescript')
    """
    connection.execute(f"""
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
        UPDATE documents SET mtime_ns = -1 WHERE {changed}
            OR path IN (SELECT container FROM documents WHERE container IS NOT NULL AND {changed});
    """)


def m018_links(connection: apsw.Connection) -> None:
    # `names`: what links can call a document, `links`: what they look for (see store/documents/link_names.py). All
    # documents are read again, since each has names.
    connection.execute("""
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
        UPDATE documents SET mtime_ns = -1;
    """)


def m019_counts(connection: apsw.Connection) -> None:
    # How many chunks a document has, and an index that has all that is counted for the status of 200,000 documents.
    connection.execute("""
        ALTER TABLE documents ADD COLUMN chunks INTEGER NOT NULL DEFAULT 0;
        UPDATE documents SET chunks = (SELECT count(*) FROM chunks k WHERE k.mirror_hash = documents.mirror_hash);
        CREATE INDEX documents_counted ON documents (collection_id, container, chunks, active) WHERE active;
    """)


def m020_packed_texts(connection: apsw.Connection) -> None:
    # `packed`: the text, compressed (see store/packing.py); then `markdown` is empty. Texts of older versions stay as
    # they are until their documents change, or `gnoctl cleanup`. `dictionaries`: what the texts were compressed with,
    # and about how many there were when it was made.
    connection.execute("""
        ALTER TABLE content RENAME TO mirrors;
        ALTER TABLE mirrors ADD COLUMN packed BLOB;
        CREATE TABLE dictionaries (
            id INTEGER PRIMARY KEY,
            texts INTEGER NOT NULL,
            data BLOB NOT NULL
        ) STRICT;
        CREATE VIEW content AS
            SELECT mirror_hash, coalesce(unpacked(packed), markdown) AS markdown, title FROM mirrors;
    """)


def m021_smaller(connection: apsw.Connection) -> None:
    # Keys are short (see store/keys.py); an older index keeps its own until `gnoctl cleanup`. `digest_rest`: what a
    # key lacks of the hash; NULL where that is the text's own. An index of docids takes a quarter of one of hashes.
    others = "docid = NEW.docid AND source_hash = NEW.source_hash AND active AND id <> NEW.id"
    # Not "OR IGNORE": the statement that fires a trigger decides on that.
    note = f"""
        INSERT INTO copies SELECT id, source_hash FROM documents WHERE NEW.active AND {others} LIMIT 1
            ON CONFLICT DO NOTHING;
        INSERT INTO copies SELECT NEW.id, NEW.source_hash
            WHERE NEW.active AND EXISTS (SELECT 1 FROM documents WHERE {others}) ON CONFLICT DO NOTHING;
    """
    connection.execute(f"""
        ALTER TABLE mirrors ADD COLUMN digest_rest BLOB;
        DROP INDEX documents_by_source_hash;
        CREATE INDEX documents_by_docid ON documents (docid);
        DROP TRIGGER copy_came;
        DROP TRIGGER copy_changed;
        CREATE TRIGGER copy_came AFTER INSERT ON documents
        BEGIN {note} END;
        CREATE TRIGGER copy_changed AFTER UPDATE OF active, source_hash ON documents
        WHEN OLD.active <> NEW.active OR OLD.source_hash <> NEW.source_hash
        BEGIN
            DELETE FROM copies WHERE document_id = NEW.id;
            {note}
        END;
    """)
    # The body is the first column now (see store/documents/columns.py), in an index that has no documents yet.
    if not connection.execute("SELECT EXISTS (SELECT 1 FROM documents)").get:
        made = str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'documents_fts'").get)
        connection.execute("DROP TABLE documents_fts")
        connection.execute(made.replace("filepath, title, body,", "body, title, filepath,"))


def m022_change_times(connection: apsw.Connection) -> None:
    # When the kernel last noted a change of the file. NULL: unknown; the next sync stores it.
    connection.execute("""
        ALTER TABLE documents ADD COLUMN ctime_ns INTEGER;
        ALTER TABLE ingest_errors ADD COLUMN ctime_ns INTEGER;
    """)


MIGRATIONS: list[schema.Migration] = [
    m001_first_schema,
    m002_vectors,
    m003_llm_cache,
    m004_changes,
    m005_unembedded,
    m006_mounts,
    m007_failed,
    m008_places_and_priors,
    m009_headings,
    m010_endpoints,
    m011_content_by_headings,
    m012_locations,
    m013_copies,
    m014_scanned_pages,
    m015_formats,
    m016_members,
    m017_definitions,
    m018_links,
    m019_counts,
    m020_packed_texts,
    m021_smaller,
    m022_change_times,
]

SCHEMA_VERSION = len(MIGRATIONS)


def migrate(connection: apsw.Connection, path: Path, up_to: int | None = None) -> None:
    """Bring the schema up to SCHEMA_VERSION, or an older version.

    Raises NewerDatabase, and DatabaseCorrupt for an invalid version.
    """
    before = refuse_newer(connection, path)
    started = time.monotonic()
    if 0 < before < SCHEMA_VERSION:
        rows = int(connection.execute("SELECT count(*) FROM documents").get)
        _report("index.upgrading", before, {"documents": rows})
    schema.run(connection, MIGRATIONS[: up_to or SCHEMA_VERSION], before, on_first=_on_first)
    if 0 < before < SCHEMA_VERSION:
        _report("index.upgraded", before, {"took_ms": round((time.monotonic() - started) * 1000)})


def refuse_newer(connection: apsw.Connection, path: Path) -> int:
    """Return the version of the schema. Raises NewerDatabase, also for the full text of a newer SQLite, and
    DatabaseCorrupt for an invalid version."""
    version = schema.refuse_newer(connection, path, INDEX, SCHEMA_VERSION)
    if version:
        _refuse_newer_fulltext(connection)
    return version


def _on_first(connection: apsw.Connection) -> None:
    record_tokenizer(connection)
    _refuse_newer_fulltext(connection)


def _refuse_newer_fulltext(connection: apsw.Connection) -> None:
    """FTS5 keeps the lengths of documents in tables of its own, which gnod reads."""
    try:
        found = connection.execute("SELECT v FROM documents_fts_config WHERE k = 'version'").get
    except apsw.SQLError:  # the table is missing: the check of the index reports that
        return
    if isinstance(found, int) and found > _FULLTEXT_FORMAT:
        raise NewerDatabase(
            f"SQLite {apsw.sqlite_lib_version()} is not supported: it stores full text in format {found}, and gnod "
            f"reads formats up to {_FULLTEXT_FORMAT}; upgrade gnod, or install an older version of the package apsw"
        )


def tokenizer_is_current(connection: apsw.Connection) -> bool:
    """Return whether this version of the analyser made the terms in the index."""
    rows = connection.execute("SELECT key, value FROM schema_meta WHERE key LIKE 'tokenizer%' ORDER BY key").fetchall()
    return rows == [("tokenizer", TOKENIZER), ("tokenizer_version", str(terms.VERSION))]


def record_tokenizer(connection: apsw.Connection) -> None:
    for key, value in (("tokenizer", TOKENIZER), ("tokenizer_version", str(terms.VERSION))):
        connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, ?)", (key, value))


def _report(event: str, before: int, fields: dict[str, object]) -> None:
    _log.info(event, extra={"fields": {"from_schema": before, "to_schema": SCHEMA_VERSION, **fields}})


SCHEMA = schema.Schema(INDEX, migrate, refuse_newer)

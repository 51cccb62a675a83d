PRAGMA application_id = 1735290724;
PRAGMA user_version = 0;
BEGIN;
CREATE TABLE collections (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            path TEXT NOT NULL,
            language TEXT,
            last_sync REAL
        , served_by INTEGER REFERENCES embedding_models (id) ON DELETE SET NULL, mounted INTEGER NOT NULL DEFAULT 0, reader TEXT) STRICT;
CREATE TABLE contexts (
            scope TEXT NOT NULL,
            text TEXT NOT NULL,
            PRIMARY KEY (scope, text)
        ) STRICT, WITHOUT ROWID;
CREATE TABLE "mirrors" (
            mirror_hash TEXT PRIMARY KEY,
            markdown TEXT NOT NULL
        , title TEXT, packed BLOB, digest_rest BLOB) STRICT;
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
            removed_at REAL, locations TEXT, reader TEXT, pages_used INTEGER NOT NULL DEFAULT 0, scan_note TEXT, container TEXT, unread TEXT, chunks INTEGER NOT NULL DEFAULT 0, ctime_ns INTEGER,
            UNIQUE (collection_id, path)
        ) STRICT;
CREATE TABLE tags (
            document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
            tag TEXT NOT NULL,
            PRIMARY KEY (document_id, tag)
        ) STRICT, WITHOUT ROWID;
CREATE TABLE chunks (
            mirror_hash TEXT NOT NULL REFERENCES "mirrors" (mirror_hash) ON DELETE CASCADE,
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
            inode INTEGER, ctime_ns INTEGER,
            PRIMARY KEY (collection_id, path)
        ) STRICT, WITHOUT ROWID;
CREATE TABLE schema_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE embedding_models (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uri TEXT NOT NULL UNIQUE,
            dimensions INTEGER -- NULL until its first vector
        ) STRICT;
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
CREATE TABLE llm_cache (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            created REAL NOT NULL,
            used REAL NOT NULL -- when it was last put: a read writes nothing
        ) STRICT;
CREATE TABLE changes (
            clock INTEGER PRIMARY KEY AUTOINCREMENT,
            collection TEXT NOT NULL,
            path TEXT NOT NULL,
            UNIQUE (collection, path)
        ) STRICT;
CREATE TABLE changes_floor (clock INTEGER NOT NULL) STRICT;
CREATE TABLE unembedded (
            id INTEGER PRIMARY KEY,
            model_id INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
            embed_hash TEXT NOT NULL,
            UNIQUE (embed_hash, model_id)
        ) STRICT;
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
CREATE TABLE endpoints (uri TEXT PRIMARY KEY, fingerprint BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE copies (
            document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
            source_hash TEXT NOT NULL
        ) STRICT;
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
CREATE TABLE names (
            collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
            name TEXT NOT NULL,
            rank INTEGER NOT NULL,
            depth INTEGER NOT NULL,
            document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
            PRIMARY KEY (collection_id, name, rank, depth, document_id)
        ) STRICT, WITHOUT ROWID;
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
CREATE TABLE dictionaries (
            id INTEGER PRIMARY KEY,
            texts INTEGER NOT NULL,
            data BLOB NOT NULL
        ) STRICT;
CREATE VIRTUAL TABLE documents_fts USING fts5 (
            body, title, filepath,
            content = '', contentless_delete = 1,
            tokenize = 'ascii tokenchars ''!"#$%&''''()*+,-./:;<=>?@[\]^_`{|}~'''
        );
ANALYZE sqlite_schema;
INSERT INTO collections ("id", "name", "path", "language", "last_sync", "served_by", "mounted", "reader") VALUES (1, 'notes', '@NOTES@', NULL, 1795621151.501356, 1, 0, 'rapidocr');
INSERT INTO contexts ("scope", "text") VALUES ('notes:', 'what the fixtures are about');
INSERT INTO mirrors ("mirror_hash", "markdown", "title", "packed", "digest_rest") VALUES ('B6DA4-X6YnjQzPO7PbgE', '', '', X'28B52FFD205F9D02000285111880B76D08245DE2EDC648011E9916DE24A4ED79BC1DF45646A6248B0DFBC9B6CD000E17AB69A3BE4BB340A4AFC070909078F670F5E0C8ECEE10A569AD8F727D5CEB31707701030044A5F0CA189855CE', X'6B8865FEEBCB067063E1937E713DC42D9E');
INSERT INTO mirrors ("mirror_hash", "markdown", "title", "packed", "digest_rest") VALUES ('QUfY9rhe6egXPwrLwjGx', '', 'The harbour', X'28B52FFD20FACD0500720D2920504BDB069670ED43A1F75BF208B595442B94F1D1CA27235A3F7DF0359905F9F8873492399E5566BB4220A0179B9146B721297EC09B8D61374D57A84D633C5D9FC41D67C34DF871DC219B8D0F83B9CB55D3462E7772F51DF42B619E3BD379A32E6780D6862D90F6A07AE31B7B3A9ACE0BB614EE3884D0192488204105880471251BD5A142B8B2BA9A81C7C0AC3E1FC0E4852BFC807DCBD065713D57E24A36CDFA10420106003643502A9AE09C5FEC3DDAF6421CC10C', NULL);
INSERT INTO mirrors ("mirror_hash", "markdown", "title", "packed", "digest_rest") VALUES ('SaJVeMhmQcI3BcCXbGpP', '', '', X'28B52FFD203DCD0100D4027C206D6F6E7468207C207261696E207C0A7C202D2D2D200A7C204D6172633430417072696C207C203535207C0A03004009162A98C94A13', NULL);
INSERT INTO mirrors ("mirror_hash", "markdown", "title", "packed", "digest_rest") VALUES ('Zoj9pRaGdqpK3DwERe_G', '', 'Сад', X'28B52FFD2074FD02007286141DA027E91E83DDF6BB116EDB9370BEAF389463C9000000F083632AC0E00127B05E564E7A143151EDB47ACD7C2FE6B2FA464AC5F7519BC03401EBE69BF97052A20A8A6AAB0765E2BB19A95DF81CE5B4611A0103004583142152FD35A1', NULL);
INSERT INTO mirrors ("mirror_hash", "markdown", "title", "packed", "digest_rest") VALUES ('cga2mKLaKTYkvNW1S4_U', '', '料理', X'28B52FFD2062ED020024052320E69699E790860A0AE591B3E5998CE6B181E381AFE69C9DE38194E381AFE38293E381ABE9A39FE381B9E381BEE38199E38082E587BA9886E5B883E381A8E9B0B9E7AF80E3818BE38289E58F96E3828A0A02004255C6A94CED01', NULL);
INSERT INTO mirrors ("mirror_hash", "markdown", "title", "packed", "digest_rest") VALUES ('ttM0QD2hOljMTs-Vdl4_', '', 'Der Garten', X'28B52FFD20C5E50400B24A222480B5CD011D215581093943AD2C4F0CE98A1A89B4E111A1A28788D028E9A88B6A0DEDF408E8D8D79C67A9D8997E13FA990349BE00192BAF2076CADFBFE0B7E56DE21BB33E579D78E477D51290D8B5EFF39BA87413EB97F50F3A31B112DAB8834E54980B10207E5BCE2F4F6414B36CCCF2443DD8291042586FF000A59410407E55B185098FA94529A505008E63BC324C7A55B4E1BC62B5330F', NULL);
INSERT INTO documents ("id", "collection_id", "path", "docid", "source_hash", "size", "mtime_ns", "inode", "mirror_hash", "title", "mime", "converter", "language", "doc_type", "author", "dated", "metadata", "line_map", "active", "indexed_at", "removed_at", "locations", "reader", "pages_used", "scan_note", "container", "unread", "chunks", "ctime_ns") VALUES (1, 1, 'sub/copy.md', '#6688fda5', '6688fda5168676aa4adc3c0445efc6dfd68cee632bf83a4f18758ff054735323', 116, 1700000000000000000, 2220797, 'Zoj9pRaGdqpK3DwERe_G', 'Сад', 'text/markdown', 'markdown/1', 'ru', NULL, NULL, 1700000000.0, '{}', '[]', 1, 1795621147.2977164, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1, 1795621143027890389);
INSERT INTO documents ("id", "collection_id", "path", "docid", "source_hash", "size", "mtime_ns", "inode", "mirror_hash", "title", "mime", "converter", "language", "doc_type", "author", "dated", "metadata", "line_map", "active", "indexed_at", "removed_at", "locations", "reader", "pages_used", "scan_note", "container", "unread", "chunks", "ctime_ns") VALUES (2, 1, 'tide.py', '#00ebe893', '00ebe893d7df7a773f17494ed7a4002ca8d1acf5bce4dade0911ce49282184fb', 96, 1700000000000000000, 2220905, 'B6DA4-X6YnjQzPO7PbgE', 'tide', 'text/x-python', 'code/2', NULL, NULL, NULL, 1700000000.0, '{}', '[[3,1]]', 1, 1795621147.2977164, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1, 1795621143027890389);
INSERT INTO documents ("id", "collection_id", "path", "docid", "source_hash", "size", "mtime_ns", "inode", "mirror_hash", "title", "mime", "converter", "language", "doc_type", "author", "dated", "metadata", "line_map", "active", "indexed_at", "removed_at", "locations", "reader", "pages_used", "scan_note", "container", "unread", "chunks", "ctime_ns") VALUES (3, 1, 'сад.md', '#6688fda5', '6688fda5168676aa4adc3c0445efc6dfd68cee632bf83a4f18758ff054735323', 116, 1700000000000000000, 2220977, 'Zoj9pRaGdqpK3DwERe_G', 'Сад', 'text/markdown', 'markdown/1', 'ru', NULL, NULL, 1700000000.0, '{}', '[]', 1, 1795621147.2977164, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1, 1795621143027890389);
INSERT INTO documents ("id", "collection_id", "path", "docid", "source_hash", "size", "mtime_ns", "inode", "mirror_hash", "title", "mime", "converter", "language", "doc_type", "author", "dated", "metadata", "line_map", "active", "indexed_at", "removed_at", "locations", "reader", "pages_used", "scan_note", "container", "unread", "chunks", "ctime_ns") VALUES (4, 1, '料理.md', '#7206b698', '7206b698a2da293624bcd5b54b8fd4b7bdba82b2b6f3f9f6e902859f766edf27', 98, 1700000000000000000, 2220730, 'cga2mKLaKTYkvNW1S4_U', '料理', 'text/markdown', 'markdown/1', 'ja', NULL, NULL, 1700000000.0, '{}', '[]', 1, 1795621147.2977164, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1, 1795621143027890389);
INSERT INTO documents ("id", "collection_id", "path", "docid", "source_hash", "size", "mtime_ns", "inode", "mirror_hash", "title", "mime", "converter", "language", "doc_type", "author", "dated", "metadata", "line_map", "active", "indexed_at", "removed_at", "locations", "reader", "pages_used", "scan_note", "container", "unread", "chunks", "ctime_ns") VALUES (5, 1, 'harbour.md', '#4147d8f6', '4147d8f6b85ee9e8173f0acbc231b17f8e5a57ffd798ca3a1fa43a492304207a', 250, 1700000000000000000, 2220734, 'QUfY9rhe6egXPwrLwjGx', 'The harbour', 'text/markdown', 'markdown/1', 'en', NULL, 'Ada', 1709596800.0, '{"title":"The harbour","tags":["sea","work"],"author":"Ada","date":"2024-03-05"}', '[]', 1, 1795621147.2977164, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1, 1795621143027890389);
INSERT INTO documents ("id", "collection_id", "path", "docid", "source_hash", "size", "mtime_ns", "inode", "mirror_hash", "title", "mime", "converter", "language", "doc_type", "author", "dated", "metadata", "line_map", "active", "indexed_at", "removed_at", "locations", "reader", "pages_used", "scan_note", "container", "unread", "chunks", "ctime_ns") VALUES (6, 1, 'sub/garten.md', '#b6d33440', 'b6d334403da13a58cc4ecf95765e3f98ef6b44b5216b1849be2d6acc33ad0b3f', 197, 1700000000000000000, 2220736, 'ttM0QD2hOljMTs-Vdl4_', 'Der Garten', 'text/markdown', 'markdown/1', 'de', NULL, NULL, 1700000000.0, '{"tags":["garten"]}', '[]', 1, 1795621147.2977164, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1, 1795621143027890389);
INSERT INTO documents ("id", "collection_id", "path", "docid", "source_hash", "size", "mtime_ns", "inode", "mirror_hash", "title", "mime", "converter", "language", "doc_type", "author", "dated", "metadata", "line_map", "active", "indexed_at", "removed_at", "locations", "reader", "pages_used", "scan_note", "container", "unread", "chunks", "ctime_ns") VALUES (7, 1, 'rain.csv', '#6c5e1733', '6c5e173386e6d04b8fe5ec8534dbf1ca314ba71ee5985fbc6c0edc26368af8ab', 29, 1700000000000000000, 2220732, 'SaJVeMhmQcI3BcCXbGpP', 'rain', 'text/csv', 'table/2', NULL, NULL, NULL, 1700000000.0, '{}', '[]', 1, 1795621147.2977164, NULL, '["row",[[1,1,0],[3,2,0]]]', NULL, 0, NULL, NULL, NULL, 1, 1795621143027890389);
INSERT INTO tags ("document_id", "tag") VALUES (5, 'sea');
INSERT INTO tags ("document_id", "tag") VALUES (5, 'work');
INSERT INTO tags ("document_id", "tag") VALUES (6, 'garten');
INSERT INTO chunks ("mirror_hash", "seq", "start", "end", "start_line", "end_line", "heading", "embed_hash") VALUES ('B6DA4-X6YnjQzPO7PbgE', 0, 0, 94, 1, 4, 'tide', 'NnRXH_wSOcBqVNPpWwW8');
INSERT INTO chunks ("mirror_hash", "seq", "start", "end", "start_line", "end_line", "heading", "embed_hash") VALUES ('QUfY9rhe6egXPwrLwjGx', 0, 0, 249, 1, 13, '', 'KU7m3JM966cKpUMt12Qd');
INSERT INTO chunks ("mirror_hash", "seq", "start", "end", "start_line", "end_line", "heading", "embed_hash") VALUES ('SaJVeMhmQcI3BcCXbGpP', 0, 0, 60, 1, 4, '', 'unVV7xwKVHBx_8LQIro9');
INSERT INTO chunks ("mirror_hash", "seq", "start", "end", "start_line", "end_line", "heading", "embed_hash") VALUES ('Zoj9pRaGdqpK3DwERe_G', 0, 0, 64, 1, 3, 'Сад', 'QTlWnfiAqUyziDT-xFin');
INSERT INTO chunks ("mirror_hash", "seq", "start", "end", "start_line", "end_line", "heading", "embed_hash") VALUES ('cga2mKLaKTYkvNW1S4_U', 0, 0, 35, 1, 3, '料理', 'qRXFjIiHJAF6Rb8tq7kb');
INSERT INTO chunks ("mirror_hash", "seq", "start", "end", "start_line", "end_line", "heading", "embed_hash") VALUES ('ttM0QD2hOljMTs-Vdl4_', 0, 0, 189, 1, 7, '', 'gLlF6YUfdgurFX_30UiQ');
INSERT INTO ingest_errors ("collection_id", "path", "stage", "kind", "message", "first_at", "last_at", "count", "size", "mtime_ns", "inode", "ctime_ns") VALUES (1, 'broken.pdf', 'convert', 'corrupt', 'The PDF is cut off: its end is missing.', 1795621146.7754626, 1795621146.7754626, 1, 25, 1700000000000000000, 2220733, 1795621143027890389);
INSERT INTO ingest_errors ("collection_id", "path", "stage", "kind", "message", "first_at", "last_at", "count", "size", "mtime_ns", "inode", "ctime_ns") VALUES (1, 'empty.md', 'read', 'empty', 'The file is empty.', 1795621145.5961957, 1795621145.5961957, 1, 0, 1700000000000000000, 2220731, 1795621143027890389);
INSERT INTO schema_meta ("key", "value") VALUES ('embedding_paused', '1');
INSERT INTO schema_meta ("key", "value") VALUES ('leaps', '[[1795621145365297,1795621146365297]]');
INSERT INTO schema_meta ("key", "value") VALUES ('schema_version', '22');
INSERT INTO schema_meta ("key", "value") VALUES ('tokenizer', 'gnod-terms');
INSERT INTO schema_meta ("key", "value") VALUES ('tokenizer_version', '3');
INSERT INTO embedding_models ("id", "uri", "dimensions") VALUES (1, 'hf:example/small-model', 4);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence ("name", "seq") VALUES ('changes', 1795621146365305);
INSERT INTO sqlite_sequence ("name", "seq") VALUES ('content_vectors', 5);
INSERT INTO sqlite_sequence ("name", "seq") VALUES ('embedding_models', 3);
INSERT INTO sqlite_sequence ("name", "seq") VALUES ('vector_changes', 5);
INSERT INTO content_vectors ("id", "model_id", "embed_hash", "start", "end", "line", "last_line", "embedding") VALUES (1, 1, 'NnRXH_wSOcBqVNPpWwW8', 0, NULL, 0, NULL, X'0000803F000000000000000000000000');
INSERT INTO content_vectors ("id", "model_id", "embed_hash", "start", "end", "line", "last_line", "embedding") VALUES (2, 1, 'QTlWnfiAqUyziDT-xFin', 0, NULL, 0, NULL, X'000000000000803F0000000000000000');
INSERT INTO content_vectors ("id", "model_id", "embed_hash", "start", "end", "line", "last_line", "embedding") VALUES (3, 1, 'gLlF6YUfdgurFX_30UiQ', 0, NULL, 0, NULL, X'00000000000000000000803F00000000');
INSERT INTO content_vectors ("id", "model_id", "embed_hash", "start", "end", "line", "last_line", "embedding") VALUES (4, 1, 'qRXFjIiHJAF6Rb8tq7kb', 0, NULL, 0, NULL, X'0000000000000000000000000000803F');
INSERT INTO content_vectors ("id", "model_id", "embed_hash", "start", "end", "line", "last_line", "embedding") VALUES (5, 1, 'unVV7xwKVHBx_8LQIro9', 0, NULL, 0, NULL, X'0000803F000000000000000000000000');
INSERT INTO embedding_errors ("model_id", "embed_hash", "message") VALUES (1, 'KU7m3JM966cKpUMt12Qd', 'the model gave no vector');
INSERT INTO vector_changes ("seq", "model_id", "vector_id") VALUES (1, 1, 1);
INSERT INTO vector_changes ("seq", "model_id", "vector_id") VALUES (2, 1, 2);
INSERT INTO vector_changes ("seq", "model_id", "vector_id") VALUES (3, 1, 3);
INSERT INTO vector_changes ("seq", "model_id", "vector_id") VALUES (4, 1, 4);
INSERT INTO vector_changes ("seq", "model_id", "vector_id") VALUES (5, 1, 5);
INSERT INTO llm_cache ("key", "value", "created", "used") VALUES ('key', 'kept words', 1700000000.0, 1700000000.0);
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365298, 'notes', 'broken.pdf');
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365299, 'notes', 'sub/copy.md');
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365300, 'notes', 'tide.py');
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365301, 'notes', 'сад.md');
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365302, 'notes', '料理.md');
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365303, 'notes', 'harbour.md');
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365304, 'notes', 'sub/garten.md');
INSERT INTO changes ("clock", "collection", "path") VALUES (1795621146365305, 'notes', 'rain.csv');
INSERT INTO changes_floor ("clock") VALUES (1795621145365297);
INSERT INTO copies ("document_id", "source_hash") VALUES (1, '6688fda5168676aa4adc3c0445efc6dfd68cee632bf83a4f18758ff054735323');
INSERT INTO copies ("document_id", "source_hash") VALUES (3, '6688fda5168676aa4adc3c0445efc6dfd68cee632bf83a4f18758ff054735323');
INSERT INTO definitions ("document_id", "seq", "start", "end", "first_line", "line", "end_line", "kind", "name", "path", "folded") VALUES (2, 0, 28, 94, 3, 3, 4, 'function', 'next_high_water', '', 'next_high_water');
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'copy', 1, 1, 1);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'garten', 1, 1, 6);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'harbour', 0, 0, 5);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'rain.csv', 0, 0, 7);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'sub/copy', 0, 1, 1);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'sub/garten', 0, 1, 6);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'tide.py', 0, 0, 2);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, 'сад', 0, 0, 3);
INSERT INTO names ("collection_id", "name", "rank", "depth", "document_id") VALUES (1, '料理', 0, 0, 4);
DELETE FROM documents_fts_data;
INSERT INTO documents_fts_data ("id", "block") VALUES (1, X'07810B0A17');
INSERT INTO documents_fts_data ("id", "block") VALUES (10, X'00000000FF00000101010100010101010101000007');
INSERT INTO documents_fts_data ("id", "block") VALUES (137438953473, X'000004DC0330303305020C02013505020D01043230323405020B0102343007020501023535070207010337343502020F010161050229020462656E640602190202646105020902016D06021802087066656C6261756D06020A030372696C07020602017405021302057574686F720502080104626565740602170304796F6E6405021D02036C756806020802036F617405021802077265616B77617405021F0104636F6D6505021103056E7461696E0502240503726F6C050226030270790106010203020472616E650506200405060E5F636F6E74726F6C2E737461727405022B02027376070601020301046461746505020A0302776E05021402026566020206030172060C040C0701010202026965060809050C0701046561636805021A0108667275686C696E670602070104676172740610030401010301020305016E060214020569657373740602150107686172626F75720510040D01010301020208032E6D6405060102040302757306020D02036967680202080102696D0604060D02016E05021203017402040B030202737406021E01036B657905022A01056D617263680702040201640106010204020601020301060102040106010203010601020402036565740502190204696E757402040A0602046F6E746807020201046E65656405022803027874020207050B5F686967685F776174657202021001026F6605021B010570696C6F74050216020179020601020301047261696E070E0301010201020205042E63737607060102040205657475726E02020D0101730502170205636861747406021202026561050206020368697005021002036F6E6E06021C0204746172740502270302656806021003047261737306020F020275620106010202050601020204082F636F70792E6D640106010205050967617274656E2E6D640606010205010374616705020501020202026865020203030E030D090B01010204016D05021C0203696465020E0401010201020205032E707902060102040302746C050202020375726E0202050202776F0502210103756E6406020B03046C6F61640502230309746572676567616E6706021D010577617465720202090203656E6E06021A020368656E02020202036F726B0502070102D0B00102060202060207B2D0B5D181D0BD010203020203060587D0B5D1800102070202070209B3D180D18FD0B4D0BA01020A02020A020BBFD0BED0BBD0B8D0B2D0B00102090202090106D181D0B0D0B4010802010102020E0201010201020207032E6D640306010204070AD0BED0B2D0BDD0B8D0BA010208020208020B86D0B2D0B5D182D183D18201020402020402098FD0B1D0BBD0BED0BD0102050202050106E3818BE38289040219030494E381AF040209030199040410100304A8E9B0B90402160304ABE9A39F04020C0304AFE3829304020A0403E6988604021305029C9D0402070304B9E381BE04020E0304BEE3819904040F1002058289E58F9604021A03048AE381BE04021C030493E381AB04020B0106E587BAE6B18104021102058F96E3828A04021B020591B3E5998C0402040205998CE6B1810402050205B883E381A80402150106E69699E79086040E0201010201020202059886E5B88304021402059C9DE381940402080205B181E381AF0404060E0103E79086040E030101030102030205AF80E3818B0402180106E9A39FE381B904020D0205B0B9E7AF8004021704070609070708060907060D08060A090908080C090A08090B13090907070B0A090D10060A130A070808060707080A1C080A09090710070A080F0B0A060A0708080907090E0F100B10060E0A07080708090E0A0808080A0F0D1113170A1213110B09070909090807090A0A09090B0A0A0A0A110A0A0B0E0A0B');
DELETE FROM documents_fts_idx;
INSERT INTO documents_fts_idx ("segid", "term", "pgno") VALUES (1, X'', 2);
DELETE FROM documents_fts_docsize;
INSERT INTO documents_fts_docsize ("id", "sz", "origin") VALUES (1, X'090104', 1);
INSERT INTO documents_fts_docsize ("id", "sz", "origin") VALUES (2, X'0F0103', 1);
INSERT INTO documents_fts_docsize ("id", "sz", "origin") VALUES (3, X'090103', 1);
INSERT INTO documents_fts_docsize ("id", "sz", "origin") VALUES (4, X'1D0203', 1);
INSERT INTO documents_fts_docsize ("id", "sz", "origin") VALUES (5, X'2A0203', 1);
INSERT INTO documents_fts_docsize ("id", "sz", "origin") VALUES (6, X'1D0204', 1);
INSERT INTO documents_fts_docsize ("id", "sz", "origin") VALUES (7, X'060103', 1);
DELETE FROM documents_fts_config;
INSERT INTO documents_fts_config ("k", "v") VALUES ('version', 4);
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('changes', 'sqlite_autoindex_changes_1', '8 8 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('chunks', 'chunks', '6 1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('chunks', 'chunks_by_embed_hash', '6 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('collections', 'sqlite_autoindex_collections_1', '1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('content_vectors', 'content_vectors_by_model', '5 5');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('content_vectors', 'sqlite_autoindex_content_vectors_1', '5 1 1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('contexts', 'contexts', '1 1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('definitions', 'definitions', '1 1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('definitions', 'definitions_by_name', '1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents', 'documents_by_container', '0 0 0');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents', 'documents_by_docid', '7 2');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents', 'documents_by_language', '7 2');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents', 'documents_by_mirror_hash', '7 2');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents', 'documents_counted', '7 7 7 7 7');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents', 'documents_with_scans', '0 0');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents', 'sqlite_autoindex_documents_1', '7 7 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents_fts_config', 'documents_fts_config', '1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('documents_fts_idx', 'documents_fts_idx', '1 1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('embedding_errors', 'embedding_errors', '1 1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('embedding_models', 'sqlite_autoindex_embedding_models_1', '1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('ingest_errors', 'ingest_errors', '2 2 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('ingest_errors', 'ingest_errors_failed', '1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('llm_cache', 'llm_cache_by_use', '1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('llm_cache', 'sqlite_autoindex_llm_cache_1', '1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('mirrors', 'content_to_be_made_anew', '0 0');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('mirrors', 'sqlite_autoindex_mirrors_1', '6 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('names', 'names', '9 9 1 1 1 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('names', 'names_by_document', '9 2');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('schema_meta', 'sqlite_autoindex_schema_meta_1', '4 1');
INSERT INTO sqlite_stat1 ("tbl", "idx", "stat") VALUES ('tags', 'tags', '3 2 1');
DELETE FROM sqlite_stat4;
CREATE INDEX documents_by_mirror_hash ON documents (mirror_hash) WHERE active;
CREATE INDEX documents_by_language ON documents (language) WHERE active;
CREATE INDEX content_to_be_made_anew ON "mirrors" (mirror_hash) WHERE title IS NULL;
CREATE INDEX chunks_by_embed_hash ON chunks (embed_hash);
CREATE INDEX content_vectors_by_model ON content_vectors (model_id);
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
            DELETE FROM vector_changes WHERE seq <= NEW.seq - 50000;
        END;
CREATE INDEX llm_cache_by_use ON llm_cache (used);
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
CREATE TRIGGER ingest_error_came AFTER INSERT ON ingest_errors
        BEGIN
            INSERT INTO changes (collection, path)
            SELECT name, NEW.path FROM collections WHERE id = NEW.collection_id AND (
                NEW.kind NOT IN ('binary', 'empty', 'too_large', 'unsupported')
                OR EXISTS (SELECT 1 FROM changes WHERE collection = name AND path = NEW.path)
            );
        END;
CREATE TRIGGER ingest_error_changed AFTER UPDATE OF kind, message ON ingest_errors
        WHEN OLD.kind <> NEW.kind OR OLD.message <> NEW.message
        BEGIN
            INSERT INTO changes (collection, path)
            SELECT name, NEW.path FROM collections WHERE id = NEW.collection_id AND (
                NEW.kind NOT IN ('binary', 'empty', 'too_large', 'unsupported')
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
            UNION SELECT NEW.name, path FROM ingest_errors WHERE collection_id = NEW.id AND kind NOT IN ('binary', 'empty', 'too_large', 'unsupported');
        END;
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
CREATE INDEX ingest_errors_failed ON ingest_errors (collection_id) WHERE kind NOT IN ('binary', 'empty', 'too_large', 'unsupported');
CREATE TRIGGER vector_came_to_chunk AFTER INSERT ON chunks
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) SELECT model_id, id FROM content_vectors WHERE embed_hash = NEW.embed_hash;
        END;
CREATE TRIGGER vector_left_chunk AFTER DELETE ON chunks
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) SELECT model_id, id FROM content_vectors WHERE embed_hash = OLD.embed_hash;
        END;
CREATE TRIGGER vector_came_to_document AFTER INSERT ON documents WHEN NEW.active
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) SELECT v.model_id, v.id FROM chunks k JOIN content_vectors v ON v.embed_hash = k.embed_hash WHERE k.mirror_hash = NEW.mirror_hash;
        END;
CREATE TRIGGER vector_changed_document AFTER UPDATE OF active, mirror_hash ON documents
        WHEN OLD.active <> NEW.active OR OLD.mirror_hash <> NEW.mirror_hash
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id)
            SELECT v.model_id, v.id FROM chunks k JOIN content_vectors v ON v.embed_hash = k.embed_hash WHERE k.mirror_hash = OLD.mirror_hash UNION SELECT v.model_id, v.id FROM chunks k JOIN content_vectors v ON v.embed_hash = k.embed_hash WHERE k.mirror_hash = NEW.mirror_hash;
        END;
CREATE TRIGGER vector_left_document AFTER DELETE ON documents WHEN OLD.active
        BEGIN
            INSERT INTO vector_changes (model_id, vector_id) SELECT v.model_id, v.id FROM chunks k JOIN content_vectors v ON v.embed_hash = k.embed_hash WHERE k.mirror_hash = OLD.mirror_hash;
        END;
CREATE INDEX scanned_pages_by_state ON scanned_pages (state, source_hash, reader, page) WHERE state <> 1;
CREATE INDEX documents_with_scans ON documents (source_hash) WHERE reader IS NOT NULL;
CREATE TRIGGER scan_left AFTER UPDATE OF active, source_hash, reader ON documents
        WHEN OLD.reader IS NOT NULL AND OLD.active
            AND (NOT NEW.active OR OLD.source_hash <> NEW.source_hash OR OLD.reader IS NOT NEW.reader)
        BEGIN 
        DELETE FROM scanned_pages WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND state <> 1
        AND NOT EXISTS (
            SELECT 1 FROM documents WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND active
        );
     END;
CREATE TRIGGER scan_deleted AFTER DELETE ON documents WHEN OLD.reader IS NOT NULL
        BEGIN 
        DELETE FROM scanned_pages WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND state <> 1
        AND NOT EXISTS (
            SELECT 1 FROM documents WHERE source_hash = OLD.source_hash AND reader = OLD.reader AND active
        );
     END;
CREATE INDEX documents_by_container ON documents (collection_id, container) WHERE container IS NOT NULL;
CREATE INDEX definitions_by_name ON definitions (folded);
CREATE INDEX names_by_document ON names (document_id);
CREATE INDEX links_by_key ON links (collection_id, key, reach) WHERE key IS NOT NULL;
CREATE INDEX documents_counted ON documents (collection_id, container, chunks, active) WHERE active;
CREATE VIEW content AS
            SELECT mirror_hash, coalesce(unpacked(packed), markdown) AS markdown, title FROM mirrors;
CREATE INDEX documents_by_docid ON documents (docid);
CREATE TRIGGER copy_came AFTER INSERT ON documents
        BEGIN 
        INSERT INTO copies SELECT id, source_hash FROM documents WHERE NEW.active AND docid = NEW.docid AND source_hash = NEW.source_hash AND active AND id <> NEW.id LIMIT 1
            ON CONFLICT DO NOTHING;
        INSERT INTO copies SELECT NEW.id, NEW.source_hash
            WHERE NEW.active AND EXISTS (SELECT 1 FROM documents WHERE docid = NEW.docid AND source_hash = NEW.source_hash AND active AND id <> NEW.id) ON CONFLICT DO NOTHING;
     END;
CREATE TRIGGER copy_changed AFTER UPDATE OF active, source_hash ON documents
        WHEN OLD.active <> NEW.active OR OLD.source_hash <> NEW.source_hash
        BEGIN
            DELETE FROM copies WHERE document_id = NEW.id;
            
        INSERT INTO copies SELECT id, source_hash FROM documents WHERE NEW.active AND docid = NEW.docid AND source_hash = NEW.source_hash AND active AND id <> NEW.id LIMIT 1
            ON CONFLICT DO NOTHING;
        INSERT INTO copies SELECT NEW.id, NEW.source_hash
            WHERE NEW.active AND EXISTS (SELECT 1 FROM documents WHERE docid = NEW.docid AND source_hash = NEW.source_hash AND active AND id <> NEW.id) ON CONFLICT DO NOTHING;
    
        END;
COMMIT;

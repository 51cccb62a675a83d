"""Read a test collection in BEIR layout (Thakur et al. 2021). Refuse a collection that would give wrong figures.

A folder has `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and `qrels.tsv`, or
`qrels/test.tsv` (query-id, corpus-id, score; usually under a header line).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from gnod.errors import FolderNotFound, InvalidDataset

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv")
LAYOUT = f"a collection in BEIR layout has {CORPUS}, {QUERIES} and {' or '.join(QRELS)}"

Qrels = dict[str, dict[str, int]]
"""Query id → document id → grade. Grades of 1 and more are relevant."""


class CorpusDocument(NamedTuple):
    id: str
    title: str
    text: str


class Dataset(NamedTuple):
    """`queries`: the queries with judgements, in the order of the file. `unjudged`: the number of other queries."""

    name: str
    path: Path
    documents: list[CorpusDocument]
    queries: dict[str, str]
    qrels: Qrels
    unjudged: int


class _CorpusLine(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    title: str | None = None
    text: str = ""


class _QueryLine(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    text: str


Record = TypeVar("Record", _CorpusLine, _QueryLine)


def check_layout(folder: Path) -> tuple[Path, Path, Path]:
    """Return the files of a collection: corpus, queries and qrels. Raises FolderNotFound or InvalidDataset."""
    if not folder.is_dir():
        raise FolderNotFound(f"there is no folder {folder}", {"path": str(folder)})
    qrels = next((folder / name for name in QRELS if (folder / name).is_file()), folder / QRELS[0])
    files = (folder / CORPUS, folder / QUERIES, qrels)
    for file in files:
        if not file.is_file():
            raise InvalidDataset(f"{file} is missing: {LAYOUT}", {"file": str(file)})
    return files


def read(folder: Path) -> Dataset:
    """Return the collection. Raises FolderNotFound, or InvalidDataset with file and line."""
    corpus_file, queries_file, qrels_file = check_layout(folder)
    documents = {line.id: line for line in _records(corpus_file, _CorpusLine)}
    queries = read_queries(queries_file)
    qrels = _read_qrels(qrels_file, known_queries=queries.keys(), known_documents=documents.keys())
    if not qrels:
        raise _fault(qrels_file, None, "the file has no judgements")
    judged = {query_id: text for query_id, text in queries.items() if query_id in qrels}
    return Dataset(
        name=folder.resolve().name,
        path=folder.resolve(),
        documents=[CorpusDocument(d.id, d.title or "", d.text) for d in documents.values()],
        queries=judged,
        qrels=qrels,
        unjudged=len(queries) - len(judged),
    )


def read_queries(path: Path) -> dict[str, str]:
    return {line.id: line.text for line in _records(path, _QueryLine)}


def _records(path: Path, kind: type[Record]) -> Iterator[Record]:
    """Yield the record of each line that is not blank. Raises InvalidDataset if an `_id` occurs twice."""
    decoder = msgspec.json.Decoder(kind)
    first: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            record = decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _fault(path, number, f"invalid record: {error}") from None
        if not record.id:
            raise _fault(path, number, "the _id is empty")
        if record.id in first:
            raise _fault(path, number, f"_id {record.id!r} is also the _id of line {first[record.id]}")
        first[record.id] = number
        yield record


def _read_qrels(path: Path, *, known_queries: Set[str], known_documents: Set[str]) -> Qrels:
    qrels: Qrels = {}
    for number, line in _lines(path):
        fields = line.split("\t")
        if len(fields) != 3:
            raise _fault(path, number, f"expected query-id, corpus-id and score between tabs, not {line!r}")
        query_id, document_id, grade = fields
        if number == 1 and not any(map(str.isdigit, grade)):
            continue  # this is the header line
        if not (grade.removeprefix("-").isdecimal() and grade.isascii()):
            raise _fault(path, number, f"the score must be a whole number, not {grade!r}")
        if query_id not in known_queries:
            raise _fault(path, number, f"query {query_id!r} is not in {QUERIES}")
        if document_id not in known_documents:
            raise _fault(path, number, f"document {document_id!r} is not in {CORPUS}")
        if qrels.setdefault(query_id, {}).setdefault(document_id, int(grade)) != int(grade):
            raise _fault(path, number, f"query {query_id!r} and document {document_id!r} have two different scores")
    return qrels


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number (from 1) and the text (without its line end) of each line that is not blank."""
    number = 0
    try:
        # str.splitlines would also split at U+2028, which a JSON string may contain.
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError:
        # Files are decoded in blocks, so the exact line is unknown.
        raise _fault(path, None, f"not UTF-8, somewhere after line {number}") from None
    except OSError as error:
        raise _fault(path, None, f"cannot read the file: {error.strerror}") from error


def _fault(path: Path, line: int | None, what: str) -> InvalidDataset:
    where = f"{path}" if line is None else f"{path}, line {line}"
    return InvalidDataset(f"{where}: {what}", {"file": str(path), "line": line})

"""Reading a test collection: which files are accepted, and that each error names the file and line of the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.errors import FolderNotFound, InvalidDataset
from gnod.evaluate import dataset
from tests.evaluate import tiny


def test_a_collection(tmp_path: Path) -> None:
    read = dataset.read(tiny.write(tmp_path / "tiny"))
    assert read.name == "tiny"
    assert read.documents[0] == dataset.CorpusDocument("river", "", "The river, with an otter in it.")
    assert list(read.queries) == list(read.qrels) == ["graded", "half", "nothing", "refused", "rewritten"]
    assert read.qrels["graded"] == {"otters": 1, "river": 2, "lamp": -1}
    assert read.unjudged == 1


def test_the_layout_of_beir_itself(tmp_path: Path) -> None:
    ours = dataset.read(tiny.write(tmp_path / "ours"))
    beir = dataset.read(tiny.write(tmp_path / "beir", qrels="qrels/test.tsv"))
    assert beir.qrels == ours.qrels


def test_what_files_in_the_wild_look_like(tmp_path: Path) -> None:
    """A byte order mark, CRLF, blank lines, no header, a repeated judgement, and U+2028 within a string."""
    folder = tiny.write(tmp_path)
    (folder / "corpus.jsonl").write_bytes('\ufeff{"_id": "d", "text": "a\u2028b", "title": null}\r\n\r\n'.encode())
    (folder / "queries.jsonl").write_bytes(b'{"_id": "q", "text": "a"}')
    (folder / "qrels.tsv").write_bytes(b"q\td\t1\r\nq\td\t1\r\n\n")
    read = dataset.read(folder)
    assert read.documents == [dataset.CorpusDocument("d", "", "a\u2028b")]
    assert read.qrels == {"q": {"d": 1}}


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("corpus.jsonl", '{"_id": "x", "text": ', "line 6: invalid record"),
        ("corpus.jsonl", '["x"]', "line 6: invalid record"),
        ("corpus.jsonl", '{"text": "x"}', "line 6: invalid record: Object missing required field `_id`"),
        ("corpus.jsonl", '{"_id": 7, "text": "x"}', "line 6: invalid record: Expected `str`, got `int`"),
        ("corpus.jsonl", '{"_id": "", "text": "x"}', "line 6: the _id is empty"),
        ("corpus.jsonl", '{"_id": "lamp", "text": "x"}', "line 6: _id 'lamp' is also the _id of line 4"),
        ("corpus.jsonl", '{"_id": "x", "text": ' + "[" * 100_000, "line 6: invalid record"),
        ("queries.jsonl", '{"_id": "q"}', "line 7: invalid record: Object missing required field `text`"),
        ("queries.jsonl", '{"_id": "half", "text": ""}', "line 7: _id 'half' is also the _id of line 2"),
        ("qrels.tsv", "half desk 1", "line 10: expected query-id, corpus-id and score between tabs"),
        ("qrels.tsv", "half\tlamp\tyes", "line 10: the score must be a whole number, not 'yes'"),
        ("qrels.tsv", "half\tlamp\t0.5", "line 10: the score must be a whole number, not '0.5'"),
        ("qrels.tsv", "q\tlamp\t1", "line 10: query 'q' is not in queries.jsonl"),
        ("qrels.tsv", "half\td\t1", "line 10: document 'd' is not in corpus.jsonl"),
        ("qrels.tsv", "half\tdesk\t2", "line 10: query 'half' and document 'desk' have two different scores"),
    ],
)
def test_a_faulty_line(name: str, line: str, message: str, tmp_path: Path) -> None:
    folder = tiny.write(tmp_path)
    with (folder / name).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InvalidDataset) as refused:
        dataset.read(folder)
    assert refused.value.message.startswith(f"{folder / name}, {message}")
    assert refused.value.details["line"] == int(message.split(":")[0].removeprefix("line "))


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file(name: str, tmp_path: Path) -> None:
    folder = tiny.write(tmp_path)
    (folder / name).unlink()
    with pytest.raises(InvalidDataset, match=f"{name} is missing: a collection in BEIR layout has"):
        dataset.read(folder)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(FolderNotFound):
        dataset.read(tmp_path / "nowhere")
    folder = tiny.write(tmp_path)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")
    with pytest.raises(InvalidDataset, match="the file has no judgements"):
        dataset.read(folder)
    (folder / "corpus.jsonl").write_bytes(b'{"_id": "d", "text": "\xe4"}\n')
    with pytest.raises(InvalidDataset, match=r"corpus\.jsonl: not UTF-8"):
        dataset.read(folder)

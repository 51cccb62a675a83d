"""Reads the questions and checks that a file still contains the answering passage. Must not depend on the daemon."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from gnod.ingest.formats.dispatch import convert
from gnod.ingest.reading.result import ConversionFailed

SOURCES = ("stdlib", "docs", "formats")
SPLITS = ("dev", "test")

_TABLE = Path(__file__).with_name("questions.tsv")
_MAX_CHARACTERS = 5_000_000


class Question(NamedTuple):
    """A row of the table. `file` is relative to the folder of its source; `quote`: the beginning of the answering
    passage."""

    id: str
    split: str
    source: str
    file: str
    quote: str
    text: str


def read() -> list[Question]:
    """Return all questions in the order of the table."""
    lines = _TABLE.read_text(encoding="utf-8").splitlines()[1:]
    return [Question(*line.split("\t")) for line in lines]


def problem(question: Question, root: Path) -> str | None:
    """Return why this question cannot be asked over the folder `root`; None if it can."""
    try:
        text = _without_spaces(root / question.file)
    except OSError as error:
        return f"the file cannot be read ({error.strerror})"
    except ConversionFailed as error:
        return f"the file has no text: {error.message}"
    return None if "".join(question.quote.split()) in text else f"the file does not contain {question.quote!r}"


@cache
def _without_spaces(path: Path) -> str:
    """Return the converted text of a file without white space, because a PDF does not store it reliably."""
    return "".join(convert(path.read_bytes(), path.name, max_characters=_MAX_CHARACTERS).markdown.split())

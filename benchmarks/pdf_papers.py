"""Compare gnod's text of PDF files with pdftotext (poppler), and measure the time of indexing. Prints figures.

.venv/bin/python -m benchmarks.pdf_papers [--show]

The files are in shared/corpora/peers-files; reference.jsonl there has the words of pdftotext. pdftotext fails if a font
does not map its glyphs to characters; such papers are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean

from benchmarks.throwaway import SHARED, Throwaway, require_shared, throwaway

_FILES = SHARED / "corpora" / "peers-files"
_TITLES = Path(__file__).with_name("paper_titles.tsv")
_PHRASES, _WORDS = 200, 5
_GLUED = re.compile(r"[^\W\d_]{25,}")
_DIVIDED = re.compile(r"([^\W\d_])[-\u00ad]\r?\n([a-z])")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
# Papers with fonts without a character map, from which pdftotext reads noise.
_UNREADABLE = ("a-response-to-cheriton", "functional-reactive-animation", "operators-on-inhom", "therac")


class Text:
    """The text of a file from gnod and from pdftotext."""

    def __init__(self, path: str, ours: str, reference: set[str]) -> None:
        self.path = path
        self.ours = ours
        self.reference = reference

    @property
    def recall(self) -> float:
        return len(self.reference & _distinct(self.ours)) / len(self.reference)

    @property
    def precision(self) -> float | None:
        words = _distinct(self.ours)
        return len(self.reference & words) / len(words) if words else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--show", action="store_true", help="print what is missing")
    show = parser.parse_args().show
    require_shared()
    if not shutil.which("pdftotext"):
        sys.exit("pdftotext is not installed: it is in poppler-utils")
    with throwaway() as daemon:
        daemon.gnoctl("init", "--preset", "none", str(_FILES / "pypdf"), "--name", "pypdf")
        for name in ("pdfjs", "unstructured"):
            daemon.add(_FILES / name, name)
        _print_times(daemon)
        texts = list(_texts(daemon))
        papers = [text for text in texts if text.path.startswith("pwl/") and not _is_unreadable(text.path)]
        _print_words("papers", papers, show=show)
        _print_words("pdf.js, pypdf, unstructured", [t for t in texts if not t.path.startswith("pwl/")], show=show)
        _print_titles(daemon, show=show)
        _print_phrases(daemon, papers, show=show)
    _print_pairs(papers)
    glued = Counter(word for text in papers for word in _GLUED.findall(text.ours))
    print(f"words of 25 letters and more: {glued.total()} {list(glued)[:5]}")
    print(f"papers with (cid: in their text: {sum('(cid:' in text.ours for text in texts)}")


def _print_times(daemon: Throwaway) -> None:
    """Index the papers in a warm daemon, and read them with pdftotext before and after."""
    paths = sorted((_FILES / "pwl").rglob("*.pdf"))
    before = _timed_pdftotext(paths)
    took = daemon.add(_FILES / "pwl", "pwl")
    reference = (before + _timed_pdftotext(paths)) / 2
    print(f"{len(paths)} papers: indexed in {took:.1f} s, pdftotext {reference:.1f} s, ratio {took / reference:.1f}")


def _timed_pdftotext(paths: Sequence[Path]) -> float:
    started = time.monotonic()
    for path in paths:
        _pdftotext(path)
    return time.monotonic() - started


def _pdftotext(path: Path, *options: str) -> str:
    done = subprocess.run(["pdftotext", *options, str(path), "-"], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


def _texts(daemon: Throwaway) -> Iterator[Text]:
    with (_FILES / "reference.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            path, words = row["path"], row["words"]
            if path.endswith(".pdf") and len(words) > 2:
                yield Text(path, _indexed(daemon, path), set(words))


def _indexed(daemon: Throwaway, path: str) -> str:
    """Return the text of a document; "" if it is not indexed."""
    parts: list[str] = []
    line = 1
    while True:
        try:
            part = daemon.call("document.get", ref=path, start_line=line)
        except RuntimeError:
            return ""
        parts.append(part["text"])
        if not part["truncated"]:
            return "\n".join(parts)
        line = part["end_line"] + 1


def _is_unreadable(path: str) -> bool:
    return path.rpartition("/")[2].startswith(_UNREADABLE)


def _distinct(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[^\W_]{2,}", _DIVIDED.sub(r"\1\2", text))}


def _print_words(kind: str, texts: Sequence[Text], *, show: bool) -> None:
    precisions = [text.precision for text in texts if text.precision is not None]
    print(f"{kind}: {len(texts)} files, recall {mean(t.recall for t in texts):.3f}, precision {mean(precisions):.3f}")
    for text in sorted(texts, key=lambda text: text.recall)[: 20 if show else 0]:
        print(f"  {text.recall:.2f} {text.path} {sorted(text.reference - _distinct(text.ours))[:8]}")


def _print_titles(daemon: Throwaway, *, show: bool) -> None:
    rows = [line.split("\t") for line in _TITLES.read_text(encoding="utf-8").splitlines()]
    right = 0
    for path, expected in rows:
        title = daemon.call("document.get", ref=f"pwl/{path}")["title"]
        is_right = _letters(title) == _letters(expected)
        right += is_right
        if show and not is_right:
            print(f"  title {title!r}, not {expected!r}")
    print(f"right titles: {right} of {len(rows)}")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _print_phrases(daemon: Throwaway, papers: Sequence[Text], *, show: bool) -> None:
    """Search for quoted phrases, drawn from pdftotext's text of the papers."""
    chance = random.Random(20261125)
    found = 0
    for _ in range(_PHRASES):
        path = chance.choice(papers).path
        words = _sequence(_pdftotext(_FILES / path))
        starts = [at for at in range(len(words) - _WORDS) if all(map(_is_word, words[at : at + _WORDS]))]
        start = chance.choice(starts)
        phrase = " ".join(words[start : start + _WORDS])
        hits = daemon.call("search.lexical", query=f'"{phrase}"', path_prefix=path.removeprefix("pwl/"))["hits"]
        found += bool(hits)
        if show and not hits:
            print(f"  phrase {phrase!r} of {path}")
    print(f"phrases of {_WORDS} words that are found: {found} of {_PHRASES}")


def _is_word(word: str) -> bool:
    """Tell whether a string is a word and not letters of a formula."""
    return word.isalpha() and len(word) > 1


def _print_pairs(papers: Sequence[Text]) -> None:
    """Compare pairs of successive words with the drawing order of the file, in which columns follow each other."""
    kept = total = 0
    for text in papers:
        expected = Counter(pairwise(_sequence(_pdftotext(_FILES / text.path, "-raw"))))
        kept += (expected & Counter(pairwise(_sequence(text.ours)))).total()
        total += expected.total()
    print(f"pairs of words that follow each other as in pdftotext -raw: {kept / total:.3f}")


def _sequence(text: str) -> list[str]:
    joined = _DIVIDED.sub(r"\1\2", text).translate(_LIGATURES)
    return re.findall(r"[^\W_]+", joined)


if __name__ == "__main__":
    main()

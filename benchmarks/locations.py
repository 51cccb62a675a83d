"""Measure whether hits in PDF files name the right page, and whether boxes enclose their words. Prints figures.

.venv/bin/python -m benchmarks.locations [--generated 100] [--real 50]

The words of a page and the characters in a box come from pdfminer, which gnod does not use for boxes.
"""

from __future__ import annotations

import argparse
import random
import re
import time
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.generated_pdfs import generated
from benchmarks.throwaway import SHARED, Throwaway, percentile, require_shared, throwaway

_FOLDERS = ("mixed-formats", "hostile", "dev-docs")
_PAGES = 60  # longer files are skipped
_WORDS = 5  # for each page
_WORD = re.compile(r"[^\W\d_]+")
_PREFIX = 3


class Character(NamedTuple):
    """`x`, `y`: the centre, from the upper left corner of the page."""

    text: str
    x: float
    y: float


class Sample(NamedTuple):
    path: str
    page: int
    word: str


class Figures:
    """Counts of one kind of files."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.asked = self.found = self.right = 0
        self.with_box = self.boxes = self.good = self.exact = 0
        self.took_ms: list[float] = []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--generated", type=int, default=100)
    parser.add_argument("--real", type=int, default=50)
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with throwaway() as daemon:
        root = daemon.folder / "papers"
        samples = {"generated": list(_generated(root / "generated", options.generated))}
        if options.real:
            require_shared()
            samples["real"] = list(_real(root / "real", options.real))
        daemon.gnoctl("init", "--preset", "none", str(root), "--name", "papers")
        for kind, asked in samples.items():
            _print(kind, _measured(daemon, root, asked, show=options.show))


def _generated(folder: Path, count: int) -> Iterator[Sample]:
    folder.mkdir(parents=True)
    for name, content, pages in generated(count):
        (folder / name).write_bytes(content)
        for number, words in enumerate(pages, start=1):
            yield from (Sample(f"generated/{name}", number, word) for word in words[:_WORDS])


def _real(folder: Path, count: int) -> Iterator[Sample]:
    """Yield words that are on only one page of a file and share no beginning with another word of the file, because
    search matches stems."""
    folder.mkdir(parents=True)
    chance = random.Random(20261123)
    paths = sorted(path for name in _FOLDERS for path in (SHARED / "corpora" / name).rglob("*.pdf"))
    files = 0
    for path in paths:
        texts = ["".join(each.text for each in page) for page in _pages(path, by_layout=True)]
        picked = list(_unique(texts, chance)) if len(texts) < _PAGES else []
        if not picked:
            continue
        files += 1
        name = f"{files:02} {path.name}"
        (folder / name).write_bytes(path.read_bytes())
        yield from (Sample(f"real/{name}", number, word) for number, word in picked)
        if files == count:
            break


def _unique(texts: Sequence[str], chance: random.Random) -> Iterator[tuple[int, str]]:
    beginnings = Counter(beginning for text in texts for beginning in {word[:_PREFIX] for word in _words(text)})
    for number, text in enumerate(texts, start=1):
        # Words next to a hyphen may be parts of other words.
        whole = _words(re.sub(r"\w+-\s+\w+|\w*-\w*", " ", text))
        on_page = Counter(word[:_PREFIX] for word in _words(text))
        alone = [
            word
            for word in sorted(whole)
            if len(word) > _PREFIX and on_page[word[:_PREFIX]] == 1 == beginnings[word[:_PREFIX]]
        ]
        yield from ((number, word) for word in chance.sample(alone, min(_WORDS, len(alone))))


def _words(text: str) -> set[str]:
    """Return the words, including words that a hyphen divides at the end of a line."""
    both = text + "\n" + re.sub(r"-\s*\n\s*", "", text)
    return {word.lower() for word in _WORD.findall(unicodedata.normalize("NFKC", both))}


def _pages(path: Path, *, by_layout: bool) -> Iterator[list[Character]]:
    """Yield the characters of each page: with the spaces and lines that pdfminer finds, or in the order of the file.
    Stops at the first page that pdfminer cannot read."""
    from pdfminer.converter import PDFPageAggregator
    from pdfminer.layout import LAParams
    from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
    from pdfminer.pdfpage import PDFPage

    resources = PDFResourceManager()
    device = PDFPageAggregator(resources, laparams=LAParams(all_texts=True) if by_layout else None)
    interpreter = PDFPageInterpreter(resources, device)
    with path.open("rb") as file:
        try:
            for page in PDFPage.get_pages(file, maxpages=_PAGES):
                interpreter.process_page(page)
                layout = device.get_result()
                yield list(_placed(layout, _corner(page), layout.height))
        except Exception as error:
            print(f"pdfminer cannot read {path.name}: {type(error).__name__}")


def _corner(page: Any) -> tuple[float, float]:
    """Return the offset of the shown area from the upper left corner of the whole page, both as shown."""
    (left, bottom, right, top), whole = page.cropbox, page.mediabox
    return {
        0: (left - whole[0], whole[3] - top),
        90: (bottom - whole[1], left - whole[0]),
        180: (whole[2] - right, bottom - whole[1]),
        270: (whole[3] - top, whole[2] - right),
    }[page.rotate % 360]


def _placed(item: Any, offset: tuple[float, float], height: float) -> Iterator[Character]:
    from pdfminer.layout import LTAnno, LTChar

    for each in item if hasattr(item, "__iter__") else ():
        if isinstance(each, LTChar):
            x, y = (each.x0 + each.x1) / 2 - offset[0], height - (each.y0 + each.y1) / 2 - offset[1]
            yield Character(each.get_text(), x, y)
        elif isinstance(each, LTAnno):
            yield Character(each.get_text(), -1e9, -1e9)
        else:
            yield from _placed(each, offset, height)


def _measured(daemon: Throwaway, root: Path, samples: Sequence[Sample], *, show: bool) -> Figures:
    figures = Figures()
    placed: dict[str, list[list[Character]]] = {}
    for sample in samples:
        if sample.path not in placed:
            placed = {sample.path: list(_pages(root / sample.path, by_layout=False))}
        figures.files.add(sample.path)
        figures.asked += 1
        _ask(daemon, sample, figures, show=show)
        _check_boxes(daemon, sample, placed[sample.path][sample.page - 1], figures, show=show)
    return figures


def _ask(daemon: Throwaway, sample: Sample, figures: Figures, *, show: bool) -> None:
    result = daemon.call("search.lexical", query=f'"{sample.word}"', path_prefix=sample.path)
    for hit in result["hits"]:
        if "!/" in hit["uri"]:  # an attached file
            continue
        figures.found += 1
        page = (hit["location"] or {}).get("page")
        figures.right += page == sample.page
        if page != sample.page and show:
            print("page", page, sample)
    if not result["hits"] and show:
        print("no hit", sample)


def _check_boxes(
    daemon: Throwaway, sample: Sample, characters: Sequence[Character], figures: Figures, *, show: bool
) -> None:
    started = time.perf_counter()
    found = daemon.call("document.boxes", ref=f"papers/{sample.path}#page={sample.page}", query=sample.word)
    figures.took_ms.append((time.perf_counter() - started) * 1000)
    figures.with_box += bool(found["boxes"])
    if not found["boxes"] and show:
        print("no box", sample)
    for box in found["boxes"]:
        printed = _plain(
            "".join(c.text for c in characters if box["x0"] <= c.x <= box["x1"] and box["y0"] <= c.y <= box["y1"])
        )
        expected = _plain(box["text"])
        figures.boxes += 1
        figures.good += expected in printed
        figures.exact += expected == printed
        if expected not in printed and show:
            print("box", sample, expected, repr(printed[:60]), box)


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).lower().replace("\u00ad", "-").split())


def _print(kind: str, figures: Figures) -> None:
    print(f"{kind}: {len(figures.files)} files, {figures.asked:,} words")
    print(f"  words that are found: {_share(figures.found, figures.asked)}")
    print(f"  hits that name the right page: {_share(figures.right, figures.found)}")
    print(f"  words with a box: {_share(figures.with_box, figures.asked)}")
    print(f"  boxes that contain their word: {_share(figures.good, figures.boxes)}")
    print(f"  boxes that contain nothing else: {_share(figures.exact, figures.boxes)}")
    took = figures.took_ms
    print(f"  time: p50 {percentile(took, 0.5):.0f} ms, p95 {percentile(took, 0.95):.0f}, max {max(took):.0f}")


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / max(whole, 1):.2%})"


if __name__ == "__main__":
    main()

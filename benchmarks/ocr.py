"""Measure OCR: recognised characters, time per page, and searches during a backlog. Prints figures.

    python -m benchmarks.ocr [recall] [daemon] [--fonts FOLDER] [--pages OF_EACH_LANGUAGE]

Pages are drawn at 150 dpi from texts in six languages: unchanged, turned by 2 degrees, with noise, and with both.
Chinese and Japanese need the fonts wqy-microhei.ttc and VL-Gothic-Regular.ttf (Debian: fonts-wqy-microhei,
fonts-vlgothic). Russian needs tesseract.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFilter, ImageFont

from benchmarks.throwaway import Throwaway, percentile, throwaway, write_documents
from gnod.models.readability import samples

# One thread, as in a worker.
os.environ["OMP_NUM_THREADS"] = "1"

_A4 = (1240, 1754)
_MARGIN, _SIZE = 100, 23  # 11 points
_FONTS = {
    "en": "DejaVuSerif.ttf",
    "de": "DejaVuSans.ttf",
    "fr": "DejaVuSerif.ttf",
    "ru": "DejaVuSerif.ttf",
    "zh": "wqy-microhei.ttc",
    "ja": "VL-Gothic-Regular.ttf",
}
_TARGETS = {"en": 0.97, "de": 0.97, "fr": 0.97}
_KINDS = ("plain", "2 degrees", "noise", "2 degrees, noise")
_WORDS = ["protein", "boundary", "system", "sort", "machine", "number", "shock wave", "data"]


class _Page(NamedTuple):
    image: Image.Image
    lines: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["recall", "daemon"])
    parser.add_argument("--fonts", type=Path, default=Path("/usr/share/fonts"))
    parser.add_argument("--pages", type=int, default=17, help="pages of each language")
    options = parser.parse_args()
    if "recall" in options.what:
        _recall(options.fonts, options.pages)
    if "daemon" in options.what:
        _beside_a_backlog(options.fonts)
    return 0


def _recall(fonts: Path, pages: int) -> None:
    from gnod.ingest.ocr import page, readers

    print(f"readers: tesseract has {sorted(readers.tesseract_languages()) or 'no languages'}")
    full: list[float] = []
    for language in _FONTS:
        reader = readers.choose("ru" if language == "ru" else "on")
        if not isinstance(reader, readers.Reader):
            print(f"{language}: {reader}")
            continue
        found: dict[str, list[float]] = {}
        for number, made in enumerate(_pages(language, fonts, pages)):
            kind = _KINDS[number % 4]
            buffer = io.BytesIO()
            made.image.save(buffer, "PNG")
            started = time.process_time()
            text = page.recognise(buffer.getvalue(), 1, reader).text
            full.append(time.process_time() - started)
            found.setdefault(kind, []).append(_share(made.lines, text.split("\n")))
        took = full[-sum(map(len, found.values())) :]
        every = [share for shares in found.values() for share in shares]
        if every:
            kinds = ", ".join(f"{kind} {sum(shares) / len(shares):.4f}" for kind, shares in found.items())
            target = _TARGETS.get(language, 0.90)
            print(f"{language}: recall {sum(every) / len(every):.4f} (target {target}), {len(every)} pages; {kinds}")
            print(f"   CPU time of a page: median {median(took):.2f} s, longest {max(took):.2f}", flush=True)
    if full:
        print(f"a page: CPU time median {median(full):.2f} s, p95 {percentile(full, 0.95):.2f} s (target 4 s)")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _pages(language: str, fonts: Path, pages: int) -> Iterator[_Page]:
    """Yield full pages; each has the sentences in another order."""
    found = sorted(path for path in fonts.rglob(_FONTS[language]))
    if not found:
        print(f"{language}: there is no font {_FONTS[language]} in {fonts}")
        return
    font = ImageFont.truetype(found[0], _SIZE)
    sentences = [*samples()[language].statements, *samples()[language].questions]
    for number in range(pages):
        rng = random.Random(f"{language}{number}")
        words = [s for _ in range(60) for s in rng.sample(sentences, len(sentences))]
        yield _degraded(_drawn(words, font, spaced=language not in ("zh", "ja")), number)


def _drawn(sentences: Sequence[str], font: ImageFont.FreeTypeFont, *, spaced: bool) -> _Page:
    image = Image.new("L", _A4, 255)
    draw = ImageDraw.Draw(image)
    pieces = [piece for sentence in sentences[:200] for piece in (sentence.split() if spaced else sentence)]
    lines: list[str] = []
    line = ""
    for piece in pieces:
        longer = f"{line} {piece}" if spaced and line else line + piece
        if draw.textlength(longer, font=font) <= _A4[0] - 2 * _MARGIN:
            line = longer
            continue
        top = _MARGIN + len(lines) * _SIZE * 3 // 2
        if top > _A4[1] - 2 * _MARGIN:
            break
        draw.text((_MARGIN, top), line, font=font, fill=0)
        lines.append(line)
        line = piece
    return _Page(image, lines)


def _degraded(page: _Page, number: int) -> _Page:
    import numpy as np

    image = page.image
    if number % 2:
        image = image.rotate(2, fillcolor=255, resample=Image.Resampling.BICUBIC)
    if number % 4 >= 2:
        noise = np.random.default_rng(number).normal(0, 25, (image.height, image.width))
        image = Image.fromarray((np.asarray(image) + noise).clip(0, 255).astype("uint8"))
        image = image.filter(ImageFilter.GaussianBlur(0.6))
    return _Page(image, page.lines)


def _share(truth: Sequence[str], found: Sequence[str]) -> float:
    """Return the share of characters without spaces that were found, compared between similar lines."""
    written = ["".join(line.split()) for line in truth]
    read = ["".join(line.split()) for line in found if line.strip()]
    kept = 0
    for number, line in enumerate(written):
        near = read[max(0, number - 2) : number + 3]
        kept += max((_common(line, other) for other in near), default=0)
    return kept / sum(map(len, written))


def _common(a: str, b: str) -> int:
    return sum(block.size for block in difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks())


def _beside_a_backlog(fonts: Path) -> None:
    """Measure keyword search while 1,000 pages wait, and on the same daemon at rest."""
    made = []
    for page in _pages("en", fonts, 4):
        buffer = io.BytesIO()
        page.image.save(buffer, "PNG")
        made.append(buffer.getvalue())
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        texts, scans = Path(folder, "texts"), Path(folder, "scans")
        texts.mkdir()
        scans.mkdir()
        write_documents(texts, 2000)
        daemon.add(texts, "texts")
        idle = _searches(daemon, 400)
        for number in range(1000):
            # Bytes after the end of a picture are ignored, but give each file another hash.
            (scans / f"{number}.png").write_bytes(made[number % len(made)] + str(number).encode())
        seconds = daemon.add(scans, "scans")
        print(f"indexing 1,000 pictures without their text: {seconds:.1f} s")
        deadline = time.monotonic() + 60
        while daemon.call("index.status")["ocr"]["state"] != "working" and time.monotonic() < deadline:
            time.sleep(0.5)
        busy = _searches(daemon, 400)
        print(f"keyword search, nothing else: p50 {median(idle):.1f}, p95 {percentile(idle, 0.95):.1f} ms")
        print(f"keyword search beside the backlog: p50 {median(busy):.1f}, p95 {percentile(busy, 0.95):.1f} ms")
        print(f"ratio of p95 {percentile(busy, 0.95) / percentile(idle, 0.95):.2f} (target 1.5)")
        print(f"status: {daemon.call('index.status')['ocr']}")


def _searches(daemon: Throwaway, number: int) -> list[float]:
    took = []
    for each in range(number):
        started = time.perf_counter()
        daemon.call("search.lexical", query=_WORDS[each % len(_WORDS)], collections=["texts"], limit=10)
        took.append((time.perf_counter() - started) * 1000)
        time.sleep(0.05)
    return took


if __name__ == "__main__":
    sys.exit(main())

"""Count how often a hit in a long file shows the right line, by kind of file, way of asking and mode.

    .venv/bin/python -m benchmarks.right_lines [--seed 41] [--modes keyword,hybrid] [--show]

Each of the 296 known passages (passages.py describes their choice) is searched through the daemon in its own file, so
that the rank of files does not matter. A hit is right if its lines contain the passage, and its snippet contains the
quoted or rare words. For a paraphrase, the snippet must contain three successive words of the sentence.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.right_lines import files, passages
from benchmarks.right_lines.passages import WAYS, Known, Way
from benchmarks.throwaway import Throwaway, cached_model, require_shared, throwaway
from gnod.errors import EXIT_VALIDATION
from gnod.types import source_line

_METHODS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "keyword": ("search.lexical", {}),
    "hybrid": ("search.query", {"expand": False, "rerank": False}),
}
# The number of passages for each kind of file and each way of asking; the code has fewer sentences.
_COUNTS: Mapping[str, Mapping[Way, int]] = {
    "log": {"phrase": 30, "rare": 30},
    "table": {"phrase": 20, "rare": 30},
    "code": {"phrase": 30, "rare": 30, "paraphrase": 20},
    "text": {"phrase": 30, "rare": 30, "paraphrase": 50},
}

_WORD = re.compile(r"[^\W_]+")


class LongFile(NamedTuple):
    """`lines`: the offset of each line of `text`."""

    kind: str
    path: str
    text: str
    lines: Sequence[int]
    line_map: list[tuple[int, int]]

    def source_line(self, place: int) -> int:
        return source_line(self.line_map, bisect_right(self.lines, place))

    def holds(self, hit: Mapping[str, Any], known: Known) -> bool:
        """Tell whether the snippet of a hit, which has no markup, contains three successive words of the passage."""
        words, snippet = _words(self.text[known.start : known.end]), f" {' '.join(_words(hit['snippet']))} "
        return any(f" {' '.join(words[n : n + 3])} " in snippet for n in range(max(len(words) - 2, 1)))


def main(words: Sequence[str]) -> int:
    options = _parser().parse_args(words)
    require_shared()
    needs_model = "hybrid" in options.modes
    model = cached_model() if needs_model else None
    if needs_model and model is None:
        print("no model of the preset mini: run the tests with real models once, or set GNOD_TEST_MODELS to a folder")
        return EXIT_VALIDATION
    with throwaway(f"models: {{embed: 'file:{model}'}}\n" if model else "") as daemon:
        folder = daemon.folder / "files"
        files.write(folder, random.Random(options.seed))
        daemon.add(folder, "long")
        if model:
            daemon.call("index.embed")
        for mode in options.modes.split(","):
            measure(daemon, mode, options.seed, show=options.show)
    return 0


def measure(daemon: Throwaway, mode: str, seed: int, *, show: bool) -> None:
    """Search for each passage in one mode, and print the shares of right hits."""
    asked: Counter[tuple[str, Way]] = Counter()
    right: Counter[tuple[str, Way]] = Counter()
    for file, known in _questions(daemon, seed):
        hit = _hit(daemon, mode, file, known)
        is_right = hit is not None and _is_right(file, known, hit)
        asked[file.kind, known.way] += 1
        right[file.kind, known.way] += is_right
        if show and not is_right:
            line = file.source_line(known.start)
            shown = f"{hit['line']}-{hit['end_line']} {hit['snippet']!r}" if hit else "nothing"
            print(f"{mode} {file.path}:{line} {known.way}: {known.query}\n    {shown}")
    for kind in (*files.KINDS, "all"):
        cells = [_share(asked, right, kind, [way]) for way in WAYS]
        print(f"{mode:<10}{kind:<8}" + "".join(cells) + _share(asked, right, kind, WAYS), flush=True)


def _questions(daemon: Throwaway, seed: int) -> list[tuple[LongFile, Known]]:
    """Return the known passages: for each kind of file, an equal number from each file."""
    entries = daemon.call("document.list", scope="long")["documents"]
    found: list[tuple[LongFile, Known]] = []
    for kind, counts in _COUNTS.items():
        paths = sorted(each["path"] for each in entries if each["path"].startswith(f"{kind}/"))
        draw = random.Random(f"{seed} {kind}")
        for number, path in enumerate(paths):
            file = _read(daemon, kind, path)
            for way, count in counts.items():
                share = count // len(paths) + (number < count % len(paths))
                found += [(file, known) for known in passages.choose(file.text, way, share, draw)]
    return found


def _read(daemon: Throwaway, kind: str, path: str) -> LongFile:
    got = daemon.call("document.get", ref=f"gno://long/{path}")
    text: str = got["text"]
    lines = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    return LongFile(kind, path, text, lines, [(line, removed) for line, removed in got["line_map"]])


def _hit(daemon: Throwaway, mode: str, file: LongFile, known: Known) -> Mapping[str, Any] | None:
    method, params = _METHODS[mode]
    result = daemon.call(method, query=known.query, path_prefix=file.path, limit=1, exact=True, **params)
    return next(iter(result["hits"]), None)


def _is_right(file: LongFile, known: Known, hit: Mapping[str, Any]) -> bool:
    first, last = file.source_line(known.start), file.source_line(known.end - 1)
    snippet = hit["snippet"].casefold()
    holds = all(word in snippet for word in known.words) if known.words else file.holds(hit, known)
    return holds and hit["line"] <= last and first <= hit["end_line"]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _share(asked: Counter[tuple[str, Way]], right: Counter[tuple[str, Way]], kind: str, ways: Sequence[Way]) -> str:
    kinds = files.KINDS if kind == "all" else (kind,)
    total = sum(asked[each, way] for each in kinds for way in ways)
    found = sum(right[each, way] for each in kinds for way in ways)
    return f"{f'{found} of {total}':>14}" if total else f"{'':>14}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--modes", default="keyword,hybrid")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

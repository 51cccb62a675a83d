"""Measure the results of queries with one error. Prints figures.

    .venv/bin/python -m benchmarks.misspellings edits [FOLDER [COUNT [SEED]]]
    .venv/bin/python -m benchmarks.misspellings clean [COLLECTION …]
    .venv/bin/python -m benchmarks.misspellings latency
    .venv/bin/python -m benchmarks.misspellings languages [COUNT]

`edits` takes queries of two to four successive words in a line of a random document, and puts one random edit into
each. `clean` shows which queries of test collections are corrected, and how that changes their ranking. `latency` has
20,000 documents and a vocabulary of a million words. `languages` sends different queries of two misspelt words to an
index of one language and to an index of many, and shows how long they take and how the daemon grows.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from benchmarks import many_languages
from benchmarks.throwaway import SHARED, Throwaway, percentile, require_shared, throwaway, write_documents
from gnod.analysis.common_words import is_common
from gnod.evaluate import dataset
from gnod.evaluate.index import Index, temporary_index
from gnod.evaluate.measures import measure
from gnod.search.correction.correction_service import Corrector
from gnod.search.correction.query_correction import Corrected
from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.tables.filters import Filters

KINDS = ("insert", "delete", "swap", "replace", "join", "split")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COUNT, SEED = 1000, 20261123
# For `languages`: the number of languages added to those of the vault, the documents of each, and the first queries,
# after which the daemon has its threads, dictionaries and words of the index in memory.
LANGUAGES, DOCUMENTS, WARM_UP = 35, 150, 100
COLLECTIONS = ("scifact", "cranfield", "cacm", "xquad-de", "squad-en", "qmd-eval", "claude-docs-rag", "cosqa-dev")
# Words of four letters and more that are not part of identifiers and addresses.
_WORD = re.compile(r"(?<![\w./:@&-])[A-Za-z]{4,}(?![\w/:@&-])")


class Edited(NamedTuple):
    clean: str
    written: str
    kind: str


def edits(folder: Path, count: int, seed: int) -> None:
    rng = random.Random(seed)
    with throwaway() as daemon:
        daemon.add(folder, "docs")
        found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        took: dict[str, list[float]] = defaultdict(list)
        queries = _queries(folder, rng)
        while sum(map(len, found.values())) < count * 2:
            each = next(queries)
            if best := _hits(daemon, each.clean, took["clean"]):
                for kind, exact in ((each.kind, False), ("uncorrected", True)):
                    hits = _hits(daemon, each.written, took["uncorrected" if exact else "corrected"], exact=exact)
                    found[kind].append((hits[:1] == best[:1], best[0] in hits))
        for kind in ("uncorrected", *KINDS):
            _row(kind, found[kind])
        _row("all", [each for kind in KINDS for each in found[kind]])
        for name, values in took.items():
            _print_times(name, values)


def clean(names: list[str]) -> None:
    for name in names:
        judged = dataset.read(SHARED / "collections" / name)
        with temporary_index(judged, lambda *_: None) as index:
            corrector = Corrector(index.database.submit_read)
            before: dict[str, list[tuple[str, float]]] = {}
            after: dict[str, list[tuple[str, float]]] = {}
            changed: dict[str, Corrected] = {}
            for query_id, text in judged.queries.items():
                corrected = _corrected(index, corrector, text)
                before[query_id] = after[query_id] = _ranking(index, text)
                if corrected.corrections:
                    changed[query_id] = corrected
                    after[query_id] = _ranking(index, corrected.text)
        old, new = measure(judged.qrels, before), measure(judged.qrels, after)
        figures = f"nDCG@10 {old.mean['nDCG@10']:.4f} -> {new.mean['nDCG@10']:.4f}"
        print(f"{name}: {figures}, {len(changed)} of {len(before)} queries corrected")
        for query_id, corrected in changed.items():
            shown = ", ".join(f"{each.written} -> {each.searched}" for each in corrected.corrections)
            scores = f"{old.per_query.get(query_id, 0):.3f} -> {new.per_query.get(query_id, 0):.3f}"
            print(f"    {query_id}: {shown} ({scores})")


def latency() -> None:
    rng = random.Random(SEED)
    with throwaway() as daemon, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder, 20_000)
        queries = [each for _, each in zip(range(300), _queries(folder, random.Random(SEED)), strict=False)]
        daemon.add(folder, "docs")
        _latency(daemon, queries, "20,000 documents")
        for path in folder.rglob("*.md"):
            words = " ".join("".join(rng.choices(LETTERS, k=rng.randint(6, 12))) for _ in range(50))
            with path.open("a") as file:
                file.write(f"\n\n{words}\n")
        daemon.call("index.sync")
        _latency(daemon, queries, "and a million words")


def _latency(daemon: Throwaway, queries: list[Edited], label: str) -> None:
    started = time.monotonic()
    daemon.call("search.lexical", query="certifcate", limit=5)
    print(f"{label}: the first correction {time.monotonic() - started:.1f} s")
    took: dict[str, list[float]] = defaultdict(list)
    for each in queries:
        _hits(daemon, each.clean, took["clean, exact"], exact=True)
        _hits(daemon, each.clean, took["clean"])
        _hits(daemon, each.written, took["corrected"])
    for name, values in took.items():
        _print_times(name, values)


def languages(count: int) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        made = Path(name)
        many_languages.write(made, LANGUAGES, DOCUMENTS)
        vault = SHARED / "corpora" / "vaults" / "help"
        _by_language([vault / "en"], {"en": many_languages.words_by_folder(vault)["en"]}, count)
        _by_language([made, vault], many_languages.words_by_folder(vault) | many_languages.words_by_folder(made), count)


def _by_language(folders: Sequence[Path], words: Mapping[str, Sequence[str]], count: int) -> None:
    rng, took = random.Random(SEED), defaultdict[str, list[float]](list)
    with throwaway() as daemon:
        for number, folder in enumerate(folders):
            daemon.add(folder, f"docs{number}")
        daemon.wait_for_postings()
        process = psutil.Process(int(daemon.call("daemon.status")["pid"]))
        for number, language in enumerate(islice(cycle(words), WARM_UP + count)):
            if number == WARM_UP:
                before, took = process.memory_info().rss, defaultdict(list)
            query = " ".join(many_languages.misspelt(rng.choice(words[language]), rng) for _ in range(2))
            with suppress(RuntimeError):  # "the query has no words"
                _hits(daemon, query, took[language])
        grown_mb = (process.memory_info().rss - before) / 1e6
        print(f"{daemon.call('index.status')['documents']:,} documents, load {os.getloadavg()[0]:.1f}")
        print(f"resident before {before / 1e6:.0f} MB, after {count} queries {grown_mb:+.0f} MB")
    _print_times("all", [each for values in took.values() for each in values])
    for language, values in sorted(took.items(), key=lambda item: -percentile(item[1], 0.95)):
        _print_times(language, values)


def _print_times(name: str, took: list[float]) -> None:
    print(f"    {name:<14} p50 {median(took):5.1f} ms  p95 {percentile(took, 0.95):5.1f} ms")


def _queries(folder: Path, rng: random.Random) -> Iterator[Edited]:
    files = sorted(
        each for each in folder.rglob("*") if each.suffix in (".md", ".txt", ".rst", ".py") and each.is_file()
    )
    number = 0
    while True:
        lines = rng.choice(files).read_text(encoding="utf-8", errors="replace").splitlines()
        words = [word.lower() for word in _WORD.findall(rng.choice(lines))] if lines else []
        words = [word for word in words if not is_common(word)]
        count = rng.choice((2, 3, 4))
        if len(words) < count:
            continue
        start = rng.randrange(len(words) - count + 1)
        chosen = words[start : start + count]
        kind = KINDS[number % len(KINDS)]
        written = _edited(chosen, kind, rng)
        if written != chosen and len(set(chosen)) == count:
            yield Edited(" ".join(chosen), " ".join(written), kind)
            number += 1


def _edited(words: list[str], kind: str, rng: random.Random) -> list[str]:
    number = rng.randrange(len(words) - (kind == "join"))
    word = words[number]
    at = rng.randrange(len(word))
    if kind == "join":
        return [*words[:number], word + words[number + 1], *words[number + 2 :]]
    if kind == "split":
        at = rng.randrange(1, len(word))
        return [*words[:number], word[:at], word[at:], *words[number + 1 :]]
    if kind == "swap":
        at = rng.randrange(len(word) - 1)
        word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    elif kind == "insert":
        word = word[:at] + rng.choice(LETTERS) + word[at:]
    else:
        word = word[:at] + rng.choice(LETTERS) * (kind == "replace") + word[at + 1 :]
    return [*words[:number], word, *words[number + 1 :]]


def _hits(daemon: Throwaway, query: str, took: list[float], *, exact: bool = False) -> list[str]:
    result = daemon.call("search.lexical", query=query, limit=5, exact=exact)
    took.append(float(result["took_ms"]))
    return [hit["docid"] for hit in result["hits"]]


def _corrected(index: Index, corrector: Corrector, text: str) -> Corrected:
    return index.database.submit_read(lambda connection: corrector.correct(connection, text)).result()


def _ranking(index: Index, text: str) -> list[tuple[str, float]]:
    def work(connection: Connection) -> list[tuple[str, float]]:
        found = lexical.search(connection, parse_clauses(text), Filters(), limit=100)
        return [(index.ids[each.id], each.score) for each in found.ranked]

    return index.database.submit_read(work).result()


def _row(name: str, found: list[tuple[bool, bool]]) -> None:
    first, five = (sum(each[number] for each in found) / max(len(found), 1) for number in (0, 1))
    print(f"{name:<12} {len(found):>5} queries  same first hit {first:.3f}  within five {five:.3f}")


def main() -> None:
    require_shared()
    command, *arguments = sys.argv[1:] or ["edits"]
    if command == "clean":
        clean(arguments or list(COLLECTIONS))
    elif command == "latency":
        latency()
    elif command == "languages":
        languages(int(arguments[0]) if arguments else 2 * COUNT)
    else:
        folder = Path(arguments[0]) if arguments else SHARED / "corpora" / "dev-docs"
        count = int(arguments[1]) if len(arguments) > 1 else COUNT
        edits(folder, count, int(arguments[2]) if len(arguments) > 2 else SEED)


if __name__ == "__main__":
    main()

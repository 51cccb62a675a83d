"""Measure how well known pages are found in an index with the same pages in several languages. Prints figures.

    .venv/bin/python -m benchmarks.known_items [--hybrid] [--seed N] [--pages N] [FOLDER]

FOLDER (default: ../shared/corpora/vaults/help) has a folder for each language, named by its code; other folders are
English. Some pages of each language are drawn. The queries for a page are its name, its second heading, and both
together. For the default folder, `known_pages.tsv` also has questions in people's own words. Queries that are the same
in several languages are left out.

Prints the mean reciprocal rank among the first ten (RR@10) by language, and in brackets the share of first hits in the
language of the query; then the same English queries with only the English pages in the index. `--hybrid` uses the
multilingual encoder of the tests' cache, and embeds 1,600 documents.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple
from urllib.parse import unquote

from benchmarks.throwaway import SHARED, Throwaway, cached_model, throwaway

_HEADING = re.compile(r"^#{1,6} +(.*\w.*)$", re.MULTILINE)
_MARKS = re.compile(r"[*_`\[\]#|\"]+")
_LANGUAGE = re.compile(r"[a-z]{2}")
_DEPTH = 10
_QUESTIONS = Path(__file__).with_name("known_pages.tsv")
_ENGLISH = "{en,Release notes,Sandbox}/**/*.md"


def language_of(path: str) -> str:
    """Return the language of a page from its first folder; folders without a language code are English."""
    folder = path.partition("/")[0]
    return folder if _LANGUAGE.fullmatch(folder) else "en"


class KnownItem(NamedTuple):
    """`path`: the page that a search should find."""

    kind: str
    query: str
    path: str

    @property
    def language(self) -> str:
        return language_of(self.path)


class ItemRank(NamedTuple):
    """`rank` counts from 1; None if the page is not among the first ten. `first`: the path of the first hit."""

    item: KnownItem
    rank: int | None
    first: str

    @property
    def reciprocal(self) -> float:
        return 1 / self.rank if self.rank else 0.0

    @property
    def is_in_language(self) -> bool:
        return language_of(self.first) == self.item.language


def known_items(folder: Path, pages: int, seed: int) -> list[KnownItem]:
    """Return the queries for `pages` pages of each language, without those that are the same in several languages."""
    every = {language.name: list(_items(folder, language)) for language in _languages(folder)}
    texts = Counter(text for of_pages in every.values() for text in {q.query for page in of_pages for q in page})
    rng = random.Random(seed)
    drawn = [page for of_pages in every.values() for page in rng.sample(of_pages, min(pages, len(of_pages)))]
    return [item for page in drawn for item in page if texts[item.query] == 1]


def _languages(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and _LANGUAGE.fullmatch(path.name))


def _items(folder: Path, language: Path) -> Iterator[list[KnownItem]]:
    """Yield the queries for each page that has a second heading."""
    for path in sorted(language.rglob("*.md")):
        headings = [_MARKS.sub(" ", found).strip() for found in _HEADING.findall(path.read_text())]
        if len(headings) > 1:
            name, heading, found = path.stem, headings[1], str(path.relative_to(folder))
            queries = {"name": name, "heading": heading, "both": f"{name} {heading}"}
            yield [KnownItem(kind, query, found) for kind, query in queries.items()]


def _questions(folder: Path) -> Iterator[KnownItem]:
    for line in _QUESTIONS.read_text().splitlines():
        query, _, path = line.partition("\t")
        if (folder / path).is_file():
            yield KnownItem("question", query, path)


def ranks(items: Sequence[KnownItem], search: Callable[[str], list[str]]) -> list[ItemRank]:
    """Return the rank of each item. `search` returns paths, best first."""
    found = []
    for item in items:
        paths = search(item.query)[:_DEPTH]
        rank = paths.index(item.path) + 1 if item.path in paths else None
        found.append(ItemRank(item, rank, paths[0] if paths else ""))
    return found


def report(found: Sequence[ItemRank]) -> None:
    languages = sorted({each.item.language for each in found})
    for kind in dict.fromkeys(each.item.kind for each in found):
        of_kind = [each for each in found if each.item.kind == kind]
        by_language = {code: [each for each in of_kind if each.item.language == code] for code in languages}
        means = {code: mean([each.reciprocal for each in rows]) for code, rows in by_language.items() if rows}
        own = {code: mean([each.is_in_language for each in rows]) for code, rows in by_language.items() if rows}
        missing = sum(each.rank is None for each in of_kind)
        row = "  ".join(f"{code} {figure:.2f} ({own[code]:.2f})" for code, figure in means.items())
        print(
            f"{kind:<8} mean {mean(means.values()):.3f}  worst {min(means.values()):.3f}  missing {missing}"
            f" of {len(of_kind)}  {row}",
            flush=True,
        )


def _search(daemon: Throwaway, method: str) -> Callable[[str], list[str]]:
    def search(query: str) -> list[str]:
        hits = daemon.call(method, query=query, limit=_DEPTH)["hits"]
        return [unquote(hit["uri"]).removeprefix("gno://").partition("/")[2] for hit in hits]

    return search


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hybrid", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=15)
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED / "corpora" / "vaults" / "help")
    options = parser.parse_args(words)
    if not options.folder.is_dir():
        sys.exit(f"this benchmark needs pages in several languages: the folder {options.folder} does not exist")
    model = cached_model("e5") if options.hybrid else None
    if options.hybrid and model is None:
        sys.exit("this benchmark needs the model of the preset mini-multilingual: run `make test-slow` once")
    items = [*known_items(options.folder, options.pages, options.seed), *_questions(options.folder)]
    english = [item for item in items if item.language == "en"]
    print("all languages")
    _measure(options.folder, items, model)
    print("only the English pages")
    _measure(options.folder, english, model, pattern=_ENGLISH)
    return 0


def _measure(folder: Path, items: Sequence[KnownItem], model: Path | None, pattern: str = "**/*.md") -> None:
    config = f'version: "1.0"\nmodels:\n  embed: "file:{model}"\n' if model else None
    with throwaway(config) as daemon:
        daemon.call("collection.add", path=str(folder), name="pages", pattern=pattern)
        daemon.call("index.sync", collections=["pages"])
        daemon.wait_for_postings()
        if model:
            daemon.call("index.embed")
        report(ranks(items, _search(daemon, "search.query" if model else "search.lexical")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

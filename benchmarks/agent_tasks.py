"""How many tokens an agent reads until it has the right lines: with the tools, and with grep and whole files.

.venv/bin/python -m benchmarks.agent_tasks

Both agents are scripts. One searches with `search`, then reads 400 tokens at each hit in turn; what `search` prints
counts too. The other greps for the words of the question, and reads whole files, those with most of the rare words
first. Right lines are those that contain the text in `agent_tasks.tsv`. A task at which the tools fail counts as the
worst.
"""

from __future__ import annotations

import asyncio
import csv
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.throwaway import SHARED, Throwaway, percentile, throwaway
from gnoctl.mcp.arguments import read
from gnoctl.mcp.tools import CORE
from gnod.client import AsyncClient
from gnod.paths import resolve
from gnod.types import estimated_tokens

CORPORA = {"dev-docs": SHARED / "corpora/dev-docs", "help": SHARED / "corpora/vaults/help"}
TASKS = Path(__file__).with_suffix(".tsv")
_WINDOW_TOKENS = 400
_TEXTS = {".md", ".rst", ".txt", ".ipynb", ".base", ".canvas"}
_PLACE = re.compile(r"^\d+\. (gno://\S+?)(?::(\d+)(?:-\d+)?)?, score", re.MULTILINE)
_TOOLS = {tool.name: tool for tool in CORE}


async def with_tools(daemon: AsyncClient, corpus: str, question: str, needle: str) -> int | None:
    """Return the tokens read until the right lines are there; None if they were not found."""

    async def call(name: str, **arguments: object) -> str:
        tool = _TOOLS[name]
        return await tool.run(daemon, read(name, arguments, tool.arguments), None)

    found = await call("search", query=question, collections=[corpus])
    tokens = estimated_tokens(found)
    if needle in found:
        return tokens
    for address, line in _PLACE.findall(found):
        start = max(int(line or 1) - 5, 1)
        page = await call("read", refs=[address], start_line=start, tokens=_WINDOW_TOKENS)
        tokens += estimated_tokens(page)
        if needle in page:
            return tokens
    return None


def with_grep(texts: dict[str, str], question: str, needle: str) -> int | None:
    """As `with_tools`. The files with most of the question's words come first, weighted by how rare a word is."""
    words = set(re.findall(r"\w{4,}", question.lower()))
    having = {word: {path for path, text in texts.items() if word in text.lower()} for word in words}
    scores = {path: sum(1 / len(having[word]) for word in words if path in having[word]) for path in texts}
    tokens = 0
    for path in sorted(filter(lambda each: scores[each], scores), key=lambda each: (-scores[each], each)):
        tokens += estimated_tokens(texts[path])
        if needle in texts[path]:
            return tokens
    return None


def texts_of(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.suffix in _TEXTS and path.is_file())
    return {str(path.relative_to(folder)): path.read_text(errors="replace") for path in files}


async def measure(rows: Iterable[tuple[str, str, str]]) -> None:
    texts = {name: texts_of(folder) for name, folder in CORPORA.items()}
    daemon = AsyncClient(resolve(), start=False)
    shares: list[float] = []
    for corpus, question, needle in rows:
        ours, theirs = await with_tools(daemon, corpus, question, needle), with_grep(texts[corpus], question, needle)
        print(f"{ours or 'not found':>9} {theirs or 'not found':>9}  {question}")
        if theirs:
            shares.append(ours / theirs if ours else float("inf"))
    await daemon.close()
    print(f"{len(shares)} tasks: median {percentile(shares, 0.5):.0%} of the tokens of grep")


def indexed(daemon: Throwaway) -> None:
    for name, folder in CORPORA.items():
        daemon.add(folder.resolve(), name)
    daemon.wait_for_postings()


def main() -> None:
    if missing := [str(folder) for folder in CORPORA.values() if not folder.is_dir()]:
        sys.exit(f"this benchmark needs real files: {', '.join(missing)} does not exist")
    with TASKS.open(newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    with throwaway("models: {preset: none}\n") as daemon:
        indexed(daemon)
        os.environ.update(daemon.environment)
        asyncio.run(measure([(corpus, question, needle) for corpus, question, needle in rows]))


if __name__ == "__main__":
    main()

"""Count the tokens that an agent reads until it has the right lines, with the MCP server and with grep. Prints figures.

.venv/bin/python -m benchmarks.agent_tasks [--minutes 30]

Both agents are scripts. The first agent uses the official client over HTTP. `agent_tasks.tsv` has these kinds of tasks:

- find: search, then read 400 tokens at each hit in turn.
- read: search, then read the section of each hit.
- follow: search, list the links of each hit, then read the three that share most words with the question.
- cite: like find, until a numbered line has the text, and the file has that line at this number.
- ask: collect evidence, then continue like find.

If that is not enough, the agent reads the complete hits. All output of the tools counts until it contains the text of
the task. The second agent greps for the words of the question and reads whole files; files with most of the rare words
come first. A task at which the tools fail counts as the worst. The tasks run without a model and then with MiniLM;
--minutes limits the wait for its vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from mcp_types import TextContent

from benchmarks.agents_over_http import agent, bridge
from benchmarks.throwaway import SHARED, cached_model, percentile, throwaway
from gnod.types import estimated_tokens

CORPORA = {"dev-docs": SHARED / "corpora/dev-docs", "help": SHARED / "corpora/vaults/help"}
_WINDOW_TOKENS, _SECTION_TOKENS, _PACKET_TOKENS, _ALL_TOKENS = 400, 1000, 1000, 20_000
_FOLLOWED = 3
_TEXTS = {".md", ".rst", ".txt", ".ipynb", ".base", ".canvas"}
_HIT = re.compile(r"^\d+\. (gno://\S+?)(?::(\d+)(?:-\d+)?)?, score [^\n,]*(?:, in (.*))?$", re.MULTILINE)
_LINK = re.compile(r"^line \d+ -> (gno://\S+)(.*(?:\n   \|.*)*)", re.MULTILINE)


class Task(NamedTuple):
    """`text`: a part of the lines that the agent needs."""

    kind: str
    corpus: str
    question: str
    text: str


Call = Callable[..., Awaitable[str]]
Pages = AsyncIterator[str]


async def _find(call: Call, task: Task) -> Pages:
    found = await call("search", query=task.question, collections=[task.corpus])
    yield found
    for address, line, _ in _HIT.findall(found):
        start = max(int(line or 1) - 5, 1)
        yield await call("read", refs=[address], start_line=start, tokens=_WINDOW_TOKENS)


async def _read(call: Call, task: Task) -> Pages:
    found = await call("search", query=task.question, collections=[task.corpus])
    yield found
    for address, _, heading in _HIT.findall(found):
        ref = f"{address}#{heading}" if heading else address
        yield await call("read", refs=[ref], tokens=_SECTION_TOKENS)


async def _follow(call: Call, task: Task) -> Pages:
    found = await call("search", query=task.question, collections=[task.corpus])
    yield found
    words, followed = set(_words(task.question)), set[str]()
    for address, *_ in _HIT.findall(found):
        listed = await call("links", what="links", ref=address)
        yield listed
        links = sorted(_LINK.findall(listed), key=lambda link: -len(words & set(_words(" ".join(link)))))
        for target, _ in [each for each in dict(links).items() if each[0] not in followed][:_FOLLOWED]:
            followed.add(target)
            yield await call("read", refs=[target], tokens=_WINDOW_TOKENS)


async def _ask(call: Call, task: Task) -> Pages:
    yield await call("evidence", question=task.question, collections=[task.corpus], tokens=_PACKET_TOKENS)
    async for page in _find(call, task):
        yield page


_KINDS = {"find": _find, "read": _read, "follow": _follow, "cite": _find, "ask": _ask}


async def _patiently(call: Call, task: Task) -> Pages:
    """Use the tools, and finally read the complete hits, as the other agent does."""
    pages = []
    async for page in _KINDS[task.kind](call, task):
        pages.append(page)
        yield page
    for address in dict.fromkeys(address for address, *_ in _HIT.findall("\n".join(pages))):
        yield await call("read", refs=[address], tokens=_ALL_TOKENS)


async def with_tools(call: Call, task: Task) -> int | None:
    """Return the number of tokens read until the right lines were found; None if they were not found."""
    tokens = 0
    is_right = _is_cited if task.kind == "cite" else _is_there
    async for page in _patiently(call, task):
        tokens += estimated_tokens(page)
        if is_right(page, task):
            return tokens
    return None


def _is_there(page: str, task: Task) -> bool:
    return task.text in page


def _is_cited(page: str, task: Task) -> bool:
    """Tell whether a line with the text is in the file at the number that the page names."""
    numbers = [int(number) for number, line in re.findall(r"^(\d+)\|(.*)$", page, re.MULTILINE) if task.text in line]
    if not numbers:
        return False
    path = unquote(page.removeprefix(f"gno://{task.corpus}/").split(" lines ")[0])
    return task.text in (CORPORA[task.corpus] / path).read_text().split("\n")[numbers[0] - 1]


def with_grep(texts: dict[str, str], task: Task) -> int | None:
    """Do the task with grep and return the same as `with_tools`. Files with most words of the question come first; rare
    words weigh more."""
    words = set(_words(task.question))
    having = {word: {path for path, text in texts.items() if word in text.lower()} for word in words}
    scores = {path: sum(1 / len(having[word]) for word in words if path in having[word]) for path in texts}
    tokens = 0
    for path in sorted(filter(lambda each: scores[each], scores), key=lambda each: (-scores[each], each)):
        tokens += estimated_tokens(texts[path])
        if task.text in texts[path]:
            return tokens
    return None


def _words(text: str) -> list[str]:
    return re.findall(r"\w{4,}", text.lower())


def texts_of(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.suffix in _TEXTS and path.is_file())
    return {str(path.relative_to(folder)): path.read_text(errors="replace") for path in files}


async def measure(url: str, authorization: str, mode: str, tasks: list[Task]) -> None:
    texts = {name: texts_of(folder) for name, folder in CORPORA.items()}
    shares: list[float] = []
    async with agent(url, authorization) as client:

        async def call(name: str, **arguments: object) -> str:
            asked = arguments | ({"mode": mode} if name == "search" else {})
            (block,) = (await client.call_tool(name, asked)).content
            assert isinstance(block, TextContent)
            return block.text

        for task in tasks:
            ours, theirs = await with_tools(call, task), with_grep(texts[task.corpus], task)
            print(f"{ours or 'not found':>9} {theirs or 'not found':>9}  {task.kind:6} {task.question}", flush=True)
            if theirs:
                shares.append(ours / theirs if ours else float("inf"))
    worst = [share for share in shares if share == float("inf")]
    print(f"{mode}: {len(shares)} tasks, {len(worst)} not found; median {percentile(shares, 0.5):.1%} of grep's tokens")


def run(config: str, mode: str, tasks: list[Task], minutes: float) -> None:
    with throwaway(config) as daemon:
        for name, folder in CORPORA.items():
            daemon.add(folder.resolve(), name)
        daemon.wait_for_postings()
        if mode == "hybrid":
            print(daemon.wait_for_vectors(minutes))
        process = bridge(daemon)
        try:
            assert process.stdout
            url, authorization = (process.stdout.readline().strip() for _ in range(2))
            asyncio.run(measure(url, authorization.removeprefix("Authorization: "), mode, tasks))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args()
    if missing := [str(folder) for folder in CORPORA.values() if not folder.is_dir()]:
        sys.exit(f"this benchmark needs real files: {', '.join(missing)} does not exist")
    with Path(__file__).with_suffix(".tsv").open(newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    tasks = [Task(*row) for row in rows]
    run("models: {preset: none}\n", "keyword", tasks, 0)
    if model := cached_model():
        run(f'models:\n  preset: none\n  embed: "file:{model}"\n', "hybrid", tasks, options.minutes)


if __name__ == "__main__":
    main()

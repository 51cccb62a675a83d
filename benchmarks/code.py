"""Measure whether chunks keep definitions in one piece, and whether questions about code find the right place.

python -m benchmarks.code pieces FOLDER…
    Print the share of definitions, smaller than a chunk, that are in one chunk, by language: with chunks of code, and
    with chunks of prose. For Python, also with the definitions of the standard library's parser.
python -m benchmarks.code questions FOLDER [--command search|vsearch|query]
    Send the questions of benchmarks/code_questions about the files of FOLDER to the daemon of this environment. Print
    the share of right files and right definitions at 1 and 5. The standard library's parser looks up definitions by
    the line of the hit.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from gnod.ingest.code import source
from gnod.ingest.code.languages import by_path
from gnod.ingest.code.structure import structure
from gnod.ingest.text.canonical import canonicalise
from gnod.ingest.text.chunking import MAX_CHARACTERS, ChunkText, cut
from gnod.ingest.text.outline import outline

QUESTIONS = Path(__file__).parent / "code_questions" / "questions.tsv"
MOST_FILES = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("pieces").add_argument("folders", nargs="+", type=Path)
    asked = commands.add_parser("questions")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--command", default="search")
    arguments = parser.parse_args()
    if arguments.what == "pieces":
        _print_pieces(arguments.folders)
    else:
        _print_answers(arguments.folder, arguments.command)


def _print_pieces(folders: Sequence[Path]) -> None:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()):
        language = by_path(path.name)
        if language is None or counts[language.name]["files"] >= MOST_FILES:
            continue
        text = canonicalise(path.read_text("utf-8", "replace"))
        found, code = structure(text, language), source.read(text, language.mime, path.name)
        count = counts[language.name]
        count["files"] += 1
        if found is None or code is None:
            count["text"] += 1
            continue
        prose = cut(text, outline(text, "plain"))
        ranges = [(each.start, each.end) for each in found.definitions if not each.is_scope]
        _count(count, "", text, ranges, code.passages, prose)
        if language.name == "python":
            _count(count, "ast ", text, list(_by_standard_library(text)), code.passages, prose)
    print("| language | files | read as text | definitions | in one piece | cut as prose | chunks | cut as prose |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, count in sorted(counts.items()):
        for kind in ("", "ast "):
            if total := count[f"{kind}definitions"]:
                shares = [f"{count[f'{kind}{which}'] / total:.3f}" for which in ("whole", "whole prose")]
                figures = [count["files"], count["text"], total, *shares, count["chunks"], count["chunks prose"]]
                print(f"| {name}{' (ast)' if kind else ''} | {' | '.join(map(str, figures))} |")


def _count(
    count: Counter[str],
    kind: str,
    text: str,
    ranges: Sequence[tuple[int, int]],
    passages: Sequence[ChunkText],
    prose: Sequence[ChunkText],
) -> None:
    small = [(start, len(text[:end].rstrip())) for start, end in ranges if end - start < MAX_CHARACTERS]
    count[f"{kind}definitions"] += len(small)
    count[f"{kind}whole"] += sum(_is_whole(each, passages) for each in small)
    count[f"{kind}whole prose"] += sum(_is_whole(each, prose) for each in small)
    if not kind:
        count["chunks"] += len(passages)
        count["chunks prose"] += len(prose)


def _is_whole(place: tuple[int, int], passages: Sequence[ChunkText]) -> bool:
    return any(passage.start <= place[0] and place[1] <= passage.end for passage in passages)


def _by_standard_library(text: str) -> Iterator[tuple[int, int]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.end_lineno:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield starts[first - 1], min(starts[node.end_lineno], len(text))


def _print_answers(folder: Path, command: str) -> None:
    rows = [line.split("\t") for line in QUESTIONS.read_text("utf-8").splitlines()]
    found: Counter[str] = Counter()
    for path, definition, question in rows:
        asked = ["search" if command == "search" else command, question, "-n", "5", "--json"]
        answered = subprocess.run(
            [sys.executable, "-m", "gnoctl", *asked], capture_output=True, text=True, check=True
        ).stdout
        hits = json.loads(answered)["hits"]
        places = [(hit["path"], _definition_at(folder / hit["path"], hit["line"])) for hit in hits]
        for depth in (1, 5):
            found[f"file at {depth}"] += path in [each for each, _ in places[:depth]]
            found[f"definition at {depth}"] += (path, definition) in places[:depth]
    print(f"{len(rows)} questions, {command}:", ", ".join(f"{what} {n / len(rows):.2f}" for what, n in found.items()))


def _definition_at(path: Path, line: int) -> str | None:
    """Return the qualified name of the function, method or class around a line, such as `Class.method`."""
    names: list[str] = []
    nodes: list[ast.stmt] = list(ast.parse(path.read_text("utf-8")).body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.end_lineno:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first <= line <= node.end_lineno:
                names.append(node.name)
                nodes = list(node.body)
    return ".".join(names) or None


if __name__ == "__main__":
    main()

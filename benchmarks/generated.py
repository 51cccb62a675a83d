"""Measure answers of small models: how often a checked answer is right, compared with the first quote. Prints a table.

    .venv/bin/python -m benchmarks.generated MODEL.gguf... [--questions N] [--tokens N] [--seconds S]

Revises the smallest model that is called without being asked for (`gnod.answers.query_models:MIN_PARAMETERS`): a
model is worth calling if its answers are right about as often as the first quote, and if it is silent when the
documents do not say.

For each collection, N random questions are asked twice: with their document in the index, and without it and its
copies. Questions about samples/ are asked once, with all documents; some of them have no answer. `right`: the checked
answer contains the known answer; `wrong`: a checked answer does not contain it (it may be right in other words);
`invented`: there is a checked answer without the document. After S seconds per model, no more questions are asked.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import sample_questions
from benchmarks.throwaway import REPOSITORY, SHARED, Throwaway, cached_model, require_shared, throwaway
from gnod.models.run import gguf_header

COLLECTIONS = ("squad-en", "xquad-de")
_OTHERS = 200


class Question(NamedTuple):
    """`files`: the files with the document that answers the question, and with its copies."""

    collection: str
    text: str
    answers: list[str]
    files: list[Path]


class Figures(Counter[str]):
    """Counts of one model and one collection."""

    def row(self, name: str) -> str:
        present, absent = self["present"], self["absent"]
        shares = [f"{self[each]} of {present}" for each in ("quote", "right", "wrong")]
        seconds = self["ms"] / 1000 / max(present + absent, 1)
        cells = [name, *shares, f"{self['invented']} of {absent}", str(self["repetition"]), f"{seconds:.0f} s"]
        return f"| {' | '.join(cells)} |"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL.gguf")
    parser.add_argument("--questions", type=int, default=8, help="number of questions from each collection")
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--seconds", type=float, default=900.0, help="time limit for each model")
    parser.add_argument("--said", type=Path, help="write all results into this file, one JSON object a line")
    options = parser.parse_args(words)
    require_shared()
    print(
        "| model, collection | first quote | right | wrong | invented | loops | time |\n|---|---|---|---|---|---|---|"
    )
    for model in options.models:
        size = gguf_header.parameters(model) / 1e9
        with throwaway() as daemon, tempfile.TemporaryDirectory(prefix="gnod-bench-") as folder:
            found = _measure(daemon, Path(folder), model.resolve(), options)
        for collection, figures in found.items():
            print(figures.row(f"{model.stem} ({size:.2f} billion), {collection}"), flush=True)
    return 0


def _measure(daemon: Throwaway, folder: Path, model: Path, options: argparse.Namespace) -> dict[str, Figures]:
    questions = [each for name in COLLECTIONS for each in _written(folder / name, name, options.questions)]
    _configure(daemon, model)
    for name in COLLECTIONS:
        daemon.add(folder / name, name)
    daemon.add(REPOSITORY / "samples", "samples")
    questions += [Question("samples", each.question, [each.holds], []) for each in sample_questions.ANSWERED]
    absent = [Question("samples", each.question, [], []) for each in sample_questions.NOT_ANSWERED]
    random.Random(1).shuffle(questions)
    daemon.gnoctl("embed")
    found: dict[str, Figures] = defaultdict(Figures)
    half = time.monotonic() + options.seconds / 2
    asked = [each for each in questions if time.monotonic() < half and _ask(daemon, each, found, options, present=True)]
    absent += [each for each in asked if each.files]
    for each in absent:
        for path in each.files:
            path.unlink(missing_ok=True)
    daemon.call("index.sync")
    end = time.monotonic() + options.seconds / 2
    for each in absent:
        if time.monotonic() < end:
            _ask(daemon, each, found, options, present=False)
    return found


def _ask(
    daemon: Throwaway, asked: Question, found: dict[str, Figures], options: argparse.Namespace, *, present: bool
) -> bool:
    params = {"question": asked.text, "collections": [asked.collection], "max_tokens": options.tokens}
    result = daemon.call("ask.answer", **params, generate=True, explain=True)
    figures = found[asked.collection]
    figures["present" if present else "absent"] += 1
    figures["ms"] += round(result["took_ms"])
    figures["repetition"] += result["finish"] == "repetition"
    if present:
        figures["quote"] += any(_holds(quote["text"], asked.answers) for quote in result["quotes"][:1])
        figures["right"] += _holds(result["answer"], asked.answers)
        figures["wrong"] += result["answered"] and not _holds(result["answer"], asked.answers)
    else:
        figures["invented"] += result["answered"]
    if options.said:
        with options.said.open("a") as file:
            file.write(json.dumps({**asked._asdict(), "files": [], "present": present, **_short(result)}) + "\n")
    return True


def _short(result: dict[str, Any]) -> dict[str, Any]:
    stages = {stage["stage"]: stage for stage in result["explain"]["stages"]}
    kept = {name: result[name] for name in ("answered", "reason", "answer", "finish", "tokens", "took_ms")}
    said = stages.get("answer", {}).get("said", "")
    return kept | {"said": said, "quote": [quote["text"] for quote in result["quotes"][:1]]}


def _holds(text: str, answers: Sequence[str]) -> bool:
    return any(" ".join(answer.split()) in " ".join(text.split()) for answer in answers)


def _configure(daemon: Throwaway, model: Path) -> None:
    daemon.gnoctl("daemon", "stop")
    embed = cached_model()
    config = daemon.folder / "config" / "index.yml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(
        f'version: "1.0"\nmodels:\n  preset: mini\n  embed: "file:{embed}"\n  answer: "file:{model}"\n'
        "  expand: none\n  rerank: none\n"
    )
    daemon.gnoctl("daemon", "start")


def _written(folder: Path, name: str, count: int) -> Iterator[Question]:
    """Write the documents of some questions and further documents as files; yield the questions."""
    chance = random.Random(1)
    source = SHARED / "collections" / name
    documents = {each["_id"]: each for each in map(json.loads, (source / "corpus.jsonl").open())}
    questions = {each["_id"]: each["text"] for each in map(json.loads, (source / "queries.jsonl").open())}
    answers: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with (source / "answers.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            answers[row["query-id"]].append((row["corpus-id"], row["answer"]))
    chosen = chance.sample(sorted(answers), min(count, len(answers)))
    golden = {document for each in chosen for document, _ in answers[each]}
    others = chance.sample(sorted(documents), min(_OTHERS, len(documents)))
    folder.mkdir(parents=True)
    paths: dict[str, list[Path]] = defaultdict(list)
    for number, document in enumerate(sorted({*golden, *others})):
        text = documents[document]["text"]
        path = folder / f"{number:04d}.md"
        title = documents[document].get("title")
        path.write_text(f"# {title}\n\n{text}\n" if title else f"{text}\n")
        paths[text].append(path)
    for each in chosen:
        texts = {documents[document]["text"] for document, _ in answers[each]}
        holders = [path for text in texts for path in paths[text]]
        yield Question(name, questions[each], [answer for _, answer in answers[each]], holders)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

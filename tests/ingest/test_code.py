"""Test source code: definitions, chunks that follow them, and texts that are not really code."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from gnod.ingest.code import source
from gnod.ingest.code.languages import BY_MIME, BY_NAME, LANGUAGES, by_path
from gnod.ingest.code.source import SourceCode, module_of
from gnod.ingest.code.structure import MAX_CHARACTERS as MAX_PARSED
from gnod.ingest.code.structure import MAX_DEFINITIONS, structure
from gnod.ingest.text.canonical import canonicalise
from gnod.ingest.text.chunking import MAX_CHARACTERS

# A text and its definitions for each language.
SAMPLES = {
    "a.py": (
        "import re\n\n# How it waits.\n@cache\ndef backoff(n: int) -> float:\n    return 2.0 ** n\n\n"
        "class Retry:\n    async def run(self) -> None:\n        def inner() -> None:\n            pass\n",
        "function backoff; class Retry; method Retry.run; function Retry.run.inner",
    ),
    "a.js": (
        "const wait = (ms) => new Promise((r) => setTimeout(r, ms));\nexport default class Retry {\n  run() {}\n"
        "  later = () => {\n    this.run();\n  };\n}\nmodule.exports.stop = function () {\n};\n",
        "function wait; class Retry; method Retry.run; method Retry.later; function stop",
    ),
    "a.jsx": ("function Berth({ name }) {\n  return <b>{name}</b>;\n}\n", "function Berth"),
    "a.ts": (
        "export interface Berth {\n  id: number;\n}\nenum Side { Port }\ntype Id = string;\n"
        "abstract class Boat<T> {\n  abstract moor(berth: T): void;\n  sail(): void {}\n}\n",
        "interface Berth; enum Side; type Id; class Boat; method Boat.moor; method Boat.sail",
    ),
    "a.tsx": ("export const Berth = ({ id }: Props) => {\n  return <b>{id}</b>;\n};\n", "function Berth"),
    "a.go": (
        "package net\n\ntype Server struct {\n\tport int\n}\n\ntype Runner interface{ Run() }\n\n"
        "// Start listens.\nfunc (s *Server) Start() error {\n\treturn nil\n}\n\nfunc main() {}\n",
        "struct Server; interface Runner; method Server.Start; function main",
    ),
    "a.rs": (
        "#[derive(Debug)]\npub struct Ring<T> {\n    items: Vec<T>,\n}\n\nimpl<T> Drop for Ring<T> {\n"
        "    fn drop(&mut self) {}\n}\n\nmod tests {\n    fn fills() {}\n}\nmacro_rules! tide { () => {} }\n",
        "struct Ring; method Ring.drop; function tests.fills; macro tide",
    ),
    "a.c": (
        "#define MIN(a, b) ((a) < (b) ? (a) : (b))\nstruct node {\n  int key;\n};\ntypedef unsigned tide_t;\n"
        "static char *name_of(struct node *n) {\n  return 0;\n}\n",
        "macro MIN; struct node; type tide_t; function name_of",
    ),
    "a.h": ("#pragma once\nnamespace tide {\nclass Gauge {\npublic:\n  int level() { return 1; }\n};\n}\n", None),
    "a.cpp": (
        "namespace tide {\ntemplate <typename T>\nclass Ring {\npublic:\n  int size() const { return 0; }\n};\n}\n"
        "int &tide::Ring::front() {\n  return x;\n}\n",
        "class tide.Ring; method tide.Ring.size; method tide.Ring.front",
    ),
    "A.java": (
        "package net;\n\npublic class Retry {\n    enum Mode { FAST }\n\n"
        "    @Override\n    public void run() {\n    }\n}\n",
        "class Retry; enum Retry.Mode; method Retry.run",
    ),
    "a.cs": (
        "namespace Net {\n    public record Berth(int Id);\n    class Retry {\n        int Count { get; set; }\n"
        "        void Run() { }\n    }\n}\n",
        "class Net.Berth; class Net.Retry; property Net.Retry.Count; method Net.Retry.Run",
    ),
    "a.rb": (
        "module Net\n  class Retry < Base\n    def run(times)\n      times\n    end\n"
        "    def self.stop; end\n  end\nend\n",
        "module Net; class Net.Retry; method Net.Retry.run; method Net.Retry.stop",
    ),
    "a.php": (
        "<?php\nnamespace Net;\ninterface Runs {\n}\nclass Retry {\n    public function run(): void {\n    }\n}\n"
        "function stop() {\n}\n",
        "interface Runs; class Retry; method Retry.run; function stop",
    ),
    "a.sh": ("#!/bin/sh\n# Waits.\nbackoff() {\n  sleep 1\n}\n", "function backoff"),
}


def read(text: str, path: str = "src/a.py") -> SourceCode | None:
    language = by_path(path)
    assert language is not None
    return source.read(canonicalise(text), language.mime, path)


@pytest.mark.parametrize("path", SAMPLES)
def test_definitions_of_each_language(path: str) -> None:
    text, expected = SAMPLES[path]
    found = structure(canonicalise(text), by_path(path) or LANGUAGES[0])
    assert found is not None
    shown = "; ".join(f"{d.kind} {'.'.join((*d.path, d.name))}" for d in found.definitions if not d.is_scope)
    assert shown == (expected or "class tide.Gauge; method tide.Gauge.level")


def test_every_language_has_a_sample() -> None:
    assert {language.name for path in SAMPLES if (language := by_path(path))} == set(BY_NAME)


def test_a_definition_is_one_chunk_with_what_is_above_it() -> None:
    body = "".join(f"    value += step({number})  # and on it goes\n" for number in range(40))
    text = "".join(f"# About number {n}.\n@cached\ndef function_{n}():\n{body}\n" for n in range(5))
    code = read(text)
    assert code is not None
    assert [p.heading for p in code.passages] == [f"a > function_{n}" for n in range(5)]
    assert all(text[p.start :].startswith("# About") for p in code.passages)


def test_small_neighbours_share_a_chunk() -> None:
    code = read("\n\n".join(f"def function_{n}():\n    return {n}\n" for n in range(20)))
    assert code is not None
    assert [p.heading for p in code.passages] == ["a"]


def test_a_large_class_is_divided_into_its_methods() -> None:
    body = "".join(f"        self.total += {number} * self.factor\n" for number in range(30))
    methods = "\n".join(f"    def method_{n}(self):\n{body}" for n in range(6))
    code = read(f'class Sums:\n    """Adds."""\n\n{methods}')
    assert code is not None
    assert [p.heading for p in code.passages] == [f"a > Sums > method_{n}" for n in range(6)]


def test_a_large_function_is_cut_between_statements() -> None:
    block = "    if ready:\n" + "".join(f"        emit({number}, 'some text')\n" for number in range(30)) + "\n"
    text = canonicalise("def run():\n" + block * 12)
    code = read(text)
    assert code is not None
    assert len(code.passages) > 3
    assert {p.heading for p in code.passages} == {"a > run"}
    ends = [text[p.end :].lstrip("\n").partition("\n")[0] for p in code.passages[:-1]]
    assert all(line.startswith("    if ready") for line in ends)


def test_an_edit_changes_only_the_chunk_around_it() -> None:
    body = "".join(f"    value += step({number})  # and on it goes\n" for number in range(30))
    text = "\n".join(f"def function_{n}():\n{body}" for n in range(30))
    before, after = read(text), read(text.replace("def function_7():", "def function_7():\n    print()"))
    assert before is not None
    assert after is not None
    new = text.replace("def function_7():", "def function_7():\n    print()")
    chunks = {text[p.start : p.end] for p in before.passages}
    assert len({new[p.start : p.end] for p in after.passages} - chunks) == 1


def test_a_module_is_named_by_its_file() -> None:
    assert [module_of(path) for path in ("a/b.test.ts", "net/__init__.py", "index.js", ".hidden.py")] == [
        "b",
        "net",
        "index",
        ".hidden.py",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("function a(){return 1};" * 2000, id="one line"),
        pytest.param("var a=1;\n" + "b" * 5000 + "\n", id="a long line"),
        pytest.param(("x=" + "f(y)+" * 60 + "1;\n") * 50, id="long lines"),
        pytest.param("The quick brown fox ((( jumps { over ] the lazy dog\n" * 50, id="prose"),
        pytest.param("function f() {}\n" * (MAX_PARSED // 16 + 1), id="too long"),
    ],
)
def test_code_that_people_did_not_write_is_text(text: str) -> None:
    assert read(text, "bundle.js") is None


def test_code_with_errors_is_code() -> None:
    text = "def good():\n    return 1\n\n<<<<<<< HEAD\nprint 'old'\n=======\n\ndef other():\n    return 2\n"
    found = structure(text, BY_NAME["python"])
    assert found is not None
    assert [d.name for d in found.definitions] == ["good", "other"]


def test_names_and_places_in_other_scripts() -> None:
    text = "# Größe: 😀\ndef größe():\n    return '日本'\n\nclass Straße:\n    pass\n"
    found = structure(text, BY_NAME["python"])
    assert found is not None
    assert [(d.name, text[d.lead : d.end].partition("\n")[0]) for d in found.definitions] == [
        ("größe", "# Größe: 😀"),
        ("Straße", "class Straße:"),
    ]


def test_the_language_is_detected_from_comments() -> None:
    found = structure(
        'def f():\n    """Berechnet die Gebühren."""\n' + "    # Der Liegeplatz kostet mehr.\n" * 8, BY_NAME["python"]
    )
    assert found is not None
    assert found.prose.startswith("Berechnet die Gebühren.\nDer Liegeplatz")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("a.c", "((((\n" * 60_000, id="brackets that are not closed"),
        pytest.param("a.py", "x = " + "[\n" * 10_000 + "]\n" * 10_000, id="10,000 nested brackets"),
        pytest.param("a.js", "function f() {\n" * 3_000 + "}\n" * 3_000, id="3,000 nested functions"),
        pytest.param("a.go", "func f() {}\n" * 25_000, id="25,000 definitions"),
        pytest.param("a.py", "def f(): pass\n" * 1_000_000, id="a million definitions"),
        pytest.param("a.rb", "x = '" + "a" * 5_000_000 + "'\n", id="a line of 5 MB"),
    ],
)
def test_any_text_is_read_within_bounds(path: str, text: str) -> None:
    started = time.process_time()
    code = read(text, path)
    assert time.process_time() - started < 20
    if code is not None:
        assert all(p.end - p.start <= MAX_CHARACTERS for p in code.passages)
        assert len(code.passages) <= MAX_DEFINITIONS


@pytest.mark.slow
def test_grammars_are_loaded_only_for_code() -> None:
    program = "import sys, gnod.ingest.prepare, gnod.ingest.formats.registry; print('tree_sitter' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


def test_mimes_are_unique() -> None:
    assert len(BY_MIME) == len(LANGUAGES)

"""Two parsers, one meaning; and what a faulty command line is told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnoctl import app
from gnoctl.arguments import fastparse
from gnoctl.arguments.options import specs
from gnoctl.command import Parsed
from gnoctl.commands import NAMES, load
from gnod.errors import UsageError
from tests.client.conftest import Gnoctl

WORDS = [
    *("search", "get", "ls", "collection", "add", "remove", "rm", "daemon", "logs", "status"),
    *("foo", "bar baz", "-", "--", "", "-bar", "0", "5", "-5", "1.5", "x", "1_0", " 7", "nan"),
    *("-n", "-n5", "-n=5", "--limit", "--limit=5", "--limit=", "-q", "-qn5", "--quiet", "--quiet=1", "-f"),
    *(
        "-c",
        "-cnotes",
        "--collection=a,b",
        "--json",
        "--csv",
        "--index",
        "--index=w",
        "--min-score",
        "--lines",
    ),
    *("--from", "-l", "--no-start", "--version", "--nope", "--name", "null"),
]


def by_typer(words: list[str]) -> Parsed | int | None:
    try:
        return app.parse(words)
    except UsageError:
        return None


@pytest.mark.slow
@settings(max_examples=60)
@given(st.sampled_from(["search", "similar", "get", "ls", "collection add", "daemon logs", ""]), st.data())
def test_the_fast_parser_accepts_only_what_typer_reads_the_same_way(command: str, data: st.DataObject) -> None:
    words = [*command.split(), *data.draw(st.lists(st.sampled_from(WORDS), max_size=6))]
    fast = fastparse.parse(words)
    if fast is not None:
        assert fast == by_typer(words)


@pytest.mark.parametrize(
    "line",
    [
        "search deploy to production",
        "search --index work -n5 --limit=7 x -c a -c b,c --min-score 0.25 --full -q",
        "--index work --no-start search -- -n 5",
        "vsearch what to do -c a --min-score 0.7 --explain",
        "similar #a1b2c3 -n 3 --files",
        "get #a1b2c3 --from 3 -l 20 --line-numbers",
        "multi-get a b --max-bytes 100",
        "ls notes --offset 5",
        "collection add . --name n --include md,txt --exclude a --update cmd --egress any --no-gitignore",
        "collection rm notes",
        "context add / all of it",
        "daemon logs -n 5 -f",
        "mcp",
        "mcp install --agent zed --dry-run",
        "index",
        "init",
        "update a b --json",
    ],
)
def test_everyday_command_lines_take_the_fast_path(line: str) -> None:
    fast = fastparse.parse(line.split())
    assert fast is not None
    assert fast == by_typer(line.split())


@pytest.mark.parametrize("line", ["search", "search x --help", "search x -n 0", "search x -n", "nope", "", "daemon"])
def test_the_unusual_is_left_to_typer(line: str) -> None:
    assert fastparse.parse(line.split()) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_command_explains_its_options(name: str, gnoctl: Gnoctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    outcome = gnoctl(*name.split(), "--help")
    assert outcome.status == 0
    command = load(name)
    assert command.help.strip().split("\n")[0] in outcome.out
    for spec in specs(command.options):
        assert spec.help
        assert not spec.flags or spec.flags[-1] in outcome.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("search", "missing argument 'QUERY'; see `gnoctl search --help`"),
        ("similar", "missing argument 'REF'; see `gnoctl similar --help`"),
        ("search x -n many", "--limit takes a whole number, not 'many'"),
        ("search x -n 0", "--limit must be >= 1"),
        ("search x --min-score 2", "--min-score must be <= 1.0"),
        ("search x --limt 3", "no such option: --limt (Possible options: --limit"),
        ("search rust -async", "quote the query"),
        ("serach x", "no such command 'serach'. Did you mean 'search'"),
        ("search caf\udce9 --json", "is not valid UTF-8"),
        ("search x --json --files", "--json and --files cannot be used together"),
        ("completion tcsh", "no completion for 'tcsh': choose bash, zsh or fish"),
        ("search caf\udce9", "is not valid UTF-8"),
        ("--index ../x search x", "index name '../x' is not valid"),
    ],
)
def test_a_usage_error_is_one_sentence_and_status_1(line: str, said: str, gnoctl: Gnoctl) -> None:
    outcome = gnoctl(*line.split())
    assert outcome.status == 1
    message = json.loads(outcome.out)["error"]["message"] if "--json" in line else outcome.err
    assert said in message
    assert message.count("\n") <= 1


def test_without_a_command_there_is_help_and_status_1(gnoctl: Gnoctl) -> None:
    for words in ([], ["collection"]):
        outcome = gnoctl(*words)
        assert outcome.status == 1
        assert "Usage: gnoctl" in outcome.out


def test_version(gnoctl: Gnoctl) -> None:
    assert gnoctl("--version").out.startswith("gnoctl 0.")
    assert gnoctl("--no-color", "--version").out.startswith("gnoctl 0.")

"""The meaning of command lines, and the errors for faulty ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnoctl.arguments import plain_search_options
from gnoctl.arguments.command_line import read
from gnoctl.arguments.options import specs
from gnoctl.commands import NAMES, load
from gnoctl.commands.search import ExactOptions
from gnod.errors import UsageError
from tests.client.conftest import Gnoctl

WORDS = [
    *("search", "get", "ls", "collection", "add", "remove", "rm", "daemon", "logs", "status"),
    *("foo", "bar baz", "-", "--", "", "-bar", "0", "5", "-5", "1.5", "x", "1_0", " 7", "nan"),
    *("-n", "-n5", "-n=5", "--limit", "--limit=5", "--limit=", "-q", "-qn5", "--quiet", "--quiet=1", "-f"),
    *("-c", "-cnotes", "--collection=a,b", "--json", "--csv", "--index", "--index=w", "--min-score", "--lines"),
    *("--from", "-l", "--no-start", "--version", "--nope", "--name", "null"),
]


@given(st.sampled_from(["search", "similar", "get", "ls", "collection add", "daemon logs", ""]), st.data())
def test_any_command_line_has_a_meaning_or_an_error(command: str, data: st.DataObject) -> None:
    words = [*command.split(), *data.draw(st.lists(st.sampled_from(WORDS), max_size=6))]
    try:
        chosen, options = read(words or ["status"])
    except UsageError as error:
        said = str(error)
    else:
        said = "--help`"
        assert isinstance(options, chosen.options)
    assert "--help`" in said


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("search deploy to production", {"query": ["deploy", "to", "production"]}),
        (
            "search --index work -n5 --limit=7 x -c a -c b,c --min-score 0.25 --full -q",
            {"index": "work", "limit": 7, "query": ["x"], "collections": ["a", "b,c"]}
            | {"min_score": 0.25, "full": True, "quiet": True},
        ),
        ("--index work --no-start search -- -n 5", {"index": "work", "no_start": True, "query": ["-n", "5"]}),
        ("search -- -n 5", {"limit": None}),
        ("search x -qn5 y", {"quiet": True, "limit": 5, "query": ["x", "y"]}),
        ("search x --sort -modified", {"sort": "-modified"}),
        ("search x - y", {"query": ["x", "-", "y"]}),
        ("--index a search x --index b", {"index": "b"}),
        ("similar #a1b2c3 -n 3 --files", {"ref": "#a1b2c3", "limit": 3, "files": True}),
        ("multi-get a b --max-bytes 100", {"refs": ["a", "b"], "max_bytes": 100}),
        ("collection rm notes", {"name": "notes"}),
        ("collection --index w list", {"index": "w"}),
        ("collection add . --egress any", {"path": ".", "egress": "any"}),
        ("remember all of it", {"words": ["all", "of", "it"]}),
        ("mcp", {"index": None}),
        ("mcp --index w", {"index": "w"}),
        ("mcp -q install --agent zed --dry-run", {"quiet": True, "agent": ["zed"], "dry_run": True}),
        ("index", {"collections": []}),
        ("init", {"path": None}),
    ],
)
def test_what_a_command_line_means(line: str, values: dict[str, Any]) -> None:
    _, options = read(line.split())
    assert {name: getattr(options, name) for name in values} == values


def test_the_options_of_a_plain_search_are_those_of_the_command() -> None:
    light = {
        spec.name: spec
        for spec in (
            plain_search_options.QUERY,
            plain_search_options.LIMIT,
            plain_search_options.COLLECTIONS,
            plain_search_options.JSON,
        )
    }
    assert {spec.name: spec for spec in specs(ExactOptions) if spec.name in light} == light


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
        ("search", "QUERY is missing; see `gnoctl search --help`"),
        ("similar", "REF is missing; see `gnoctl similar --help`"),
        ("status x", "unexpected argument 'x'; see `gnoctl status --help`"),
        ("search x -n many", "--limit takes a whole number, not 'many'"),
        ("search x -n=5", "--limit takes a whole number, not '=5'"),
        ("search x --min-score half", "--min-score takes a number, not 'half'"),
        ("search x -n", "-n needs a value"),
        ("search x --quiet=1", "--quiet takes no value"),
        ("search x -n 0", "--limit must be >= 1"),
        ("search x --min-score 2", "--min-score must be <= 1.0"),
        ("ask x -n 0", "--limit must be >= 1"),
        ("ask x -n 51", "--limit must be <= 50"),
        ("ask x --max-tokens 0", "--max-tokens must be >= 1"),
        ("ask x --max-tokens x", "--max-tokens takes a whole number, not 'x'"),
        ("evidence x --tokens=0", "--tokens must be >= 1"),
        ("evidence x --tokens=-5", "--tokens must be >= 1"),
        ("evidence x --tokens=100001", "--tokens must be <= 100000"),
        ("evidence x --tokens=1e3", "--tokens takes a whole number, not '1e3'"),
        ("evidence x --tokens=", "--tokens takes a whole number, not ''"),
        ("query x --candidates many", "--candidates takes a whole number, not 'many'"),
        ("query x --budget soon", "--budget takes a number, not 'soon'"),
        ("query x --candidates", "--candidates needs a value"),
        ("follow --since=-1", "--since must be >= 0"),
        ("search x --limt 3", "there is no option --limt; see `gnoctl search --help`. Did you mean --limit?"),
        ("search rust -async", "there is no option -a; see `gnoctl search --help`. To exclude a word, quote the query"),
        ("mcp --nope", "there is no option --nope; see `gnoctl mcp --help`"),
        ("--nope search", "there is no option --nope; see `gnoctl --help`"),
        ("serach x", "there is no command serach; see `gnoctl --help`. Did you mean search?"),
        ("collection lst", "there is no command collection lst; see `gnoctl collection --help`. Did you mean list?"),
        ("search caf\udce9 --json", "is not valid UTF-8"),
        ("search x --json --files", "--json and --files cannot be used together"),
        ("completion tcsh", "SHELL must be bash, zsh or fish, not 'tcsh'"),
        ("search caf\udce9", "is not valid UTF-8"),
        ("--index ../x search x", "index name '../x' is not valid"),
    ],
)
def test_a_usage_error_is_one_sentence_and_status_2(line: str, said: str, gnoctl: Gnoctl) -> None:
    outcome = gnoctl(*line.split())
    assert outcome.status == 2
    message = json.loads(outcome.out)["error"]["message"] if "--json" in line else outcome.err
    assert said in message
    assert message.count("\n") <= 1


def test_help_is_also_a_command(gnoctl: Gnoctl) -> None:
    for words in (["search"], ["collection", "add"], ["collection"], []):
        assert gnoctl("help", *words) == gnoctl(*words, "--help")
    assert "exit status" in gnoctl("help", "search").out
    assert gnoctl("help", "serach").err.startswith("gnoctl: there is no command serach")


def test_without_a_command_there_is_help_and_status_2(gnoctl: Gnoctl) -> None:
    for words in ([], ["-q"], ["collection"], ["collection", "-q"]):
        outcome = gnoctl(*words)
        assert outcome.status == 2
        assert "Usage: gnoctl" in outcome.out


def test_version(gnoctl: Gnoctl) -> None:
    assert gnoctl("--version").out.startswith("gnoctl 0.")
    assert gnoctl("--no-color", "--version").out.startswith("gnoctl 0.")

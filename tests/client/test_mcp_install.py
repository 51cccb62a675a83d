"""`gnoctl mcp install`: real settings files of every agent, in a separate home folder, and any layout of such a
file."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnoctl.agents import jsonc, toml_table
from gnoctl.agents.catalogue import AGENTS
from gnoctl.agents.installing import carry_out, command_of, plan
from gnoctl.agents.jsonc import Unfit, parse
from gnod.errors import Conflict
from gnod.paths import IndexPaths, resolve
from tests.client.conftest import Gnoctl


@pytest.fixture
def home(tmp_path: Path, places: IndexPaths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder. No agent's program is on the PATH."""
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for name in ("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_NO_AUTOSTART"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def servers(name: str) -> dict[str, Any]:
    """Return the servers that the agent would read."""
    agent = AGENTS[name]
    text = agent.file().read_text()
    data = tomllib.loads(text) if agent.format == "toml" else parse(text).data
    table: dict[str, Any] = data[agent.table]
    return table


@pytest.mark.parametrize("name", AGENTS)
def test_each_agent_gets_an_entry_that_starts_us(name: str, home: Path, gnoctl: Gnoctl) -> None:
    outcome = gnoctl("mcp", "install", "--agent", name)
    assert outcome.status == 0
    assert str(AGENTS[name].file()) in outcome.out
    installed = servers(name)["gno"]
    assert installed["args"] == ["mcp"]
    assert Path(installed["command"]).is_absolute()
    assert os.access(installed["command"], os.X_OK)
    assert "env" not in installed
    before = AGENTS[name].file().read_bytes()
    again = gnoctl("mcp", "install", "--agent", name)
    assert again.status == 0
    assert "already configured" in again.out
    assert AGENTS[name].file().read_bytes() == before


@pytest.mark.skipif(sys.platform == "darwin", reason="the places of Linux")
def test_the_places_and_the_forms_are_the_agents_own(home: Path) -> None:
    assert {name: str(agent.file().relative_to(home)) for name, agent in AGENTS.items()} == {
        "claude-code": ".claude.json",
        "claude-desktop": ".config/Claude/claude_desktop_config.json",
        "codex": ".codex/config.toml",
        "copilot": ".copilot/mcp-config.json",
        "cursor": ".cursor/mcp.json",
        "gemini": ".gemini/settings.json",
        "vscode": ".config/Code/User/mcp.json",
        "windsurf": ".codeium/windsurf/mcp_config.json",
        "zed": ".config/zed/settings.json",
    }
    assert {agent.table for agent in AGENTS.values()} == {"mcpServers", "mcp_servers", "servers", "context_servers"}


def test_only_agents_that_are_here(home: Path, gnoctl: Gnoctl) -> None:
    nothing = gnoctl("mcp", "install")
    assert nothing.status == 0
    assert "no agent was detected" in nothing.err
    assert '"mcpServers"' in nothing.err
    assert list(home.iterdir()) == []
    (home / ".cursor").mkdir()
    (home / "bin").mkdir()
    program = home / "bin" / "gemini"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = json.loads(gnoctl("mcp", "install", "--json").out)
    assert [(each["agent"], each["action"]) for each in found["agents"]] == [
        ("cursor", "created"),
        ("gemini", "created"),
    ]


def test_a_dry_run_changes_nothing_and_says_what_it_would(home: Path, gnoctl: Gnoctl) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  "mcpServers": {\n    "other": {"command": "x", "env": {"TOKEN": "secret"}}\n  }\n}\n')
    before = file.read_bytes()
    outcome = gnoctl("mcp", "install", "--dry-run")
    assert file.read_bytes() == before
    assert "would change" in outcome.out
    assert '+     "gno": {' in outcome.out
    done = gnoctl("mcp", "install")
    assert "changed" in done.out
    assert "secret" not in outcome.out + done.out
    assert servers("cursor")["other"] == {"command": "x", "env": {"TOKEN": "secret"}}


def test_comments_and_what_the_user_added_stay(home: Path, gnoctl: Gnoctl) -> None:
    zed = home / ".config" / "zed" / "settings.json"
    zed.parent.mkdir(parents=True)
    zed.write_text(
        '// my settings\n{\n\t"theme": "One", // dark\n\t"context_servers": {\n'
        '\t\t// the old one\n\t\t"gno": {\n\t\t\t"command": "/old/gnoctl", // here\n\t\t\t"args": ["mcp"],\n'
        '\t\t\t"enabled": false,\n\t\t\t"env": {"LANG": "de"},\n\t\t},\n\t},\n}\n'
    )
    codex = home / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text(
        'model = "x" # mine\n\n[mcp_servers.gno] # ours\nstartup_timeout_sec = 20 # slow\ncommand = "/old"\n\n'
        "[mcp_servers.other]\ncommand = 'y'\n"
    )
    assert gnoctl("mcp", "install").status == 0
    gno = servers("zed")["gno"]
    assert (gno["enabled"], gno["env"], gno["args"]) == (False, {"LANG": "de"}, ["mcp"])
    assert gno["command"] != "/old/gnoctl"
    for comment in ("// my settings", "// dark", "// the old one", "// here"):
        assert comment in zed.read_text()
    assert servers("codex")["gno"]["startup_timeout_sec"] == 20
    assert servers("codex")["gno"]["args"] == ["mcp"]
    assert servers("codex")["other"] == {"command": "y"}
    for comment in ("# mine", "# ours", "# slow"):
        assert comment in codex.read_text()


def test_what_cannot_be_changed_is_left_with_what_to_paste(home: Path, gnoctl: Gnoctl) -> None:
    broken = {
        ".cursor/mcp.json": "{ not json",
        ".gemini/settings.json": '{"mcpServers": []}',
        ".codex/config.toml": "mcp_servers = 1\n",
        ".codeium/windsurf/mcp_config.json": "\xff",
    }
    for name, text in broken.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_bytes(text.encode("latin-1"))
    outcome = gnoctl("mcp", "install")
    assert outcome.status == 2
    for name, text in broken.items():
        assert (home / name).read_bytes() == text.encode("latin-1")
        assert f"{home / name} was not changed" in outcome.err
    assert "[mcp_servers.gno]" in outcome.err
    assert "'mcpServers' is not an object" in outcome.err


def test_another_index_has_another_name(home: Path, gnoctl: Gnoctl) -> None:
    gnoctl("--index", "work", "mcp", "install", "--agent", "cursor,codex")
    gnoctl("mcp", "install", "--agent", "cursor,codex")
    for name in ("cursor", "codex"):
        assert {key: each["args"] for key, each in servers(name).items()} == {
            "gno-work": ["--index", "work", "mcp"],
            "gno": ["mcp"],
        }


def test_moved_places_are_passed_to_the_bridge(home: Path, gnoctl: Gnoctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("GNO_DATA_DIR", "data")
    for name in ("cursor", "codex"):
        gnoctl("mcp", "install", "--agent", name)
        assert servers(name)["gno"]["env"] == {"GNO_DATA_DIR": str(home / "data")}
    monkeypatch.setenv("GNO_OFFLINE", "1")  # the bridge gets the same limits as this shell
    monkeypatch.setenv("GNO_INDEX", "work")
    gnoctl("mcp", "install", "--agent", "cursor")
    installed = servers("cursor")["gno-work"]
    assert installed["args"] == ["--index", "work", "mcp"]
    assert installed["env"] == {"GNO_DATA_DIR": str(home / "data"), "GNO_OFFLINE": "1"}
    assert "unknown agent 'emacs': choose from claude-code" in gnoctl("mcp", "install", "--agent", "emacs").err


def test_links_and_modes_stay(home: Path, gnoctl: Gnoctl) -> None:
    kept = home / "dotfiles" / "codex.toml"
    kept.parent.mkdir()
    kept.write_text('model = "x"\n')
    kept.chmod(0o640)
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").symlink_to(kept)
    gnoctl("mcp", "install")
    assert (home / ".codex" / "config.toml").is_symlink()
    assert "[mcp_servers.gno]" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert [path.name for path in kept.parent.iterdir()] == ["codex.toml"]


def test_a_file_that_was_written_meanwhile_is_not_overwritten(home: Path) -> None:
    file = home / ".claude.json"
    file.write_text("{}")
    change = plan(AGENTS["claude-code"], command_of(resolve()))
    file.write_text('{"numStartups": 2}')
    with pytest.raises(Conflict, match="try again"):
        carry_out(change)
    assert file.read_text() == '{"numStartups": 2}'
    assert [path.name for path in home.iterdir()] == [".claude.json"]


HTTP = [name for name, agent in AGENTS.items() if agent.http]


@pytest.mark.parametrize("name", HTTP)
def test_each_agent_gets_an_address_in_its_own_form(name: str, home: Path, gnoctl: Gnoctl) -> None:
    assert gnoctl("mcp", "install", "--agent", name, "--http", "--port", "4700").status == 0
    installed = servers(name)["gno"]
    form = AGENTS[name].http
    assert form
    assert installed[form[0]] == "http://127.0.0.1:4700/mcp"
    assert installed[form[1]]["Authorization"].startswith("Bearer ")
    before = AGENTS[name].file().read_bytes()
    assert "already configured" in gnoctl("mcp", "install", "--agent", name, "--http", "--port", "4700").out
    assert AGENTS[name].file().read_bytes() == before


@pytest.mark.parametrize("name", HTTP)
def test_an_entry_of_the_other_kind_is_replaced(name: str, home: Path, gnoctl: Gnoctl) -> None:
    """An agent refuses an entry with a command and an address."""
    install = ("mcp", "install", "--agent", name)
    assert gnoctl(*install).status == 0
    command = servers(name)["gno"]
    assert gnoctl(*install, "--http").status == 0
    assert not servers(name)["gno"].keys() & {"command", "args", "env"}
    assert gnoctl(*install).status == 0
    assert servers(name)["gno"] == command


def test_an_agent_that_only_starts_commands(home: Path, gnoctl: Gnoctl) -> None:
    refused = gnoctl("mcp", "install", "--agent", "claude-desktop", "--http")
    assert refused.status != 0
    assert "Claude Desktop only starts commands: install it without --http" in refused.err
    (home / ".config" / "Claude").mkdir(parents=True)
    assert gnoctl("mcp", "install", "--http").status == 0, "it is left out unless it is named"
    assert "--port needs --http" in gnoctl("mcp", "install", "--port", "1").err


_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
_KEYS = st.text(max_size=4) | st.sampled_from(["servers", "gno", "a"])
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=8
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_LAYOUTS = st.sampled_from([None, 2, 4, "\t", 0])
ENTRY = {"command": "/bin/gnoctl", "args": ["mcp"]}


@given(_OBJECTS, _LAYOUTS, st.booleans())
def test_any_object_gets_the_value_and_keeps_the_rest(data: dict[str, Any], layout: Any, crlf: bool) -> None:
    text = json.dumps(data, indent=layout, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if crlf else text
    if not isinstance(data.get("servers", {}), dict):
        with pytest.raises(Unfit):
            jsonc.with_value(text, ("servers", "gno"), ENTRY)
        return
    changed = jsonc.with_value(text, ("servers", "gno"), ENTRY)
    assert json.loads(changed) == {**data, "servers": {**data.get("servers", {}), "gno": ENTRY}}
    assert jsonc.with_value(changed, ("servers", "gno"), ENTRY) == changed
    if crlf and "\n" in text:
        assert changed.count("\n") == changed.count("\r\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "gno": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "gno": 1\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "s": {"gno": 1}}'),
        ('{\n    "s": {}\n}', '{\n    "s": {\n        "gno": 1\n    }\n}'),
        ('{\n\t"s": {\n\t\t"b": 2 // two\n\t}\n}', '{\n\t"s": {\n\t\t"b": 2, // two\n\t\t"gno": 1\n\t}\n}'),
        ('{\n  "s": {\n    "b": 2, // two\n  },\n}', '{\n  "s": {\n    "b": 2, // two\n    "gno": 1,\n  },\n}'),
        ('{\n  "s": {\n    // none yet\n  }\n}', '{\n  "s": {\n    // none yet\n    "gno": 1\n  }\n}'),
        ('{ /* a */ "s": { "gno": /* old */ 0 } }', '{ /* a */ "s": { "gno": /* old */ 1 } }'),
        ('{"u": "// no comment", "s": {"gno": 0}}', '{"u": "// no comment", "s": {"gno": 1}}'),
    ],
)
def test_layouts(before: str, after: str) -> None:
    assert jsonc.with_value(before, ("s", "gno"), 1) == after


@pytest.mark.parametrize(
    "text", ["{", "[1]", "1", '{"a" 1}', '{"a": 1 "b": 2}', "{,}", "{} {}", "{'a': 1}", "[" * 9999]
)
def test_a_text_that_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(Unfit):
        jsonc.with_value(text, ("s", "gno"), 1)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "a = 1",
        "# only this\n",
        "[s.other]\nx = 1\n\n[t]\ny = 2\n",
        '[s."gno"]\ncommand = "old" # mine\nkept = true\n[s.gno.env]\nA = "b"\n',
        '[ s . gno ]\r\nargs = []\r\n"command" = "old"\r\n[z]\r\n',
        "s = { other = { x = 1 } }\n",
        '[s.gno]\ncommand = """\n[s.gno]\nargs = 1\n"""\nargs = [\n  1,\n]\n',
        's.gno.command = "old"\n',
    ],
)
def test_a_table_is_added_or_changed(before: str) -> None:
    changed = toml_table.with_table(before, ("s", "gno"), ENTRY)
    data = tomllib.loads(changed)
    old = tomllib.loads(before)
    assert data["s"]["gno"] == {**old.get("s", {}).get("gno", {}), **ENTRY}
    del data["s"]["gno"]
    old.get("s", {}).pop("gno", None)
    assert {**data, "s": data["s"] or old.get("s")} == {**old, "s": old.get("s")}
    assert toml_table.with_table(changed, ("s", "gno"), ENTRY) == changed


@pytest.mark.parametrize("text", ["s = 1\n", "s = { gno = [] }\n", "a = \n"])
def test_a_layout_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(Unfit):
        toml_table.with_table(text, ("s", "gno"), ENTRY)

"""`gnoctl skill`: the file is written to the right places, its text is true, and foreign files stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from gnoctl.agents.skill import TEXT
from gnoctl.commands import PANELS
from gnoctl.mcp.tools import CORE
from tests.client.conftest import Gnoctl


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_it_is_written_for_the_agents_that_are_here_and_removed(home: Path, gnoctl: Gnoctl) -> None:
    assert "no agent was detected" in gnoctl("skill", "install").err
    (home / ".claude").mkdir()
    (home / ".gemini").mkdir()
    files = [home / folder / "skills" / "gno" / "SKILL.md" for folder in (".claude", ".agents")]
    planned = gnoctl("skill", "install", "--dry-run")
    assert all(f"would write {file}" in planned.out for file in files)
    assert not files[0].exists()
    assert gnoctl("skill", "install").status == 0
    assert [file.read_text() for file in files] == [TEXT, TEXT]
    assert "already there" in gnoctl("skill", "install").out
    files[0].write_text(TEXT + "of an older version\n")
    assert "updated" in gnoctl("skill", "install").out
    assert files[0].read_text() == TEXT

    (files[1].parent / "more.md").write_text("mine")
    assert gnoctl("skill", "remove").status == 0
    assert not files[0].parent.exists()
    assert not files[1].exists()
    assert files[1].with_name("more.md").read_text() == "mine"


@pytest.mark.parametrize("content", [b"---\nname: gno\n---\nmine", b"", b"\xff\xfe"])
def test_a_file_of_somebody_else_stays(home: Path, gnoctl: Gnoctl, content: bytes) -> None:
    file = home / ".claude" / "skills" / "gno" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    for verb in ("install", "remove"):
        said = gnoctl("skill", verb)
        assert said.status != 0
        assert f"{file} was not written by gnoctl" in said.err
    assert file.read_bytes() == content


def test_what_it_names_exists() -> None:
    commands = {name for panel in PANELS.values() for name in panel}
    named = set(re.findall(r"`gnoctl ([a-z]+(?: (?:install|remove))?)", TEXT))
    assert named <= commands
    assert {tool.name for tool in CORE} - {"read"} <= set(re.findall(r"`(\w+)` \(`", TEXT))
    head = YAML(typ="safe").load(TEXT.split("---\n")[1])
    assert head["name"] == "gno"
    assert len(head["description"]) <= 1024, "the limit of the format"

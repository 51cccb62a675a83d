"""Completion with the Tab key."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gnod.paths import IndexPaths
from gnod.protocol.collections import CollectionListResult
from tests.client.conftest import Gnoctl, Spawn
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import collection


@pytest.mark.slow
def test_completion_offers_the_collections(daemon: FakeDaemon, spawn: Spawn) -> None:
    names = ["notes", "news", "work"]
    daemon.answers["collection.list"] = CollectionListResult(collections=[collection(name) for name in names])
    process = spawn(_GNOCTL_COMPLETE="complete_bash", COMP_WORDS="gnoctl similar x -c n", COMP_CWORD="4")
    assert process.communicate(timeout=60)[0].split() == ["notes", "news"]


@pytest.mark.slow
def test_completion_never_starts_a_daemon(places: IndexPaths, spawn: Spawn) -> None:
    process = spawn(
        _GNOCTL_COMPLETE="complete_bash", COMP_WORDS="gnoctl collection remove n", COMP_CWORD="3", GNO_NO_AUTOSTART=""
    )
    assert process.communicate(timeout=60)[0].split() == []
    assert not places.data_dir.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, gnoctl: Gnoctl) -> None:
    status, out, _ = gnoctl("completion", shell)
    assert status == 0
    assert f"_GNOCTL_COMPLETE=complete_{shell}" in out
    assert "gnoctl ui --print" in out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=out, text=True, check=True)


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/gnoctl.sh"),
        ("zsh", ".zfunc/gnoctl-ui.zsh"),
        ("fish", ".config/fish/conf.d/gnoctl-ui.fish"),
    ],
)
def test_it_installs_itself_and_the_key_once(
    shell: str, file: str, gnoctl: Gnoctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        outcome = gnoctl("completion", shell, "--install")
        assert (outcome.status, str(tmp_path) in outcome.out) == (0, True)
    assert (tmp_path / file).read_text().count("ui --print") == 1
    if shell == "bash":
        assert "gnoctl" in (tmp_path / ".bashrc").read_text()
    if shell == "zsh":
        assert (tmp_path / ".zshrc").read_text().count("gnoctl-ui.zsh") == 1

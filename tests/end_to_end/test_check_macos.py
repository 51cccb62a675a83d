"""`scripts/check_macos.sh` cannot run here. Its rehearsal runs the steps that need no Mac, with a real daemon."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/check_macos.sh"


@pytest.mark.stress
def test_the_rehearsal_writes_a_report_without_names(tmp_path: Path) -> None:
    home = tmp_path / "home-zqx76"
    home.mkdir()
    environment = {**os.environ, "BIN": str(Path(sys.executable).parent), "HOME": str(home)}
    report = tmp_path / "report.txt"
    done = subprocess.run(
        ["bash", str(SCRIPT), "--rehearse", str(report)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    written = report.read_text()
    assert (done.returncode, done.stderr) == (0, ""), written
    steps: dict[str, list[str]] = {}
    for line in written.partition("# Report of gnod")[0].strip().splitlines():
        step, status, _ = line.split(maxsplit=2)
        steps.setdefault(step, []).append(status)
    assert steps["tests"] == steps["start"] == ["ok"]
    assert steps["events"] == ["ok", "ok"]
    assert "failed" not in steps["names"]
    assert {name for name, statuses in steps.items() if statuses == ["skipped"]} == {
        *("install", "dataless", "service", "keychain", "sleep")
    }
    assert "## Versions" in written
    assert "zqx76" not in written
    assert "heron" not in written.lower()
    assert list(home.iterdir()) == []


@pytest.mark.skipif(sys.platform == "darwin", reason="runs in full on macOS")
def test_elsewhere_it_only_rehearses(tmp_path: Path) -> None:
    done = subprocess.run(["bash", str(SCRIPT)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not a Mac" in done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing() -> None:
    done = subprocess.run(["shellcheck", str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.stdout == ""

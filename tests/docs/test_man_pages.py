"""The man pages and completion scripts that the packages contain."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gnoctl.commands import NAMES

ROOT = Path(__file__).resolve().parents[2]

# Imitates the first Tab in zsh, with words that a program named gnoctl prints.
_FIRST_TAB = """
compdef() { }
gnoctl() { print 'shown=gnoctl' }
env() { shift 2; "$@" }
fpath=($1); autoload -U _gnoctl
words=(gnoctl s); CURRENT=2
_gnoctl; print $shown
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "make_man.py"), str(folder)], check=True, timeout=120)
    return folder


@pytest.mark.slow
def test_every_command_has_a_page(made: Path) -> None:
    for name in NAMES:
        page = (made / "man" / f"gnoctl-{name.partition(' ')[0]}.1").read_text()
        assert f".B gnoctl {name} [OPTIONS]" in page.replace("\\-", "-"), name


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
def test_mandoc_accepts_the_pages(made: Path) -> None:
    pages = sorted(map(str, (made / "man").iterdir()))
    checked = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *pages], capture_output=True, text=True, check=False)
    assert (checked.stdout, checked.returncode) == ("", 0)


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "file"), [("bash", "gnoctl"), ("zsh", "_gnoctl"), ("fish", "gnoctl.fish")])
def test_a_shell_accepts_its_script(made: Path, shell: str, file: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(made / "completions" / shell / file)], check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_at_the_first_tab(made: Path) -> None:
    command = ["zsh", "-f", "-c", _FIRST_TAB, "zsh", str(made / "completions" / "zsh")]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "gnoctl\n"

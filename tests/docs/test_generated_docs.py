"""The generated pages are current, the commands in README.md exist, and links in the docs are valid."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gnoctl.arguments.command_line import begin, read

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")})

# [text](target), in prose and in tables.
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def commands_in_readme(program: str) -> list[list[str]]:
    """Return the arguments of each call of `program` in README.md's console examples."""
    lines = re.findall(r"^\$ (.+)$", README, re.MULTILINE)
    commands = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in commands if words[0] == program]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
def test_the_generated_pages_are_current() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate_docs.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("words", commands_in_readme("gnoctl"), ids=shlex.join)
def test_a_gnoctl_command_of_the_readme_exists(words: list[str]) -> None:
    if "--help" in words:
        assert begin(words).name
    else:
        assert read(words)


@pytest.mark.parametrize("target", sorted({words[0] for words in commands_in_readme("make") if words}))
def test_a_make_target_of_the_readme_exists(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_are_valid(page: Path) -> None:
    prose = _CODE.sub("", page.read_text(encoding="utf-8").replace("[`", "[").replace("`]", "]"))
    for link in _LINK.findall(prose):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), link
        assert not anchor or anchor in anchors(found), link

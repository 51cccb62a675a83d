"""What gnod and gnoctl import is what pyproject.toml declares."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

from gnod.ingest.code.languages import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# `compression` is new in Python 3.14.
OURS_AND_PYTHONS = sys.stdlib_module_names | {"gnod", "gnoctl", "compression"}
# docs/ocr.md names this package: who wants HEIC pictures installs it.
USED_IF_INSTALLED = {"pillow_heif"}
CAPPED_FOR_ITS_SIZE = {"lingua-language-detector"}
LOADED_BY_NAME = {
    "pyspellchecker",  # its word lists
    *(language.grammar.partition(".")[0].replace("_", "-") for language in LANGUAGES),
}


class Import(NamedTuple):
    """`at_start`: outside of all functions, so it happens when its module is imported."""

    module: str
    file: str
    at_start: bool

    @property
    def distributions(self) -> set[str]:
        """Return those that have the module; one that this platform does not need has the module's name."""
        return set(map(canonical, _distributions().get(self.module.partition(".")[0], [self.module])))


@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def canonical(requirement: str) -> str:
    """Return the name of a distribution as the package index compares it.

    >>> canonical("Ruamel_YAML[x]>=0.18")
    'ruamel-yaml'
    """
    name = re.match(r"[\w.-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def imports(text: str, file: str) -> Iterator[Import]:
    """Yield the imports of other projects in a module, but those for type checkers only."""
    yield from (each for each in _imports(ast.parse(text), file, at_start=True) if _is_foreign(each.module))


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] not in OURS_AND_PYTHONS | USED_IF_INSTALLED


def _imports(node: ast.AST, file: str, *, at_start: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, file, at_start) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield Import(str(node.module), file, at_start)
    elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    inner = at_start and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, file, at_start=inner)


@cache
def all_imports() -> list[Import]:
    """Return those of gnod and gnoctl. Not when this module is loaded: each process of a test run loads it."""
    files = [file for package in ("gnod", "gnoctl") for file in (ROOT / package).rglob("*.py")]
    return [each for file in files for each in imports(file.read_text(), str(file.relative_to(ROOT)))]


REQUIRED = set(map(canonical, PROJECT["dependencies"]))
OPTIONAL = {
    extra: set(map(canonical, requirements))
    for extra, requirements in PROJECT["optional-dependencies"].items()
    if extra not in ("docs", "test")
}


def test_imports_are_seen() -> None:
    text = """
import a.b
from typing import TYPE_CHECKING
from . import sibling
import gnod.errors
if TYPE_CHECKING:
    import only_for_types
class C:
    import c
    def f(self):
        import d.e, f
        from g.h import i
async def g():
    try:
        import j
    except ImportError:
        import sys
"""
    assert list(imports(text, "x.py")) == [
        Import("a.b", "x.py", True),
        Import("c", "x.py", True),
        Import("d.e", "x.py", False),
        Import("f", "x.py", False),
        Import("g.h", "x.py", False),
        Import("j", "x.py", False),
    ]


@pytest.mark.stress
def test_each_import_is_declared() -> None:
    declared = REQUIRED.union(*OPTIONAL.values())

    missing = {(each.module, each.file) for each in all_imports() if not each.distributions & declared}

    assert not missing, "imported, but pyproject.toml does not declare their distributions"


@pytest.mark.stress
def test_what_an_extra_brings_is_not_imported_at_the_start() -> None:
    """The folder llama/ is imported when it is needed, as `end_to_end/test_without_llama.py` shows."""
    eager = {(each.module, each.file) for each in all_imports() if each.at_start and not each.distributions & REQUIRED}
    eager = {(module, file) for module, file in eager if not file.startswith("gnod/models/run/llama/")}

    assert not eager, "gnod must start without its extras"


@pytest.mark.slow
def test_each_declared_distribution_is_used() -> None:
    imported = {distribution for each in all_imports() for distribution in each.distributions}

    unused = REQUIRED.union(*OPTIONAL.values()) - imported - LOADED_BY_NAME

    assert not unused, "declared in pyproject.toml, but nothing imports them"


@pytest.mark.slow
def test_internals_of_others_have_a_newest_version() -> None:
    """docs/dependencies.md lists whose internals gnod uses; private modules that are imported are among them."""
    requirements = [
        *PROJECT["dependencies"],
        *(each for extra in OPTIONAL for each in PROJECT["optional-dependencies"][extra]),
    ]
    capped = {canonical(each) for each in requirements if "<" in each.partition(";")[0]}
    section = (ROOT / "docs/dependencies.md").read_text().partition("## Internals that gnod uses")[2]
    rows = re.findall(r"^\| ([a-z][a-z, -]+) \|", section, re.MULTILINE)[1:]
    listed = {name for row in rows for name in row.split(", ")}
    private = {name for each in all_imports() if re.search(r"\._[a-z]", each.module) for name in each.distributions}

    assert capped - CAPPED_FOR_ITS_SIZE == listed >= private > set()


def test_every_licence_is_named_and_permissive() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| (.*) \|$", (ROOT / "docs" / "licences.md").read_text(), re.MULTILINE)[1:]
    required = {canonical(each) for each in PROJECT["dependencies"] if "!= 'linux'" not in each}
    assert required <= {name for name, _ in rows}
    # The MPL, which has no GPL in its name, concerns modified files only.
    assert [name for name, licence in rows if not licence or re.search("GPL|proprietary|unknown", licence, re.I)] == []

"""Ask the package index whether each pinned package has a wheel, for each system and Python.

Without a wheel, pip compiles a package, which needs compilers that most machines lack. Of the extra
`llama`, llama-cpp-python never has one, so it is left out.
Exit status: 0 if everything that docs/install.md promises has its wheels, 1 if not, 3 if the index cannot be reached.
A mirror may lack a version altogether: the script reports that, and does not fail.
"""
# ruff: noqa: T201

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "constraints.txt"

EXTRAS = ("ocr", "shared")
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))

EXIT_MISSING = 1
EXIT_NOT_CHECKED = 3
TIMEOUT_S = 30
AT_ONCE = 8


class System(NamedTuple):
    """`platforms`: tags of wheels that it can install. `promised`: the install page names it."""

    name: str
    platforms: list[str]
    markers: dict[str, str]
    promised: bool = True

    def environment(self, python: tuple[int, int]) -> dict[str, str]:
        """Return the variables of environment markers."""
        short = ".".join(map(str, python))
        return {**self.markers, "python_version": short, "python_full_version": f"{short}.0"}


def _linux(machine: str) -> System:
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(36, 16, -1)]
    platforms += [f"manylinux2014_{machine}", f"linux_{machine}"]
    return System(f"Linux {machine}", platforms, _markers("linux", "Linux", machine))


def _macos(name: str, version: tuple[int, int], machine: str, promised: bool) -> System:
    return System(name, list(mac_platforms(version, machine)), _markers("darwin", "Darwin", machine), promised)


def _markers(sys_platform: str, system: str, machine: str) -> dict[str, str]:
    return {
        "sys_platform": sys_platform,
        "platform_system": system,
        "platform_machine": machine,
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }


SYSTEMS = (
    _linux("x86_64"),
    _linux("aarch64"),
    _macos("macOS 14, Apple silicon", (14, 0), "arm64", promised=True),
    _macos("macOS 14, Intel", (14, 0), "x86_64", promised=False),
)


def main() -> int:
    try:
        complete = [_check(system, python) or not system.promised for system in SYSTEMS for python in PYTHONS]
    except URLError as error:
        print(f"not checked: the package index cannot be reached ({error.reason})", file=sys.stderr)
        return EXIT_NOT_CHECKED
    return 0 if all(complete) else EXIT_MISSING


def _check(system: System, python: tuple[int, int]) -> bool:
    """Print one line. Return whether the index has a wheel for every package whose pinned version it has."""
    missing = sorted(_without_wheel(system, python))
    print(f"{system.name:24} {'.'.join(map(str, python))}  {', '.join(map(str, missing)) or 'all wheels'}", flush=True)
    return not any(each.is_released for each in missing)


class Missing(NamedTuple):
    """A package without a wheel. `is_released`: the index has another file of this version."""

    name: str
    version: str
    is_released: bool

    def __str__(self) -> str:
        return f"{'no wheel' if self.is_released else 'not on this index'}: {self.name} {self.version}"


def _without_wheel(system: System, python: tuple[int, int]) -> Iterator[Missing]:
    environment = system.environment(python)
    tags = {*cpython_tags(python, platforms=system.platforms), *compatible_tags(python, platforms=system.platforms)}
    pins = _pins(environment)
    names = closure(environment, EXTRAS)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, files in zip(names, pool.map(_files, names), strict=True):
            version = pins.get(name)
            released = [file for file in files if version is None or _version(file) == Version(version)]
            if not any(_fits(file, python, tags) for file in released):
                yield Missing(name, version or "(not pinned)", bool(released))


def _pins(environment: dict[str, str]) -> dict[str, str]:
    """Return the versions in constraints.txt by name, for one system and Python."""
    lines = (line for line in PINS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    pinned = (Requirement(line) for line in lines)
    return {
        canonicalize_name(each.name): next(iter(each.specifier)).version
        for each in pinned
        if _applies(each.marker, environment)
    }


def closure(environment: dict[str, str], extras: Iterable[str]) -> list[str]:
    """Return the names of all packages that gnod needs with these extras."""
    needed: dict[str, set[str]] = {}
    waiting = [Requirement(f"gnod[{','.join(extras)}]")]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in needed and one.extras <= needed[name]:
            continue
        needed.setdefault(name, set()).update(one.extras)
        for extra in ("", *one.extras):
            waiting += [each for each in _requirements(name) if _applies(each.marker, {**environment, "extra": extra})]
    return sorted(needed.keys() - {"gnod"})


@cache
def _requirements(name: str) -> list[Requirement]:
    """Return the requirements of an installed package; none for a package that only other systems have."""
    try:
        return [Requirement(line) for line in requires(name) or ()]
    except ModuleNotFoundError:
        return []


def _applies(marker: Marker | None, environment: dict[str, str]) -> bool:
    return marker is None or marker.evaluate({"extra": "", **environment})


def _version(file: dict[str, str]) -> Version | None:
    """Return None for an invalid name, which some old releases have; pip also ignores them."""
    name = file["filename"]
    try:
        return parse_wheel_filename(name)[1] if name.endswith(".whl") else parse_sdist_filename(name)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _fits(file: dict[str, str], python: tuple[int, int], tags: set[Tag]) -> bool:
    if not file["filename"].endswith(".whl") or _version(file) is None:
        return False
    allowed = SpecifierSet(file.get("requires-python") or "")
    return allowed.contains("{}.{}.0".format(*python)) and bool(parse_wheel_filename(file["filename"])[3] & tags)


@cache
def _files(name: str) -> list[dict[str, str]]:
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    request = Request(f"{index}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    try:
        with urlopen(request, timeout=TIMEOUT_S) as answer:
            files: list[dict[str, str]] = json.load(answer)["files"]
    except HTTPError as error:
        if error.code == 404:
            return []
        raise
    return files


if __name__ == "__main__":
    sys.exit(main())

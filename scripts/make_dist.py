"""Write sdist and wheel to dist/: `make dist`. Both are built twice, in different folders, and must be identical.

The sdist contains the files that git tracks, the man pages and the completion scripts. The wheel is built from the
unpacked sdist, and contains the files that `WHEEL` names. An extra or missing file is an error.
"""
# ruff: noqa: T201

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"

# Maps the files of the sdist to their places in the wheel. The first prefix that matches counts, and None leaves a file
# out.
WHEEL = {
    "editors/vscode/test/": None,
    "editors/": "DATA/share/gnod/editors/",
    "gnod/": "gnod/",
    "gnoctl/": "gnoctl/",
    "systemd/": "gnoctl/service/patterns/systemd/",
    "launchd/": "gnoctl/service/patterns/launchd/",
    "LICENSE": "INFO/licenses/LICENSE",
    "licenses/": "INFO/licenses/licenses/",
    "docs/licences.md": "INFO/licenses/docs/licences.md",
    "build/man/": "DATA/share/man/man1/",
    "build/completions/bash/": "DATA/share/bash-completion/completions/",
    "build/completions/zsh/": "DATA/share/zsh/site-functions/",
    "build/completions/fish/": "DATA/share/fish/vendor_completions.d/",
}
OF_ITSELF = {"INFO/METADATA", "INFO/RECORD", "INFO/WHEEL", "INFO/entry_points.txt"}


def main() -> int:
    tracked = _output("git", "ls-files", "-z").rstrip("\0").split("\0")
    os.environ["SOURCE_DATE_EPOCH"] = _output("git", "log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first, second = (_build(tracked, Path(folder)) for folder in (one, other))
        problems = [
            f"{made.name} differs from a second one"
            for made, again in zip(first, second, strict=True)
            if made.read_bytes() != again.read_bytes()
        ]
        problems += check(tracked, *first)
        if problems:
            print(*problems, sep="\n", file=sys.stderr)
            return 1
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for made in first:
            print(f"dist/{made.name}: {made.stat().st_size:,} bytes")
            shutil.copy(made, DIST)
    return 0


def _build(tracked: list[str], folder: Path) -> tuple[Path, Path]:
    """Return sdist and wheel, built in `folder`."""
    source = folder / "source"
    for name in tracked:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    _run(source, "scripts/make_man.py", "build")
    _run(source, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder))
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    _run(folder / sdist.name.removesuffix(".tar.gz"), "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def check(tracked: list[str], sdist: Path, wheel: Path) -> list[str]:
    """Return what is missing in the two files, and what does not belong there."""
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    made = {name for name in packed if name.startswith(("build/man/", "build/completions/"))}
    version = "-".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as zipped:
        names = {
            name.replace(f"{version}.data/data", "DATA", 1).replace(f"{version}.dist-info", "INFO", 1)
            for name in zipped.namelist()
        }
    places = map(_place, packed)
    return [
        *_differences(sdist, {*tracked, *made, "PKG-INFO"}, packed),
        *_differences(wheel, {place for place in places if place} | OF_ITSELF, names),
        *([] if made else [f"{sdist.name} has no man pages"]),
    ]


def _place(name: str) -> str | None:
    """Return the place of a file of the sdist in the wheel."""
    begin = next((begin for begin in WHEEL if name.startswith(begin)), None)
    return begin and WHEEL[begin] and f"{WHEEL[begin]}{name.removeprefix(begin)}"


def _differences(file: Path, expected: set[str], found: set[str]) -> list[str]:
    missing = [f"{file.name} lacks {name}" for name in sorted(expected - found)]
    return missing + [f"{file.name} has {name}, which no rule names" for name in sorted(found - expected)]


def _run(folder: Path, *arguments: str) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{' '.join(arguments)} failed with status {done.returncode}")


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())

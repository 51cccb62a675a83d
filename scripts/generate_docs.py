"""Write the reference pages of docs/ from the code: protocol, errors, commands, settings.

generate_docs.py            write them
generate_docs.py --check    say which are not current, and end with status 1
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from gnoctl.commands import ALIASES, GROUPS, PANELS, load
from gnoctl.options import SHARED, Options, Spec, specs
from gnod import errors
from gnod.config import model
from gnod.config.load import parse_text
from gnod.errors import ConfigInvalid, GnoError
from gnod.protocol import framing, openrpc
from gnod.protocol.methods import METHODS
from gnod.server.connection import Limits

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

NOTICE = "<!-- Made from the code by scripts/generate_docs.py; `make docs` writes it anew. -->"

Schema = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a page is not current")
    check = parser.parse_args().check
    stale = [name for name, text in pages().items() if _settle(DOCS / name, text, check=check)]
    if stale and check:
        sys.stderr.write(f"not current: {', '.join(f'docs/{name}' for name in stale)}; run `make docs`\n")
        return 1
    sys.stdout.write(f"{len(pages())} pages are current\n" if not stale else f"wrote {', '.join(stale)}\n")
    return 0


def pages() -> dict[str, str]:
    """Return the text of every page, by file name."""
    made = {"protocol.md": _protocol(), "errors.md": _errors(), "commands.md": _commands(), "settings.md": _settings()}
    return {name: re.sub(r"\n{3,}", "\n\n", text).strip() + "\n" for name, text in made.items()}


def _settle(path: Path, text: str, *, check: bool) -> bool:
    """Say whether the page differed; write it unless this is only a check."""
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == text:
        return False
    if check:
        difference = difflib.unified_diff(
            found.splitlines(), text.splitlines(), str(path), "the code", lineterm="", n=1
        )
        sys.stderr.write("\n".join(list(difference)[:20]) + "\n")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return True


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTICE, *parts])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _prose(docstring: str | None) -> str:
    """Return a docstring as Markdown paragraphs, one line each."""
    return "\n\n".join(" ".join(each.split()) for each in inspect.cleandoc(docstring or "").split("\n\n"))


# ---------------------------------------------------------------------------------------------- protocol


def _protocol() -> str:
    document: Schema = openrpc.document()
    schemas: dict[str, Schema] = document["components"]["schemas"]
    return _page(
        "The wire protocol",
        _WIRE.format(
            request=framing.MAX_REQUEST_BYTES // 1024**2,
            answer=framing.MAX_MESSAGE_BYTES // 1024**2,
            connections=Limits().connections,
        ),
        "## Methods",
        _table(["method", "answers", ""], [_method_row(method) for method in document["methods"]]),
        *(_method(method) for method in document["methods"]),
        "## Notifications",
        _table(
            ["notification", "direction", "params", ""],
            [
                [f"`{each['name']}`", each["direction"], _type(each["params"]), each["summary"]]
                for each in document["x-notifications"]
            ],
        ),
        "## Types",
        "Fields with a default may be absent. A client ignores fields that it does not know.",
        *(_struct(name, schema) for name, schema in sorted(schemas.items())),
    )


_WIRE = """\
JSON-RPC 2.0 over a Unix stream socket. `gnoctl socket` prints its path. The same list is answered by `rpc.discover`,
as an OpenRPC document.

```console
$ echo '{{"jsonrpc":"2.0","id":1,"method":"search.lexical","params":{{"query":"C++"}}}}' | nc -U "$(gnoctl socket)"
```

- **Framing** is chosen by the first byte that a connection sends, and answered in kind. `{{` or `[`: one JSON message a
  line. `C`: `Content-Length` headers, as in the Language Server Protocol. A request may have {request} MB, an
  answer {answer} MB. A client that leaves its answers unread for half a minute is cut off.
- **Connections**: up to {connections}. A program may keep one open and idle; where all are taken, the one that has
  idled longest, and a minute at least, without a subscription, is closed. Connect again when that happens.
- **Parameters** go by name. An unknown one is an error, so that a typo never changes a search in silence.
- **Cancelling**: the notification `$/cancelRequest` with the request's id. A closed connection cancels its requests.
- **Progress**: a call with a `progress_token` gets `$/progress` notifications that carry it, before its answer.
- **Errors** are in [errors.md](errors.md). `error.data.kind` is the word to compare; messages may change.
- **Who may connect**: the user that runs the daemon, and nobody else."""


def _method_row(method: Schema) -> list[str]:
    name = method["name"]
    return [f"[`{name}`](#{name.replace('.', '')})", _result(method), method["summary"]]


def _result(method: Schema) -> str:
    name = method["result"]["name"]
    return _link(name) if METHODS[method["name"]].result.__name__ == name else name


def _method(method: Schema) -> str:
    parts = [f"### {method['name']}", f"{method['summary']} Answers {_result(method)}."]
    parts.append(_prose(method.get("description")))
    rows = [
        [f"`{param['name']}`", _type(param["schema"]), "required" if param["required"] else _default(param["schema"])]
        for param in method["params"]
        if param["name"] != "progress_token"
    ]
    parts.append(_table(["parameter", "type", "default"], rows) if rows else "It takes no parameters.")
    return "\n\n".join(part for part in parts if part)


def _struct(name: str, schema: Schema) -> str:
    required = schema.get("required", [])
    rows = [
        [f"`{field}`", _type(each), "" if field in required else _default(each)]
        for field, each in schema["properties"].items()
    ]
    return "\n\n".join([f"### {name}", _prose(schema.get("description")), _table(["field", "type", "default"], rows)])


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _default(schema: Schema) -> str:
    return f"`{msgspec.json.encode(schema['default']).decode()}`" if "default" in schema else ""


def _type(schema: Schema) -> str:
    """Return a JSON Schema in words."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        pair = schema.get("prefixItems")
        return f"[{', '.join(map(_type, pair))}]" if pair else f"list of {_type(schema.get('items', {}))}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {_type(values)}" if isinstance(values, dict) and values.get("type") else "object"
    return (str(kind) if kind else "any") + _limits(schema)


def _limits(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f", {low:,g} to {high:,g}"
    if low is not None:
        return f", at least {low:,g}"
    if "maxLength" in schema:
        return f", {'1 to' if schema.get('minLength') else 'at most'} {schema['maxLength']:,} characters"
    return ""


# ------------------------------------------------------------------------------------------------ errors


def _errors() -> str:
    own = [cls for code, cls in sorted(errors.CLASSES.items()) if code > 0]
    wire = [cls for code, cls in sorted(errors.CLASSES.items(), reverse=True) if code < 0]
    return _page(
        "Errors",
        _ERRORS,
        "## Of gnod",
        _table(
            ["code", "kind", "class", "exit status", "when"],
            [_error_row(cls) for cls in own if cls.code % 100 or cls in _FAMILIES],
        ),
        "## Of JSON-RPC",
        _table(["code", "kind", "class", "exit status", "when"], [_error_row(cls) for cls in wire]),
        "## Exit statuses of gnoctl",
        _table(
            ["status", "means"],
            [
                ["0", "success; nothing found is a success too"],
                [
                    str(errors.EXIT_VALIDATION),
                    "the command line or the request is wrong: the same again will fail again",
                ],
                [str(errors.EXIT_RUNTIME), "something failed that may work later"],
                [str(errors.EXIT_NOT_RUNNING), "the daemon is not running, and was not to be started"],
                ["130", "interrupted by Ctrl-C"],
            ],
        ),
    )


_FAMILIES = (errors.NotFound, errors.Conflict, errors.Refused, errors.Unavailable, errors.Corrupt)

_ERRORS = """\
On the wire an error is `{"code": …, "message": …, "data": {"kind": …}}`, where `data` may hold more; `gnoctl --json`
prints `{"error": {"code": …, "message": …, "details": …}}`. Compare `kind` (or `code`), never the message. A code
ending in 00 is its whole family: a client that does not know a code can treat it as that."""

_WHEN = {
    "parse_error": "a message is not JSON",
    "invalid_request": "a message is JSON and no request",
    "method_not_found": "there is no such method",
    "invalid_params": "a parameter is unknown, missing, or of the wrong type or range",
    "internal": "a fault of gnod's own; the log has the details",
    "cancelled": "the client cancelled the request",
    "not_found": "what was named does not exist",
    "collection_not_found": "no collection has that name",
    "document_not_found": "nothing is indexed under that reference",
    "folder_not_found": "the folder to add does not exist, or is a file",
    "context_not_found": "the scope has no context, or not that text",
    "conflict": "it clashes with what is there",
    "collection_exists": "the name is taken, or the folder is a collection already",
    "ambiguous_reference": "several documents match; they are named",
    "context_exists": "the scope has that very text already",
    "refused": "gnod will not do that",
    "query_syntax": "an empty query, an open quotation mark, negations only",
    "path_outside_root": "the path leads out of its collection",
    "config_invalid": "the config file has errors; every one is named with its line",
    "invalid_name": "a name that a collection or an index cannot have",
    "foreign_database": "the database file is not gnod's; it is left as it is",
    "newer_database": "the database was written by a newer gnod; it is left as it is",
    "socket_path_too_long": "the system does not allow a socket path of that length",
    "folder_unreadable": "the folder may not be listed",
    "limit_exceeded": "too large, or too many at once",
    "invalid_reference": "not a docid, path, gno:// address or scope",
    "usage": "a mistake on the command line",
    "invalid_dataset": "the folder holds no collection in BEIR layout, or a faulty one",
    "unavailable": "not now; the same may work later",
    "daemon_not_running": "nobody listens on the socket",
    "shutting_down": "the daemon is ending",
    "timed_out": "it took longer than allowed",
    "index_locked": "another daemon serves this index",
    "storage_failed": "the disk is full, read-only, or refuses",
    "root_unavailable": "a collection's folder is not there; its documents are kept",
    "update_command_failed": "a collection's update command ended with an error",
    "worker_failed": "a converter process could not be started or kept alive",
    "corrupt": "stored data is damaged",
    "database_corrupt": "SQLite finds the database damaged",
}


def _error_row(cls: type[GnoError]) -> list[str]:
    own = _prose(cls.__dict__.get("__doc__"))
    when = own or _WHEN.get(cls.kind, cls.kind.replace("_", " "))
    name = f"**{cls.__name__}**" if cls in _FAMILIES else cls.__name__
    return [str(cls.code), f"`{cls.kind}`", name, str(cls.exit_status), when]


# ---------------------------------------------------------------------------------------------- commands


def _commands() -> str:
    panels = []
    for panel, names in PANELS.items():
        panels += [f"## {panel}", *(_command(name) for name in names)]
    return _page(
        "The commands of gnoctl",
        "`gnoctl --help` and `gnoctl COMMAND --help` say the same in the terminal. Options may stand anywhere after "
        "the command. Exit statuses are in [errors.md](errors.md).",
        _table(
            ["command", ""], [[f"[`{name}`](#gnoctl-{name.replace(' ', '-')})", _summary(name)] for name in _names()]
        ),
        "## Options of every command",
        _options_table(each for each in specs(Options)),
        *panels,
        "## gnod",
        "The daemon itself, in the foreground. `gnoctl` starts it; service managers run it like this:",
        "```console\n$ gnod --index default\n```",
        "It ends with status 0 whenever it was asked to end, by SIGTERM or SIGINT as well. SIGHUP reads the "
        "config file again.",
    )


def _names() -> list[str]:
    return [name for names in PANELS.values() for name in names]


def _summary(name: str) -> str:
    return load(name).help.strip().splitlines()[0]


def _command(name: str) -> str:
    command = load(name)
    declared = [spec for spec in specs(command.options) if spec.name not in SHARED]
    words = ["gnoctl", name, *(_placeholder(spec) for spec in declared if not spec.flags)]
    flagged = [spec for spec in declared if spec.flags]
    usage = " ".join([*words, *(["[OPTIONS]"] if flagged else [])])
    aliases = [f"`gnoctl {alias}`" for alias, meant in ALIASES.items() if meant == name]
    group = name.partition(" ")[0]
    parts = [f"### gnoctl {name}"]
    if group != name and name == next(each for each in _names() if each.startswith(f"{group} ")):
        parts.append(f"*{group}: {GROUPS[group]}*")
    parts += [f"```text\n{usage}\n```", _help(command.help)]
    if aliases:
        parts.append(f"Also {', '.join(aliases)}.")
    if declared:
        parts.append(_options_table(declared))
    return "\n\n".join(parts)


def _placeholder(spec: Spec) -> str:
    word = f"{spec.metavar}{'...' if spec.repeats else ''}"
    return word if spec.required else f"[{word}]"


def _help(text: str) -> str:
    """Return a command's help as Markdown: its paragraphs, and the indented ones as a block of commands."""
    parts: list[str] = []
    examples: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith(" "):
            examples += [line.strip() for line in paragraph.splitlines()]
            continue
        if examples:
            parts.append(_block(examples))
            examples = []
        parts.append(" ".join(paragraph.split()))
    return "\n\n".join([*parts, *([_block(examples)] if examples else [])])


def _block(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def _options_table(declared: Iterable[Spec]) -> str:
    return _table(["option", "takes", ""], [_option_row(spec) for spec in declared])


def _option_row(spec: Spec) -> list[str]:
    takes = "" if spec.kind is bool else spec.metavar or ("TEXT" if spec.kind is str else "NUMBER")
    if spec.flags:
        name = ", ".join(f"`{flag}`" for flag in spec.flags)
    else:
        name, takes = f"`{spec.metavar}`", "required" if spec.required else ""
    return [name, takes + (" (repeatable)" if spec.repeats else ""), spec.help]


# ---------------------------------------------------------------------------------------------- settings

_MEANINGS = {
    "version": "Version of the file's format.",
    "collections[].name": "Lower-case letters, digits, `-` and `_`, at most 64.",
    "collections[].path": "The folder. Relative paths start from the config file's folder; `~` is understood.",
    "collections[].pattern": "Glob for the files to take, relative to the folder.",
    "collections[].include": "Extensions to take, such as `.md`; empty: all that can be read.",
    "collections[].exclude": "Names or globs to leave out. Given, it replaces the default list.",
    "collections[].gitignore": "Honour `.gitignore` and `.gnoignore` files, in every folder.",
    "collections[].language": "Language of all its documents, such as `de`; otherwise each is looked at.",
    "collections[].update_command": "Run by `gnoctl update` before indexing, such as `git pull`.",
    "collections[].models": (
        "Models for this collection alone, by role (`embed`, `rerank`, `expand`, `answer`): `hf:org/repo/file.gguf`, "
        "`hf:org/repo:QUANT`, `file:/path` or `pypi:package==version#path`. The others are the preset's."
    ),
    "contexts[].scope": "`/` (everything), `name:` (a collection) or `gno://name/prefix`.",
    "contexts[].text": "What it is about, in words; handed out with every result from there.",
    "ingest.max_file_mb": "Larger files are skipped, and counted.",
    "ingest.timeout_s": "How long a file may take to convert.",
    "ingest.max_characters": "Files with a longer text fail, and are listed as errors.",
    "ingest.memory_mb": "Memory that a converter process may take.",
    "ingest.workers": "Converter processes; by default as many as suit the machine.",
    "watch.rescan_s": "How often each folder is walked even when no event told of a change (give or take a quarter).",
    "daemon.shutdown_grace_s": "How long requests may go on after the daemon was asked to stop.",
    "daemon.log_level": "How much goes to the log; `gnod --log-level` overrules it.",
    "daemon.autostart": "Whether gnoctl may start the daemon by itself (also `--no-start` and `GNO_NO_AUTOSTART=1`).",
    "models.preset": "Which set of models (`gnoctl models list` shows them, `gnoctl models use` changes it).",
    **{
        f"models.{role}": f"Model to {role} with, instead of the preset's: an address as above, or `none` for no model."
        for role in model.MODEL_ROLES
    },
    "models.threads": "Processor cores that a model uses; without it, all physical ones.",
    "models.embed_on_battery": "Whether to embed on battery; never below 15 %.",
    "models.idle_unload_s": "Idle time after which models leave memory; 0 is at once.",
    "models.gpu": "Whether a GPU is used when llama.cpp was built for one.",
}

_SETTINGS = """\
`index.yml`, in the config folder (`gnoctl doctor` prints its path). A missing file means the defaults. The daemon sees
a change by itself. An error keeps the last good settings in force; `gnoctl status` and `gnoctl doctor` name every fault
with its line. Commands that change the file (`gnoctl collection …`, `gnoctl context …`) keep comments and layout.

A file of GNO is read as it is: keys that gnod does not have are kept, ignored, and named as warnings.

```yaml
collections:
  - name: notes
    path: ~/notes
    exclude: [.git, drafts]
contexts:
  - scope: "notes:"
    text: Mara's notes; the folder "club" is about the boat club
ingest:
  timeout_s: 120
```"""


def _settings() -> str:
    sections: list[str] = []
    for section in msgspec.structs.fields(model.Config):
        struct, where = _section(section)
        if struct is None:
            continue
        rows = [_setting(f"{where}.{field.name}", field) for field in msgspec.structs.fields(struct)]
        sections += [f"## {section.name}", _table(["setting", "type", "default", ""], rows)]
    return _page("Settings", _SETTINGS, *sections, "## Environment", _table(["variable", ""], _ENVIRONMENT))


_ENVIRONMENT = [
    ["`GNO_CONFIG_DIR`, `GNO_DATA_DIR`, `GNO_CACHE_DIR`", "the folders, instead of the platform's own"],
    ["`GNO_SOCKET`", "path of the socket"],
    ["`GNO_INDEX`", "the index to use when `--index` does not say"],
    ["`GNO_NO_AUTOSTART`", "when set, gnoctl does not start the daemon"],
    ["`NO_COLOR`", "when set, no colours"],
]


def _section(field: msgspec.structs.FieldInfo) -> tuple[type[msgspec.Struct] | None, str]:
    if get_origin(field.type) is tuple:
        return get_args(field.type)[0], f"{field.name}[]"
    return (field.type, field.name) if hasattr(field.type, "__struct_fields__") else (None, "")


def _setting(where: str, field: msgspec.structs.FieldInfo) -> list[str]:
    default = "required"
    if field.default is not msgspec.NODEFAULT:
        default = f"`{_yaml(field.default)}`"
    elif field.default_factory is not msgspec.NODEFAULT:
        default = f"`{_yaml(field.default_factory())}`"
    return [f"`{where}`", _setting_type(where, field), default, _MEANINGS.get(where, "")]


def _setting_type(where: str, field: msgspec.structs.FieldInfo) -> str:
    kind = get_type_hints(_owner(where))[field.name]
    bare = (
        next((each for each in get_args(kind) if each is not type(None)), kind)
        if type(None) in get_args(kind)
        else kind
    )
    if get_origin(bare) is Literal:
        return " or ".join(f"`{each}`" for each in get_args(bare))
    if where == "models.preset":
        return " or ".join(f"`{each}`" for each in model.PRESETS)
    if get_origin(bare) is tuple:
        return "list of strings"
    if get_origin(bare) is dict:
        return "mapping"
    words: dict[object, str] = {str: "string", bool: "true or false", int: "whole number", float: "number"}
    return words[bare] + (f", {_range(where)}" if bare in (int, float) else "")


def _owner(where: str) -> type[msgspec.Struct]:
    section = next(field for field in msgspec.structs.fields(model.Config) if where.startswith(field.name))
    struct, _ = _section(section)
    assert struct
    return struct


def _range(where: str) -> str:
    """Ask the validation itself which numbers it takes, by giving it one that is too large."""
    section, _, key = where.partition(".")
    try:
        parse_text(f"{section}:\n  {key}: 1000000000000\n", Path("index.yml"))
    except ConfigInvalid as error:
        found = re.search(r"must be from (\S+) to (\S+),", error.message)
        if found:
            return f"{found[1]} to {found[2]}"
    return "any"


def _yaml(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(str(each) for each in value)}]"
    if value is None or isinstance(value, bool | dict):
        return msgspec.json.encode(value).decode()
    return str(value)


if __name__ == "__main__":
    sys.exit(main())

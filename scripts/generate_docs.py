"""Write the reference pages of docs/ from the code: protocol, errors, commands, settings, formats, search constants,
licences.

generate_docs.py            write the pages
generate_docs.py --check    list pages that are out of date, and exit with status 1 if there are any
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import licences
import msgspec
import search_constants

from gnoctl.arguments.help import GROUP_ORDER, split_help, usage
from gnoctl.arguments.options import specs
from gnoctl.arguments.parser import Spec
from gnoctl.arguments.plain_search_options import FILTERS, JSON
from gnoctl.arguments.shared_options import FilterOptions
from gnoctl.command import Options
from gnoctl.commands import ALIASES, GROUPS, NAMES, PANELS, load
from gnoctl.printing.output import EXIT_NOTHING
from gnod import errors
from gnod.config import model
from gnod.errors import GnoError
from gnod.ingest.formats.registry import REGISTRY
from gnod.ingest.reading.converter import Converter
from gnod.presets import NO_PRESET, PRESETS
from gnod.protocol import framing, openrpc
from gnod.protocol.base import Params, Result
from gnod.protocol.methods import METHODS, Method
from gnod.rpc.connection import ConnectionLimits

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

NOTICE = "<!-- Generated from the code by scripts/generate_docs.py. Run `make docs` to update it. -->"

Schema = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is out of date")
    check = parser.parse_args().check
    stale = [name for name, text in pages().items() if _update(DOCS / name, text, check=check)]
    if stale and check:
        sys.stderr.write(f"out of date: {', '.join(f'docs/{name}' for name in stale)}; run `make docs`\n")
        return 1
    sys.stdout.write(f"{len(pages())} pages are current\n" if not stale else f"wrote {', '.join(stale)}\n")
    return 0


def pages() -> dict[str, str]:
    """Return the text of every page, by file name."""
    made = {
        "protocol.md": _protocol(),
        "errors.md": _errors(),
        "commands.md": _commands(),
        "settings.md": _settings(),
        "formats.md": _formats(),
        "search-constants.md": _search_constants(),
        "licences.md": _page("Licences", _LICENCES, _table(["package", "licence"], licences.rows())),
    }
    return {name: re.sub(r"\n{3,}", "\n\n", text).strip() + "\n" for name, text in made.items()}


def _update(path: Path, text: str, *, check: bool) -> bool:
    """Return whether the page differed; write it unless this is only a check."""
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
    """Return a table, without its last column if that is empty."""
    rows = list(rows)
    if rows and not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _prose(docstring: str | None) -> str:
    """Return a docstring as Markdown, with one line for each paragraph and each item of a list."""
    return re.sub(r"(?<!\n)\n(?!\n|- )\s*", " ", inspect.cleandoc(docstring or ""))


# ---------------------------------------------------------------------------------------------- protocol


def _protocol() -> str:
    document: Schema = openrpc.document()
    schemas: dict[str, Schema] = document["components"]["schemas"]
    return _page(
        "The wire protocol",
        _WIRE.format(
            request=framing.MAX_REQUEST_BYTES // 1024**2,
            answer=framing.MAX_MESSAGE_BYTES // 1024**2,
            connections=ConnectionLimits().connections,
            reserved=ConnectionLimits().reserved,
            reserved_s=ConnectionLimits().reserved_s,
            in_flight=ConnectionLimits().in_flight,
            message_s=ConnectionLimits().message_timeout_s,
        ),
        "## Methods",
        _table(["method", "result", ""], [_method_row(method) for method in document["methods"]]),
        *(_method(method) for method in document["methods"]),
        "## Notifications",
        _table(
            ["notification", "direction", "params", ""],
            [
                [f"`{each['name']}`", each["direction"], _type(each["params"]), each["summary"]]
                for each in document["x-notifications"]
            ],
        ),
        "## Parameters that several methods have",
        *_shared_parameters(),
        "## Types",
        "Fields with a default may be absent. A client ignores unknown fields.",
        *(_struct(name, schema) for name, schema in sorted(schemas.items())),
    )


_WIRE = """\
JSON-RPC 2.0 over a Unix stream socket. `gnoctl socket` prints its path. `rpc.discover` returns this page as an OpenRPC
document.

```console
$ echo '{{"jsonrpc":"2.0","id":1,"method":"search.lexical","params":{{"query":"C++"}}}}' | nc -N -U "$(gnoctl socket)"
```

- **Framing**: the first byte on a connection selects it, and the daemon replies in the same framing. `{{` or `[`: one
  JSON message per line. `C`: `Content-Length` headers, as in the Language Server Protocol. The limits are {request} MB
  for a request and {answer} MB for a reply. The daemon disconnects a client that does not read its replies for half a
  minute.
- **Connections**: up to {connections}. A program may keep one open and idle. If all are in use, the daemon closes the
  connection that has been idle longest, if it has been idle for a minute or more and has no subscription. Connect again
  when that happens. If none is idle, {reserved} more connections are accepted: they may call only `daemon.*`, and are
  closed after {reserved_s:g} seconds. All others get the error `busy`.
- **A lost socket**: if the socket's file is deleted, open connections stay open, and the daemon recreates the file
  within two seconds. If that is not possible, it listens elsewhere: run `gnoctl socket` before you connect again.
- **Parameters** are passed by name. An unknown parameter is an error, so a typo never changes a search silently.
- **Cancelling**: send the notification `$/cancelRequest` with the id of the request. Closing a connection cancels its
  requests.
- **Progress**: a request with a `progress_token` receives `$/progress` notifications with this token before its reply.
- **Errors**: see [errors.md](errors.md). Compare `error.data.kind`; messages may change.
- **Access**: only the user that runs the daemon can connect. Check who listens (`SO_PEERCRED`) before you
  send anything, if others can write to the folder of the socket.
- **Reopening**: while the daemon reopens its index, or an upgrade replaces it, requests get the error
  `index_reopening`, and connections are closed. Nothing was done: connect and send the request again. The new
  connection waits.
- **Repeating**: a method with `x-repeatable` in `rpc.discover` may be sent again after a lost connection: sent twice,
  it has the same effect as once. `x-limit-seconds` is how long gnod's own clients wait between two messages.

## Limits

- **In flight**: {in_flight} requests of one connection. A further one is refused with `limit_exceeded`; send it again
  after a reply.
- **Batch**: {in_flight} requests. A longer one is refused as a whole, with one `limit_exceeded`.
- **Time**: a message must arrive within {message_s:g} s of its first byte, or the daemon disconnects the client.

## Compatibility

From 1.0 on, a client that works with one version works with each later one with the same first number. A test
compares the protocol with each released one.

- **What stays**: methods, parameters and fields of results with their names, types and defaults, listed values,
  notifications, and the code and kind of each error. A required field is never absent, and a field
  that is never null stays so. A repeatable method stays repeatable.
- **What may come**: methods, optional parameters, fields, values, kinds of errors, and notifications for clients that
  ask for them. Limits of parameters and messages only become wider. A required parameter may become optional.
- **What is unknown**: a client ignores fields and notifications that it does not know, and must expect unknown values
  and errors. The daemon refuses unknown methods (`method_not_found`) and parameters (`invalid_params`). So a newer
  client that an older daemon refuses can leave the parameter out. `daemon.status` has the version.
- **Deprecation**: the description of a deprecated part says so and names its replacement. It works until the
  first number changes.
- **No promise**: texts of messages, scores and the order of hits, `x-limit-seconds`, and the files of gnod.
"""


def _method_row(method: Schema) -> list[str]:
    name = method["name"]
    return [f"[`{name}`](#{name.replace('.', '')})", _result(method), method["summary"]]


def _result(method: Schema) -> str:
    name = method["result"]["name"]
    return _link(name) if METHODS[method["name"]].result.__name__ == name else name


def _method(method: Schema) -> str:
    parts = [f"### {method['name']}", f"{method['summary']} Result: {_result(method)}."]
    return "\n\n".join([*parts, *_parameters(METHODS[method["name"]].params, method["params"])])


def _shared_parameters() -> Iterator[str]:
    """Yield the structs whose parameters several methods have."""
    shared = {base for method in METHODS.values() for base in method.params.__mro__ if _is_shared(base)}
    for base in sorted(shared, key=lambda cls: cls.__name__):
        method = Method(base.__name__, base, Result, "")
        document: Schema = openrpc.document({base.__name__: method})
        yield "\n\n".join([f"### {base.__name__}", *_parameters(base, document["methods"][0]["params"])])


def _is_shared(cls: type) -> bool:
    """Return whether several methods add to these parameters."""
    users = [each.params for each in METHODS.values() if issubclass(each.params, cls)]
    return issubclass(cls, Params) and cls is not Params and len(users) > 2 and cls not in users


def _parameters(cls: type[Params], params: Sequence[Schema]) -> list[str]:
    """Describe a struct's own parameters, and name the shared ones to which they are added."""
    base = next((each for each in cls.__mro__[1:] if _is_shared(each)), None)
    own = list(takewhile(lambda each: each not in (base, Params), cls.__mro__))
    names = {name for each in own for name in inspect.get_annotations(each)}
    rows = [
        [f"`{param['name']}`", _type(param["schema"]), "required" if param["required"] else _default(param["schema"])]
        for param in params
        if param["name"] in names
    ]
    notes = [_prose(inspect.cleandoc(each.__doc__)) for each in own if each.__doc__]
    table = [_table(["parameter", "type", "default"], rows)] if rows else []
    also = [f"Also the parameters of {_link(base.__name__)}."] if base else []
    return [*notes, *table, *also] if rows or base else [*notes, "No parameters."]


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
    """Describe a JSON Schema as text."""
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
        "## Errors of gnod",
        _table(
            ["code", "kind", "class", "when"],
            [_error_row(cls) for cls in own if cls.code % 100 or cls in _FAMILIES],
        ),
        "## Errors of JSON-RPC",
        _table(["code", "kind", "class", "when"], [_error_row(cls) for cls in wire]),
        "## Exit statuses of gnoctl",
        _table(
            ["status", "meaning"],
            [
                ["0", "success; a search found something"],
                [
                    str(EXIT_NOTHING),
                    "`search`, `vsearch`, `query`, `similar`, `evidence`, `recall` or `multi-get` found nothing; "
                    "`check-links` found dead links; the user answered a question with no",
                ],
                [str(errors.EXIT_RUNTIME), "an error: a wrong command line, or a failure"],
                [str(errors.EXIT_NOT_RUNNING), "the daemon is not running, and gnoctl may not start it"],
                ["130", "interrupted by Ctrl-C"],
            ],
        ),
    )


_FAMILIES = (errors.NotFound, errors.Conflict, errors.Refused, errors.Unavailable, errors.Corrupt)

_ERRORS = """\
On the wire, an error is `{"code": …, "message": …, "data": {"kind": …}}`; `data` may have more fields. `gnoctl --json`
prints `{"error": {"code": …, "message": …, "details": …}}`. Compare `kind` (or `code`), never the message. A code that
ends in 00 stands for its family: a client can treat an unknown code as the code of its family."""


def _error_row(cls: type[GnoError]) -> list[str]:
    name = f"**{cls.__name__}**" if cls in _FAMILIES else cls.__name__
    return [str(cls.code), f"`{cls.kind}`", name, cls.doc]


# ---------------------------------------------------------------------------------------------- commands


def _commands() -> str:
    panels = []
    for panel, names in PANELS.items():
        panels += [f"## {panel}", *(_command(name) for name in names)]
    return _page(
        "The commands of gnoctl",
        "`gnoctl --help` and `gnoctl COMMAND --help` print the same in the terminal. Options may be anywhere after the "
        "command. Exit statuses are in [errors.md](errors.md).",
        f"All commands have `--json`, which prints the daemon's answer as JSON, except {', '.join(_without_json())}.",
        _table(["command", ""], [[f"[`{name}`](#gnoctl-{name.replace(' ', '-')})", _summary(name)] for name in NAMES]),
        "## Global options",
        _options_table(specs(Options)),
        "## Filters",
        "`search`, `vsearch`, `query`, `similar` and `ask` take these filters:",
        _options_table(spec for spec in specs(FilterOptions) if spec.group == FILTERS),
        *panels,
        "## gnod",
        "The daemon, in the foreground. `gnoctl` starts it; service managers run it like this:",
        "```console\n$ gnod --index default\n```",
        "SIGTERM and SIGINT stop it with status 0. SIGHUP makes it read the config file again.",
    )


def _without_json() -> Iterator[str]:
    yield from (f"`{name}`" for name in NAMES if JSON.flags not in {spec.flags for spec in specs(load(name).options)})


def _is_json(spec: Spec) -> bool:
    return spec.flags == JSON.flags and spec.help == JSON.help


def _summary(name: str) -> str:
    return split_help(load(name).help)[0][0]


def _command(name: str) -> str:
    command = load(name)
    declared = [
        spec for spec in specs(command.options) if spec.name not in Options.__struct_fields__ and not _is_json(spec)
    ]
    filters = [spec for spec in declared if spec.group == FILTERS] if issubclass(command.options, FilterOptions) else []
    listed = sorted((spec for spec in declared if spec not in filters), key=lambda spec: GROUP_ORDER.index(spec.group))
    aliases = [f"`gnoctl {alias}`" for alias, target in ALIASES.items() if target == name]
    group = name.partition(" ")[0]
    parts = [f"### gnoctl {name}"]
    if group != name and name == next(each for each in NAMES if each.startswith(f"{group} ")):
        parts.append(f"*{group}: {GROUPS[group]}*")
    parts.append(f"```text\n{usage(name, declared)}\n```")
    for prose, examples in split_help(command.help):
        parts += [prose, *(["\n".join(["```text", *map(str.strip, examples), "```"])] if examples else [])]
    if aliases:
        parts.append(f"Alias: {', '.join(aliases)}.")
    if listed:
        parts.append(_options_table(listed))
    if filters:
        parts.append("It also takes the [filters](#filters).")
    return "\n\n".join(parts)


def _options_table(declared: Iterable[Spec]) -> str:
    return _table(["option", "value", ""], [_option_row(spec) for spec in declared])


def _option_row(spec: Spec) -> list[str]:
    name = ", ".join(f"`{flag}`" for flag in spec.flags) or f"`{spec.metavar}`"
    value = spec.metavar if spec.flags else "required" if spec.required else ""
    return [name, value + (" (repeatable)" if spec.repeats else ""), spec.help]


# ---------------------------------------------------------------------------------------------- settings

_SETTINGS = """\
The settings are in `index.yml` in the config folder (`gnoctl doctor` prints its path). Without this file, the defaults
apply. The daemon detects changes of the file. If the file has errors, the last valid settings stay in effect, and
`gnoctl status` and `gnoctl doctor` list every error with its line. Commands that change the file
(`gnoctl collection …`, `gnoctl context …`) keep comments and layout.

gnod reads config files of GNO. It keeps and ignores keys that it does not support, and lists them as warnings.

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
    for field in msgspec.structs.fields(model.Config):
        struct, where = _section(field)
        if struct is not None:
            rows = [_setting(where, setting) for setting in model.settings_of(struct)]
            sections += [f"## {field.name}", _table(["setting", "type", "default", ""], rows)]
    return _page("Settings", _SETTINGS, *sections, "## Environment", _table(["variable", ""], _ENVIRONMENT))


_ENVIRONMENT = [
    ["`GNO_CONFIG_DIR`, `GNO_DATA_DIR`, `GNO_CACHE_DIR`", "these folders, instead of the platform's defaults"],
    ["`GNO_SOCKET`", "path of the socket; its folder must be one that other users cannot write"],
    ["`GNO_INDEX`", "the index to use without `--index`"],
    ["`GNO_NO_AUTOSTART`", "if set, gnoctl does not start the daemon"],
    ["`NO_COLOR`", "if set, no colours"],
]


def _section(field: msgspec.structs.FieldInfo) -> tuple[type[msgspec.Struct] | None, str]:
    if get_origin(field.type) is tuple:
        return get_args(field.type)[0], f"{field.name}[]"
    return (field.type, field.name) if hasattr(field.type, "__struct_fields__") else (None, "")


def _setting(where: str, setting: model.Setting) -> list[str]:
    default = "required" if setting.default is msgspec.NODEFAULT else f"`{_yaml(setting.default)}`"
    return [f"`{where}.{setting.name}`", _setting_type(setting), default, setting.doc]


def _setting_type(setting: model.Setting) -> str:
    kind = setting.kind
    if get_origin(kind) is Literal or setting.name == "preset":
        return " or ".join(f"`{each}`" for each in get_args(kind) or (*PRESETS, NO_PRESET))
    if get_origin(kind) is tuple:
        return "list of strings"
    if get_origin(kind) is dict:
        return "mapping"
    words: dict[object, str] = {str: "string", bool: "true or false", int: "whole number", float: "number"}
    return words[kind] + (f", {setting.low:,} to {setting.high:,}" if kind in (int, float) else "")


def _yaml(value: object) -> str:
    if isinstance(value, str) and "\n" in value:
        return msgspec.json.encode(value).decode()
    if isinstance(value, tuple | list):
        return f"[{', '.join(str(each) for each in value)}]"
    if value is None or isinstance(value, bool | dict):
        return msgspec.json.encode(value).decode()
    return str(value)


# ---------------------------------------------------------------------------------------------- formats

_FORMATS = """\
gnod recognises binary formats by their content, regardless of the file name, and text formats by their names. A
file with an unknown extension is read as plain text if it is text. `gnoctl why FILE` says how a file was read, or why
it was not.
[Conversations](#conversations) are recognised by their content in files of text and JSON.

- **Headings**: the passages of the document know the headings above them.
- **A hit names** the line of the file, the page, the slide, the sheet and row, the cell of a notebook, the message of a
  mailbox, or the file in an archive. Hits in other formats name lines of gnod's own Markdown.
- **Pictures**: text in pictures is read.
- **Numbers in workbooks** have no separators between thousands: search for `1234.50` to find a cell that shows
  1,234.50. Digits that a cell hides follow in parentheses, so `33%` and `33.3333333333333%` both find a third.

All formats are read in a worker process with limits of time, memory and size (`ingest` in
[settings.md](settings.md))."""


_CONVERSATIONS = """\
## Conversations

Transcripts of agents and chats become documents with a heading for each message, such as `## Mara, 2026-03-04 10:22`
or `## user, 2026-03-04 10:22`. In an export of several conversations, each becomes a document:
`conversations.json!/Title`. A conversation of more than 256,000 characters has several documents (`part 2`).

- The input and output of an agent's tools are folded, and cut after 12 lines or 1,200 characters. Pictures and a
  model's reasoning are left out. Messages are quoted: headings in them are not headings of the document.
- Times come from the file. Documents say if they are in UTC.
- Keys and passwords are masked: `[masked: GitHub token]`. gnod masks known formats of keys, and values after names
  such as `password` or `api_key`, but not a password in a sentence. `mask_secrets: false` turns this off for a
  collection.
- Lines that cannot be read are counted in the document. Of a truncated export, gnod reads the
  conversations before the cut.

| program | file |
| --- | --- |
| Claude Code | `~/.claude/projects/PROJECT/SESSION.jsonl` |
| Codex | `~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl` |
| ChatGPT, Claude | `conversations.json` of the export |
| mail | a mailbox (mbox): threads, by references or by the subject of an answer; other mails stay together |
| Gemini | My Activity of Google Takeout, as JSON or as a web page, each day a document |
| Slack | the zip archive of the export, each channel a document; or its unpacked files, each a document |
| Teams | messages of Microsoft Graph as JSON; `messages.json` of a personal account, as Skype had |
| WhatsApp | the exported text, with the dates of many countries |
| Signal | the Markdown of signal-export |
| IRC | logs of irssi, WeeChat, ZNC, HexChat |
| Matrix | a room that Element exported as JSON |"""


def _formats() -> str:
    read = [converter for converter in REGISTRY if converter.read and converter.mime]
    unread = [converter for converter in REGISTRY if not converter.read and _extensions(converter)]
    return _page(
        "Formats",
        _FORMATS,
        "## Formats that are read",
        _table(
            ["format", "extensions", "headings", "a hit names", "pictures", "remark"], _merged(map(_format_row, read))
        ),
        _CONVERSATIONS,
        "## Formats that are not read",
        "They are skipped. Convert what you want to find.",
        _table(["format", "extensions", "instead"], _merged(map(_unread_row, unread))),
    )


def _format_row(converter: Converter) -> list[str]:
    return [
        _format_name(converter),
        _extensions(converter),
        "yes" if converter.headings else "",
        _PLACES.get(converter.location, converter.location),
        "yes" if converter.images else "",
        converter.remark,
    ]


_PLACES = {"sheet": "sheet and row"}


def _unread_row(converter: Converter) -> list[str]:
    return [_format_name(converter), _extensions(converter), converter.instead]


def _format_name(converter: Converter) -> str:
    return re.sub(r"^an? ", "", converter.label)


def _extensions(converter: Converter) -> str:
    return f"{converter.extensions} {converter.shared_extensions} {converter.file_names}".strip()


def _merged(rows: Iterable[list[str]]) -> list[list[str]]:
    """Join the rows that differ only in their extensions, which are sorted."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, extensions, *rest in rows:
        found.setdefault((name, *rest), []).extend(extensions.split())
    return [[name, " ".join(sorted(words)), *rest] for (name, *rest), words in found.items()]


# --------------------------------------------------------------------------------------- search constants

_CONSTANTS = """\
The constants behind [how search works](how-search-works.md). The [decisions](adr/README.md) and comments in the code
say why a constant has its value. `scripts/search_constants.py` lists the rows of this page."""


def _search_constants() -> str:
    parts = []
    for title, constants in search_constants.SECTIONS.items():
        parts += [f"## {title}", _table(["constant", "value", "where"], (each.row() for each in constants))]
    return _page("Constants of search", _CONSTANTS, *parts)


# ---------------------------------------------------------------------------------------------- licences

_LICENCES = """\
gnod is under the [MIT licence](../LICENSE). Three of its files contain data of others, whose licences are in
`licenses/` and in the package:

| file | from | licence |
| --- | --- | --- |
| `gnod/analysis/traditional.txt` | `TSCharacters` of OpenCC, by Carbo Kuo and others | Apache-2.0 |
| `gnod/analysis/months.txt` | dateparser, and Unicode's CLDR in it | BSD-3-Clause, Unicode-3.0 |
| `gnod/analysis/trigrams.xz` | computed with the models of lingua, by Peter M. Stahl | Apache-2.0 |

The packages that pip installs with gnod on Linux with Python 3.11, and their licences according to their metadata. On
macOS there are fewer. What the extras add is in [dependencies.md](dependencies.md)."""


if __name__ == "__main__":
    sys.exit(main())

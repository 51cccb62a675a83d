"""`gnoctl collection …` and `context …`: the folders that are indexed, what they are about, and who else may search
them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec.structs import replace

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.plain_search_options import split_commas
from gnoctl.arguments.references import folder
from gnoctl.arguments.shared_options import NameOptions
from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import JsonOptions, command
from gnoctl.commands.index import describe_sync, sync, sync_status
from gnoctl.printing import text
from gnoctl.printing.output import NOTHING_INDEXED, note, print_json
from gnoctl.printing.terminal import Terminal, columns
from gnoctl.printing.wording import count, size
from gnod.client.connection import Connection
from gnod.errors import EXIT_RUNTIME, UsageError
from gnod.protocol import collections as wire
from gnod.protocol.base import NoParams


class FolderOptions(JsonOptions, frozen=True, kw_only=True):
    name: Annotated[str | None, option("--name", "Name of the collection [default: the folder's name]", "NAME")] = None
    pattern: Annotated[str, option("--pattern", "Files to index", "GLOB")] = "**/*"
    include: Annotated[list[str], option("--include", "Index only these extensions: md,txt. Repeatable", "EXT")] = []
    exclude: Annotated[
        list[str], option("--exclude", "Exclude these, instead of node_modules, build, … Repeatable", "GLOB")
    ] = []
    language: Annotated[str | None, option("--language", "Language of all documents [default: detected]", "CODE")] = (
        None
    )
    update: Annotated[str | None, option("--update", "Command that `gnoctl update` runs in the folder", "COMMAND")] = (
        None
    )
    egress: Annotated[
        wire.Scope, option("--egress", "How far its texts may travel to model servers: local, lan or any", "SCOPE")
    ] = "local"
    ocr: Annotated[
        str,
        option("--ocr", "Read scans and pictures: on, off, or their languages: ru,de", "SETTING", complete="on|off"),
    ] = "on"
    no_gitignore: Annotated[bool, option("--no-gitignore", "Also index files that .gitignore excludes")] = False
    hidden: Annotated[bool, option("--hidden", "Also index hidden files and folders, such as .obsidian")] = False
    no_index: Annotated[bool, option("--no-index", "Do not wait until the folder is indexed")] = False


class AddOptions(FolderOptions, frozen=True, kw_only=True):
    path: Annotated[str | None, argument("PATH", "The folder")] = None
    kind: Annotated[
        Literal["files", "conversations"],
        option("--kind", "Its content: files, or conversations, which are found without PATH", "KIND"),
    ] = "files"
    yes: Annotated[bool, option("-y, --yes", "Add all places with conversations without asking")] = False


@command("collection add", AddOptions)
def add(options: AddOptions) -> int:
    """Add a folder and index it.

    From then on, changes in the folder are indexed automatically. gnod reads the folder; only `gnoctl capture` writes
    to it. With --kind conversations and no PATH, it looks for the conversations of Claude Code, Codex and IRC programs,
    shows what it found, and asks.

    Examples:
      gnoctl collection add ~/notes
      gnoctl collection add ~/src/handbook --name handbook --include md,rst --update 'git pull --quiet'
      gnoctl collection add ~/docs --egress lan
      gnoctl collection add --kind conversations
      gnoctl collection add ~/exports/slack --kind conversations
    """
    if (path := options.path) is None:
        return _add_conversations(options)
    if options.kind == "conversations":
        options = replace(options, include=options.include or _EXTENSIONS)
    with options.connect() as daemon:
        status, result = add_and_index(daemon, options, path)
    if options.json:
        print_json(result)
    return status


def _add_conversations(options: AddOptions) -> int:
    """Add the folders in which programs keep conversations, each as a collection."""
    if options.kind == "files":
        raise UsageError("no folder was given: run `gnoctl collection add FOLDER`")
    with options.connect() as daemon:
        known = daemon.call("collection.list", NoParams(), wire.CollectionListResult).collections
        added = {os.path.realpath(each.path) for each in known}
        found = [each for each in _usual_places() if os.path.realpath(each[0].folder) not in added]
        for place, sizes in found:
            files = f"{count(len(sizes), 'file')}, {size(sum(sizes))}"
            options.note(text.line(f"{place.program}: {files}, in {place.folder}"))
        if not found:
            options.note("No other conversations were found: name their folder, as in `gnoctl collection add FOLDER`")
        elif not options.yes and not confirmed("Index them, with keys and passwords masked?"):
            return 0
        results = []
        for place, _ in found:
            own = replace(options, name=place.name, include=options.include or [place.extension], no_gitignore=True)
            results.append(add_and_index(daemon, own, str(place.folder)))
    if options.json:
        print_json([result for _, result in results])
    return max((status for status, _ in results), default=0)


# The extensions of exports and logs. Files that are not conversations are indexed like other files.
_EXTENSIONS = ["jsonl", "json", "html", "txt", "log", "weechatlog", "zip"]


class ConversationPlace(NamedTuple):
    """A folder in which a program keeps conversations, and the extension of their files. `variable`: the environment
    variable that names another folder than `usual`, which is below the home folder; `below`: the folder in either."""

    program: str
    name: str
    usual: str
    below: str
    extension: str
    variable: str = ""

    @property
    def folder(self) -> Path:
        return Path(os.environ.get(self.variable) or Path.home() / self.usual) / self.below


_PLACES = (
    ConversationPlace("Claude Code", "claude-code", ".claude", "projects", "jsonl", "CLAUDE_CONFIG_DIR"),
    ConversationPlace("Codex", "codex", ".codex", "sessions", "jsonl", "CODEX_HOME"),
    ConversationPlace("irssi", "irssi", "irclogs", "", "log"),
    ConversationPlace("WeeChat", "weechat", ".local/share/weechat", "logs", "weechatlog", "WEECHAT_HOME"),
    ConversationPlace("WeeChat, before 3.2", "weechat-before-3-2", ".weechat", "logs", "weechatlog"),
    ConversationPlace("HexChat", "hexchat", ".config/hexchat", "logs", "log"),
)


def _usual_places() -> Iterator[tuple[ConversationPlace, list[int]]]:
    """Yield the places that have conversations, with the sizes of their files, whose content is not read."""
    for place in _PLACES:
        if sizes := list(_sizes(place)):
            yield place, sizes


def _sizes(place: ConversationPlace) -> Iterator[int]:
    for path, _, names in os.walk(place.folder):  # unreadable folders are left out
        for name in names:
            if name.endswith(f".{place.extension}"):
                with suppress(OSError):
                    yield Path(path, name).stat().st_size


def add_and_index(daemon: Connection, options: FolderOptions, path: str) -> tuple[int, wire.CollectionAddResult]:
    """Add the folder, and index it unless --no-index is given. Return the exit status and the daemon's answer."""
    params = wire.CollectionAddParams(
        path=folder(path),
        name=options.name,
        pattern=options.pattern,
        include=split_commas(options.include),
        exclude=split_commas(options.exclude) or None,
        language=options.language,
        update_command=options.update,
        gitignore=not options.no_gitignore,
        hidden=options.hidden,
        egress=options.egress,
        ocr=options.ocr,
    )
    result = daemon.call("collection.add", params, wire.CollectionAddResult)
    collection = result.collection
    if not options.json:
        print(text.line(f"added {collection.name}: {collection.path}"))
    status = 0
    if not options.no_index:
        synced = sync(daemon, options, [collection.name])
        if not options.json:
            status = sync_status(synced)
            for line in describe_sync(synced, options):
                print(line)
    return status, result


@command("collection list", JsonOptions)
def list_collections(options: JsonOptions) -> None:
    """List the collections."""
    result = options.call("collection.list", NoParams(), wire.CollectionListResult)
    options.show(result, _table(result, options.terminal))


def _table(result: wire.CollectionListResult, terminal: Terminal) -> Iterator[str]:
    rows = [
        [collection.name, f"{collection.documents:,}", collection.pattern, collection.path]
        for collection in result.collections
    ]
    rows += [[each.name, f"{each.documents or 0:,}", "(attached)", each.address] for each in result.attached]
    if rows:
        yield from columns(["collection", "documents", "pattern", "path"], rows, terminal)
    else:
        note(NOTHING_INDEXED)


class AttachOptions(JsonOptions, frozen=True, kw_only=True):
    address: Annotated[str, argument("ADDRESS", "Such as milvus+tls://host:19530/team/handbook")]
    name: Annotated[str | None, option("--name", "The name to use here [default: as in the address]", "NAME")] = None
    egress: Annotated[wire.Scope, option("--egress", "How far queries may travel: local, lan or any", "SCOPE")] = (
        "local"
    )
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False


@command("collection attach", AttachOptions)
def attach(options: AttachOptions) -> None:
    """Search a collection that another daemon publishes, together with your own.

    Every search in it sends the weights of the query's words, and the query's vector, to the server of the collection,
    so the command says what leaves the machine, and asks. Put a token for the server into the environment of the
    daemon, as GNO_TOKEN_HOST, or into the keyring.

    Examples:
      gnoctl collection attach milvus+tls://milvus.example/team/handbook --egress any
      gnoctl search 'parental leave' -c handbook
    """
    params = wire.CollectionAttachParams(
        address=options.address, name=options.name, egress=options.egress, check_only=True
    )
    found = options.call("collection.attach", params, wire.CollectionAttachResult).collection
    if not options.json:
        print(text.line(f"{found.name}: {count(found.documents or 0, 'document')}, published by {found.publisher}"))
        print(text.line(f"Each search in it, or in all collections, sends its words and vector to {found.address}."))
    if not options.yes and not confirmed("Attach it?"):
        return
    result = options.call("collection.attach", replace(params, check_only=False), wire.CollectionAttachResult)
    options.show(result, text.line(f"attached {found.name}"))


@command("collection detach", NameOptions)
def detach(options: NameOptions) -> None:
    """Stop searching an attached collection, and delete its data on this machine."""
    result = options.call(
        "collection.detach", wire.CollectionDetachParams(name=options.name), wire.CollectionDetachResult
    )
    options.show(result, f"detached {result.name}")


@command("collection remove", NameOptions)
def remove(options: NameOptions) -> None:
    """Remove a collection from the index.

    The files stay as they are.
    """
    result = options.call(
        "collection.remove", wire.CollectionRemoveParams(name=options.name), wire.CollectionRemoveResult
    )
    removed = count(result.removed_documents, "document")
    options.show(result, f"removed {result.name}: {removed} left the index")


class RenameOptions(NameOptions, frozen=True, kw_only=True):
    new_name: Annotated[str, argument("NEW_NAME", "The new name")]


@command("collection rename", RenameOptions)
def rename(options: RenameOptions) -> None:
    """Rename a collection.

    Nothing is indexed again; the contexts of the collection move with it.
    """
    params = wire.CollectionRenameParams(name=options.name, new_name=options.new_name)
    result = options.call("collection.rename", params, wire.CollectionRenameResult)
    options.show(result, f"renamed {result.name} to {result.new_name}")


class ContextAddOptions(JsonOptions, frozen=True, kw_only=True):
    scope: Annotated[str, argument("SCOPE", "/ for everything, collection:, or gno://collection/prefix")]
    words: Annotated[list[str], argument("TEXT", "What it is about")]


@command("context add", ContextAddOptions)
def add_context(options: ContextAddOptions) -> None:
    """Describe what a folder is about; every result from it includes the text.

    Examples:
      gnoctl context add / 'My notes since 2019'
      gnoctl context add work: 'Documentation of the payment team'
      gnoctl context add gno://work/adr 'Decisions; newer ones replace older ones'
    """
    params = wire.ContextAddParams(scope=options.scope, text=" ".join(options.words))
    result = options.call("context.add", params, wire.ContextAddResult)
    options.show(result, text.line(f"{result.context.scope}  {result.context.text}"))


@command("context list", JsonOptions)
def list_contexts(options: JsonOptions) -> None:
    """List the contexts."""
    result = options.call("context.list", NoParams(), wire.ContextListResult)
    options.show(result, _contexts(result))


def _contexts(result: wire.ContextListResult) -> Iterator[str]:
    if not result.contexts:
        note("No contexts yet: run `gnoctl context add SCOPE TEXT`")
    width = max((text.cells(context.scope) for context in result.contexts), default=0)
    for each in result.contexts:
        yield f"{text.pad(text.line(each.scope), width)}  {text.line(each.text)}"


class ContextNameOptions(JsonOptions, frozen=True, kw_only=True):
    scope: Annotated[str, argument("SCOPE", "The scope, as it was added")]
    words: Annotated[list[str], argument("TEXT", "Remove only the context with this text")] = []


@command("context rm", ContextNameOptions)
def remove_context(options: ContextNameOptions) -> None:
    """Remove the contexts of a scope, or the one with the given text."""
    params = wire.ContextRemoveParams(scope=options.scope, text=" ".join(options.words) or None)
    result = options.call("context.remove", params, wire.ContextRemoveResult)
    options.show(result, f"removed {count(len(result.removed), 'context')}")


class PublishOptions(NameOptions, frozen=True, kw_only=True):
    to: Annotated[str, option("--to", "Such as milvus+tls://host:19530/team [default: where it is now]", "ADDRESS")] = (
        ""
    )
    take_over: Annotated[bool, option("--take-over", "Take over even if another daemon is the publisher")] = False
    no_wait: Annotated[bool, option("--no-wait", "Do not wait until everything is published")] = False
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False


@command("collection publish", PublishOptions)
def publish(options: PublishOptions) -> int:
    """Publish a collection, so that others can search it.

    Says what leaves the machine, and asks. From then on, changes are published automatically; `gnoctl status` shows
    whether any are pending. The setting `egress` of the collection must allow the address. Put a token for the server
    into the environment of the daemon, as GNO_TOKEN_HOST, or into the keyring: `keyring set gnod-shared HOST:PORT`.

    Only one daemon can publish a collection; --take-over makes this one the publisher, for example on a new machine.

    Examples:
      gnoctl collection publish handbook --to milvus+tls://milvus.example:19530/team
      gnoctl collection publish handbook --to milvus://10.1.2.3/team/handbook --yes --take-over
    """
    params = wire.CollectionPublishParams(
        name=options.name, address=options.to, take_over=options.take_over, wait=not options.no_wait
    )
    found = options.call("collection.publish", replace(params, check_only=True), wire.CollectionPublishResult)
    if not options.json:
        for line in _what_leaves(found):
            print(line)
    if not options.yes and not confirmed("Publish it?"):
        return 0
    result = options.call("collection.publish", params, wire.CollectionPublishResult, shows_progress=True)
    options.show(result, _published(result.publication))
    return EXIT_RUNTIME if result.publication.state == "failing" else 0


def _what_leaves(found: wire.CollectionPublishResult) -> Iterator[str]:
    publication = found.publication
    documents = count(publication.behind, "document")
    yield text.line(f"{publication.collection}: {documents} → {publication.address}")
    yield "Their texts, titles, paths in the folder, tags, dates, links and vectors are stored there."
    yield "Everyone who can read that database can read all of it."
    if found.publisher:
        yield text.line(f"{found.publisher} publishes it now.")


def _published(publication: wire.PublicationInfo) -> str:
    if publication.state == "failing":
        return text.line(f"{publication.collection} is not published yet: {publication.reason}; gnod tries again")
    if publication.state == "publishing":
        return text.line(f"{publication.collection}: `gnoctl status` shows the progress")
    documents = count(publication.documents, "document")
    return text.line(f"published {publication.collection}: {documents} at {publication.address}")


@command("collection unpublish", NameOptions)
def unpublish(options: NameOptions) -> None:
    """Remove everything that was published from a collection.

    Counts the rows before and afterwards, and prints both. The collection itself does not change. Others keep the
    documents that they have fetched.
    """
    params = wire.CollectionUnpublishParams(name=options.name)
    result = options.call("collection.unpublish", params, wire.CollectionUnpublishResult)
    options.show(result, _removed(result))


def _removed(result: wire.CollectionUnpublishResult) -> Iterator[str]:
    removed = ", ".join(f"{number:,} {kind}" for kind, number in result.removed.items())
    left = ", ".join(f"{number:,} {kind}" for kind, number in result.left.items())
    yield text.line(f"removed {result.name} from {result.address}: {removed}")
    yield text.line(f"left there: {left}")

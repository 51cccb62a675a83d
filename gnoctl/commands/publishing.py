"""`gnoctl collection publish` and `unpublish`: a collection for others to search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec.structs import replace

from gnoctl.arguments.options import option
from gnoctl.arguments.shared_options import NameOptions
from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import command
from gnoctl.printing import text
from gnoctl.printing.wording import count
from gnod.errors import EXIT_RUNTIME
from gnod.protocol import collections as wire


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
    whether some wait. The setting `egress` of the collection must allow the address. A token for the server is in the
    environment of the daemon, as GNO_TOKEN_HOST, or in the keyring: `keyring set gnod-shared HOST:PORT`.

    One daemon publishes a collection. Another one is refused; --take-over makes it the publisher, for example on a new
    machine.

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
        return text.line(f"{publication.collection}: `gnoctl status` shows how far it is")
    documents = count(publication.documents, "document")
    return text.line(f"published {publication.collection}: {documents} at {publication.address}")


@command("collection unpublish", NameOptions)
def unpublish(options: NameOptions) -> None:
    """Remove everything that was published of a collection.

    Counts the rows before and afterwards, and prints both. The collection itself does not change. Documents that others
    have fetched stay with them.
    """
    params = wire.CollectionUnpublishParams(name=options.name)
    result = options.call("collection.unpublish", params, wire.CollectionUnpublishResult)
    options.show(result, _removed(result))


def _removed(result: wire.CollectionUnpublishResult) -> Iterator[str]:
    removed = ", ".join(f"{number:,} {kind}" for kind, number in result.removed.items())
    left = ", ".join(f"{number:,} {kind}" for kind, number in result.left.items())
    yield text.line(f"removed {result.name} from {result.address}: {removed}")
    yield text.line(f"left there: {left}")

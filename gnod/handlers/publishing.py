"""`collection.publish` and `collection.unpublish`, and what `status` and `doctor` say of what is published."""

from __future__ import annotations

from collections.abc import Mapping

from gnod.configured.configuration import Configuration
from gnod.handlers.wire_types import iso
from gnod.protocol import collections as wire
from gnod.protocol.base import ProgressValue, copied
from gnod.protocol.daemon import Check
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.shared.publisher import PublicationState, PublishingService
from gnod.store.database import Database
from gnod.store.tables import documents


def handlers(configuration: Configuration, database: Database, publishing: PublishingService) -> Mapping[str, Handler]:
    async def collection_publish(params: wire.CollectionPublishParams, call: Call) -> wire.CollectionPublishResult:
        name, known = params.name, configuration.collection(params.name).publish
        written = params.address or known or ""
        total = await database.read(lambda connection: documents.count_under(connection, name, ""))
        if params.check_only:
            address, header = await publishing.look(name, written)
            found = wire.PublicationInfo(collection=name, address=str(address), state="idle", behind=total)
            return wire.CollectionPublishResult(publication=found, publisher=header.publisher_label if header else None)
        await publishing.publish(name, written, take_over=params.take_over)

        def report(state: PublicationState) -> None:
            done = max(total - state.behind, 0) if state.behind else state.documents
            call.progress(ProgressValue(stage="publish", done=done, total=total, label=name))

        state = next(each for each in publishing.states() if each.collection == name)
        if params.wait:
            state = await publishing.up_to_date(name, report)
        return wire.CollectionPublishResult(publication=info(state))

    async def collection_unpublish(params: wire.CollectionUnpublishParams, _: Call) -> wire.CollectionUnpublishResult:
        removed = await publishing.unpublish(params.name)
        return wire.CollectionUnpublishResult(
            name=params.name, address=removed.address, removed=removed.before, left=removed.after
        )

    return named(collection_publish, collection_unpublish)


def infos(publishing: PublishingService) -> list[wire.PublicationInfo]:
    return [info(state) for state in publishing.states()]


def info(state: PublicationState) -> wire.PublicationInfo:
    return copied(wire.PublicationInfo, state, told_at=None if state.told_at is None else iso(state.told_at))


def checks(publishing: PublishingService) -> list[Check]:
    return [_check(state) for state in publishing.states()]


def _check(state: PublicationState) -> Check:
    name = f"published {state.collection}"
    if state.state == "failing":
        return Check(name, "warning", f"{state.address}: {state.reason}", "gnoctl status")
    if state.failed:
        refused = f"{state.address} refuses {state.failed} of {state.documents} documents"
        return Check(name, "warning", refused, "gnoctl daemon logs")
    behind = f", {state.behind:,} changes behind" if state.behind else ""
    return Check(name, "ok", f"{state.address}: {state.documents:,} documents{behind}")

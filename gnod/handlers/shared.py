"""`collection.attach`, `detach`, `publish`, `unpublish`; and the state of shared collections for `status` and
`doctor`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

from gnod.config import edit, shared_addresses
from gnod.config.model import AttachedConfig
from gnod.configured.configuration import Configuration
from gnod.configured.egress_gate import EgressPolicy
from gnod.egress import Egress
from gnod.errors import NotPublished
from gnod.handlers.wire_types import iso
from gnod.protocol import collections as wire
from gnod.protocol.base import ProgressValue, copied
from gnod.protocol.daemon import Check
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.shared.attached import AttachedCollections, AttachedReport
from gnod.shared.publisher import PublicationState, PublishingService
from gnod.store.database import Database
from gnod.store.tables import documents
from gnod.types import check_collection_name


def handlers(
    configuration: Configuration,
    database: Database,
    attached: AttachedCollections,
    publishing: PublishingService,
    egress: EgressPolicy,
) -> Mapping[str, Handler]:
    async def collection_attach(params: wire.CollectionAttachParams, _: Call) -> wire.CollectionAttachResult:
        where = shared_addresses.parse(params.address)
        config = AttachedConfig(name=params.name or where.collection, address=str(where), egress=params.egress)
        check_collection_name(config.name)
        within = Egress(config.egress, f"the collection {config.name}")
        with egress.requested(config.address, "search", config.name, within):
            header = await attached.look(config.address, config.name)
        if header is None:
            raise NotPublished(f"nothing is published at {config.address}", {"address": config.address})
        if not params.check_only:
            await configuration.edit(partial(edit.attach, attached=config))
        return wire.CollectionAttachResult(collection=attached_info(AttachedReport(config, header, None, [])))

    async def collection_detach(params: wire.CollectionDetachParams, _: Call) -> wire.CollectionDetachResult:
        await configuration.edit(partial(edit.detach, name=params.name))
        return wire.CollectionDetachResult(name=params.name)

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
        return wire.CollectionPublishResult(publication=publication_info(state))

    async def collection_unpublish(params: wire.CollectionUnpublishParams, _: Call) -> wire.CollectionUnpublishResult:
        removed = await publishing.unpublish(params.name)
        return wire.CollectionUnpublishResult(
            name=params.name, address=removed.address, removed=removed.before, left=removed.after
        )

    return named(collection_attach, collection_detach, collection_publish, collection_unpublish)


def attached_infos(attached: AttachedCollections) -> list[wire.AttachedInfo]:
    return [attached_info(report) for report in attached.reports()]


def attached_info(report: AttachedReport) -> wire.AttachedInfo:
    header = report.header
    known = {}
    if header:
        known = {
            "documents": header.documents,
            "languages": list(header.languages),
            "model": header.model,
            "publisher": header.publisher_label,
            "published_ago_s": round(max(time.time() - header.published_at, 0.0), 1),
            "behind": header.behind,
        }
    return copied(wire.AttachedInfo, report.config, problem=report.problem, limits=list(report.limits), **known)


def _published(each: wire.AttachedInfo) -> str:
    """Return in words how old the engine's copy is."""
    if each.published_ago_s is None:
        return each.address
    behind = f"{each.behind:,} changes behind" if each.behind else "nothing is missing"
    return f"{each.address}, published {each.published_ago_s:,.0f} s ago, {behind}"


def publication_infos(publishing: PublishingService) -> list[wire.PublicationInfo]:
    return [publication_info(state) for state in publishing.states()]


def publication_info(state: PublicationState) -> wire.PublicationInfo:
    return copied(wire.PublicationInfo, state, told_at=None if state.told_at is None else iso(state.told_at))


def checks(attached: AttachedCollections, publishing: PublishingService) -> list[Check]:
    return [*map(_attached_check, attached.reports()), *map(_published_check, publishing.states())]


def _attached_check(report: AttachedReport) -> Check:
    subject = f"attached collection {report.config.name}"
    if report.problem:
        remedy = f"check its server, or run: gnoctl collection detach {report.config.name}"
        return Check(subject, "warning", report.problem, remedy)
    state = _published(attached_info(report))
    return Check(subject, "warning" if report.limits else "ok", "; ".join([state, *report.limits]))


def _published_check(state: PublicationState) -> Check:
    name = f"published {state.collection}"
    if state.state == "failing":
        return Check(name, "warning", f"{state.address}: {state.reason}", "gnoctl status")
    if state.failed:
        refused = f"{state.address} refuses {state.failed} of {state.documents} documents"
        return Check(name, "warning", refused, "gnoctl daemon logs")
    behind = f", {state.behind:,} changes behind" if state.behind else ""
    return Check(name, "ok", f"{state.address}: {state.documents:,} documents{behind}")

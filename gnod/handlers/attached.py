"""`collection.attach` and `collection.detach`, and what is said of attached collections elsewhere."""

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
from gnod.protocol.base import copied
from gnod.protocol.daemon import Check
from gnod.rpc.dispatcher import Call, Handler
from gnod.shared.attached import AttachedCollections, AttachedReport
from gnod.types import check_collection_name


def handlers(
    configuration: Configuration, attached: AttachedCollections, egress: EgressPolicy
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
        return wire.CollectionAttachResult(collection=info(AttachedReport(config, header, None, [])))

    async def collection_detach(params: wire.CollectionDetachParams, _: Call) -> wire.CollectionDetachResult:
        await configuration.edit(partial(edit.detach, name=params.name))
        return wire.CollectionDetachResult(name=params.name)

    return {"collection.attach": collection_attach, "collection.detach": collection_detach}


def infos(attached: AttachedCollections) -> list[wire.AttachedInfo]:
    return [info(report) for report in attached.reports()]


def checks(attached: AttachedCollections) -> list[Check]:
    return [_check(report) for report in attached.reports()]


def _check(report: AttachedReport) -> Check:
    subject = f"attached collection {report.config.name}"
    if report.problem:
        remedy = f"check its server, or run: gnoctl collection detach {report.config.name}"
        return Check(subject, "warning", report.problem, remedy)
    state = published(info(report))
    return Check(subject, "warning" if report.limits else "ok", "; ".join([state, *report.limits]))


def info(report: AttachedReport) -> wire.AttachedInfo:
    header = report.header
    known = {}
    if header:
        known = {
            "documents": header.documents,
            "languages": list(header.languages),
            "model": header.model,
            "publisher": header.publisher_label,
            "published_at": iso(header.published_at),
            "published_ago_s": round(max(time.time() - header.published_at, 0.0), 1),
            "behind": header.behind,
        }
    return copied(wire.AttachedInfo, report.config, problem=report.problem, limits=list(report.limits), **known)


def published(each: wire.AttachedInfo) -> str:
    """Return how old what the engine has is, in words."""
    if each.published_ago_s is None:
        return each.address
    behind = f"{each.behind:,} changes behind" if each.behind else "nothing is missing"
    return f"{each.address}, published {each.published_ago_s:,.0f} s ago, {behind}"

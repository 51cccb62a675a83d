"""Egress with a whole daemon in this process: which data reaches a model server and which does not.

The server on loopback simulates one in the local network. An audit hook records every connection and datagram of this
process.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from gnod.daemon import composition
from gnod.daemon.composition import ComposedServices
from gnod.daemon.lifecycle import Control
from gnod.errors import EndpointChanged, GnoError
from gnod.protocol.methods import METHODS
from gnod.rpc.call import Call
from gnod.rpc.stats import Stats
from tests.models.endpoint_imitation import EndpointImitation
from tests.models.remote_bench import ADDRESSES, LAN
from tests.rpc.harness import places_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("keyring_file")]

SECRET = "The heron nests behind the boathouse, and nobody else knows."
OPEN = "Herons come back to the harbour in March and stay until October."

_trapped: list[tuple[str, Any]] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _trapped is not None and event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        _trapped.append((event, arguments[1]))


sys.addaudithook(_note)  # it cannot be removed; it records only between `trap` and its end


@contextlib.contextmanager
def trap() -> Iterator[list[tuple[str, Any]]]:
    """Record the destinations of this process's connections."""
    global _trapped
    found: list[tuple[str, Any]] = []
    _trapped = found
    try:
        yield found
    finally:
        _trapped = None


def beyond(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the entries that did not go to a Unix socket."""
    return [each for each in found if isinstance(each[1], tuple)]


class Daemon:
    """A daemon whose models are all on one server."""

    def __init__(self, folder: Path, services: ComposedServices) -> None:
        self.folder = folder
        self.services = services

    async def call(self, method: str, params: Any) -> Any:
        return await self.services.handlers[method](params, Call(lambda _: True))

    async def ask(self, method: str, **params: Any) -> Any:
        return await self.call(method, METHODS[method].params(**params))

    async def sync(self) -> str | None:
        """Index and embed. Returns why the embedding waits, or None."""
        await self.services.freshness.refresh([], embedded=False)
        return (await self.services.backlog.follow()).reason

    async def query(self, *collections: str, text: str = "when do herons come back") -> Any:
        return await self.ask("search.query", query=text, collections=[*collections], explain=True, budget_s=20)


def configure(folder: Path, roles: dict[str, str], memory: str = "local", **egress: str) -> Path:
    """Write the config; each collection has one document."""
    lines = ["collections:"]
    for name, scope in egress.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "heron.md").write_text(f"# {name}\n\n{SECRET if name == 'private' else OPEN}\n")
        lines.append(f"  - {{name: {name}, path: {folder / name}, egress: {scope}}}")
    listed = ", ".join(f'{role}: "{uri}"' for role, uri in roles.items())
    lines += [f"models: {{preset: mini, {listed}}}", f"memory: {{egress: {memory}}}"]
    path = places_in(folder).config_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


@contextlib.asynccontextmanager
async def daemon(folder: Path) -> AsyncIterator[Daemon]:
    services = await composition.start(places_in(folder), Stats(), Control(), addresses=ADDRESSES)
    try:
        yield Daemon(folder, services)
    finally:
        await services.close()


@pytest.fixture
def lan() -> Iterator[EndpointImitation]:
    with EndpointImitation(LAN, "lan.test") as server:
        yield server


def all_roles(server: EndpointImitation) -> dict[str, str]:
    return dict.fromkeys(("embed", "rerank", "expand", "answer"), server.uri)


async def test_a_local_collection_and_the_memories_send_no_byte(short_tmp: Path, lan: EndpointImitation) -> None:
    configure(short_tmp, all_roles(lan), private="local")
    with trap() as trapped:
        async with daemon(short_tmp) as it:
            reason = await it.sync()
            found = await it.query()
            asked = await it.ask("ask.answer", question="where does the heron nest")
            with pytest.raises(GnoError):
                await it.ask("search.vector", query="heron")
            with pytest.raises(GnoError):
                await it.ask("index.tune", collections=["private"])
            stored = await it.ask("memory.store", text=SECRET, topics=["heron"])
            recalled = await it.ask("memory.search", query="heron")
            doctor = await it.ask("doctor.run")
            status = await it.ask("index.status")
            await it.ask("models.list")
    assert beyond(trapped) == []
    assert (lan.connections, lan.asked) == (0, [])

    forbidden = f"`egress: local` of the collection private keeps texts from {lan.base}, which is in the local network"
    assert reason
    assert reason.startswith(forbidden)
    assert [hit.path for hit in found.hits] == ["heron.md"], "keywords answer"
    assert found.lexical_only_reason.startswith(forbidden)
    assert [quote.path for quote in asked.quotes] == ["heron.md"], "and so do quotes"
    assert asked.no_model_reason.startswith(forbidden)
    expand = next(stage for stage in found.explain["stages"] if stage["stage"] == "expand")
    assert not expand["ran"]
    assert expand["why"].startswith(forbidden)
    assert found.notes == [], "the same reason is said once"
    assert [each.id for each in recalled.results] == [stored.id]
    assert any("`egress: local` of the memories" in note for note in recalled.notes)
    check = next(each for each in doctor.checks if each.name == "model imitation at lan.test")
    assert check.status == "warning"
    assert "nothing is sent from private, memories" in check.message
    (endpoint,) = status.endpoints
    assert (endpoint.scope, endpoint.allowed, endpoint.left_out) == ("lan", [], ["private", "memories"])
    assert endpoint.roles == ["embed", "rerank", "expand", "answer"]


async def test_a_search_over_several_collections_asks_only_if_all_allow_it(
    short_tmp: Path, lan: EndpointImitation
) -> None:
    lan.says = "Herons come back in March [1]."
    configure(short_tmp, all_roles(lan), private="local", public="lan", other="lan")
    async with daemon(short_tmp) as it:
        assert await it.sync()
        assert SECRET not in "".join(lan.texts)
        assert OPEN in "".join(lan.texts)

        before = len(lan.asked)
        found = await it.query()
        await it.query("private", "public")
        await it.query("private")
        assert len(lan.asked) == before, "a query over all is one over the private collection too"
        assert {hit.collection for hit in found.hits} == {"private", "public", "other"}
        assert "keeps texts from" in found.lexical_only_reason
        stages = {stage["stage"]: stage for stage in found.explain["stages"]}
        assert "keeps texts from" in stages["rerank"]["why"]

        found = await it.query("public", "other")
        assert {each.path for each in lan.asked[before:]} == {"/v1/embeddings", "/v1/rerank", "/v1/chat/completions"}
        assert (found.lexical_only_reason, found.notes) == (None, [])
        assert all("rerank" in hit.explain for hit in found.hits)
        answer = await it.ask("ask.answer", question="when do herons come", collections=["public"])
        assert answer.answered
        assert answer.answer == lan.says
        await it.ask("memory.store", text=SECRET)
        assert SECRET not in "".join(lan.texts)
        doctor = await it.ask("doctor.run")
    check = next(each for each in doctor.checks if each.name == "model imitation at lan.test")
    assert check.status == "ok", check.message
    assert "gets texts and queries from public, other; nothing is sent from private, memories" in check.message


async def test_a_collection_whose_model_is_too_far_away_is_named_in_the_answer(
    short_tmp: Path, lan: EndpointImitation
) -> None:
    with EndpointImitation() as near:
        path = configure(short_tmp, {"embed": near.uri, "rerank": "none"}, public="local", other="local")
        own = f"/other, egress: local, models: {{embed: '{lan.uri}'}}"
        path.write_text(path.read_text().replace("/other, egress: local", own))
        async with daemon(short_tmp) as it:
            await it.sync()
            found = await it.query()
        assert found.lexical_only_reason is None, "the near server answers for its collection"
        (note,) = found.notes
        assert note.startswith(f"`egress: local` of the collection other keeps texts from {lan.base}")
        stage = next(stage for stage in found.explain["stages"] if stage["stage"] == "embed")
        assert (stage["ran"], stage["why"]) == (True, note)
    assert lan.connections == 0


async def test_memories_have_a_setting_of_their_own(short_tmp: Path, lan: EndpointImitation) -> None:
    configure(short_tmp, all_roles(lan), memory="lan", private="local")
    async with daemon(short_tmp) as it:
        await it.ask("memory.store", text=OPEN)
        recalled = await it.ask("memory.search", query="when do herons return")
        assert recalled.results[0].vector is not None
    assert OPEN in "".join(lan.texts)


async def test_an_egress_that_is_narrowed_keeps_the_vectors_and_sends_nothing(
    short_tmp: Path, lan: EndpointImitation
) -> None:
    configure(short_tmp, {"embed": lan.uri}, public="lan", other="lan")
    async with daemon(short_tmp) as it:
        assert await it.sync() is None
        configure(short_tmp, {"embed": lan.uri}, public="local", other="local")
        await it.services.reload()
        await it.sync()
        asked = len(lan.asked)
        assert "keeps texts from" in (await it.query("public")).lexical_only_reason
        similar = await it.ask("search.similar", ref="public/heron.md")
        assert [hit.collection for hit in similar.hits] == ["other"], "that needs no model"
        status = await it.ask("index.status")
        assert [each.embedded for each in status.collections] == [1, 1]
    assert len(lan.asked) == asked


async def test_a_broken_server_loses_nothing(short_tmp: Path, minilm_onnx: Path) -> None:
    """The old vectors answer until the server's vectors are complete, and while the server runs another model."""
    with EndpointImitation() as server:
        configure(short_tmp, {"embed": f"file:{minilm_onnx}"}, public="local")
        async with daemon(short_tmp) as it:
            assert await it.sync() is None
            server.fault = "html"
            configure(short_tmp, {"embed": server.uri}, public="local")
            await it.services.reload()
            reason = await it.sync()
            assert reason
            assert "sent a web page" in reason
            vector = {"query": "migrating birds"}
            assert (await it.ask("search.vector", **vector)).hits, "the old vectors answer"

            server.fault = None
            assert await it.sync() is None
            assert it.services.backlog.state().model == server.uri
            assert (await it.ask("search.vector", **vector)).hits

            server.model = 2
            (short_tmp / "public" / "new.md").write_text("# New\n\nOtters live in the harbour.\n")
            reason = await it.sync()
            assert reason
            assert "runs another model than before" in reason
            with pytest.raises(EndpointChanged):
                await it.ask("search.vector", **vector)
            status = await it.ask("index.status")
            assert [(each.embedded, each.chunks) for each in status.collections] == [(1, 2)], "nothing is mixed"
            found = await it.query()
            assert "runs another model than before" in found.lexical_only_reason

            await it.ask("models.pull", models=[server.uri], force=True)
            assert await it.sync() is None
            assert len((await it.ask("search.vector", **vector)).hits) == 2

"""After any change of index.yml, no method sends a byte to an address that the file does not name now.

The test runs a whole daemon in this process and edits its config file without notifying it. It calls everything that
can send text, notifies the daemon of the change, and calls everything again.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gnod.errors import GnoError
from tests.configured.test_egress import Daemon, daemon
from tests.models import remote_bench
from tests.models.endpoint_imitation import EndpointImitation
from tests.models.remote_bench import LAN
from tests.rpc.harness import places_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("keyring_file")]

ROLES = ("embed", "rerank", "expand", "answer")
QUESTION = "when do herons come back"


class World(NamedTuple):
    it: Daemon
    old: EndpointImitation
    other: EndpointImitation

    @property
    def config(self) -> Path:
        return places_in(self.it.folder).config_file

    async def sync(self) -> None:
        """Index a document that is new each time, and embed everything that may be embedded."""
        notes = self.it.folder / "notes"
        (notes / f"{len(list(notes.iterdir()))}.md").write_text("# Later\n\nA file that came after the change.\n")
        await self.it.sync()


def config_of(folder: Path, roles: dict[str, str], *, preset: str = "none", egress: str = "lan", more: str = "") -> str:
    listed = "".join(f', {role}: "{uri}"' for role, uri in roles.items())
    return (
        f"collections:\n"
        f"  - {{name: notes, path: {folder / 'notes'}, egress: {egress}{more}}}\n"
        f"  - {{name: other, path: {folder / 'other'}, egress: {egress}}}\n"
        f"models: {{preset: {preset}{listed}}}\n"
        f"memory: {{egress: {egress}}}\n"
    )


def all_roles(server: EndpointImitation) -> dict[str, str]:
    return dict.fromkeys(ROLES, server.uri)


@contextlib.asynccontextmanager
async def world_in(folder: Path) -> AsyncIterator[World]:
    """A daemon with two collections. All their models are on the server `old`."""
    with EndpointImitation(LAN, "lan.test") as old, EndpointImitation(LAN, "both.test") as other:
        for name in ("notes", "other"):
            (folder / name).mkdir()
            (folder / name / "heron.md").write_text("# Heron\n\nHerons come back to the harbour in March.\n")
        path = places_in(folder).config_file
        path.parent.mkdir(parents=True)
        path.write_text(config_of(folder, all_roles(old)))
        async with daemon(folder) as it:
            yield World(it, old, other)


def _replace(text: str) -> Callable[[World], None]:
    def change(world: World) -> None:
        world.config.write_text(text)

    return change


def _missing(world: World) -> None:
    world.config.unlink()


def _unreadable(world: World) -> None:
    world.config.unlink()
    world.config.mkdir()


def _with(**changes: Any) -> Callable[[World], None]:
    def change(world: World) -> None:
        roles = changes.get("roles", all_roles(world.old))
        rest = {name: value for name, value in changes.items() if name != "roles"}
        world.config.write_text(config_of(world.it.folder, roles, **rest))

    return change


def _another_server(world: World) -> None:
    world.config.write_text(config_of(world.it.folder, all_roles(world.other)))


def _own_models(world: World) -> None:
    own = "".join(f'{role}: "{world.other.uri}", ' for role in ROLES)
    world.config.write_text(config_of(world.it.folder, {}, more=f", models: {{{own}}}"))


CHANGES: dict[str, Callable[[World], None]] = {
    "everything is removed": _replace("models: {preset: none}\n"),
    "the roles are removed": _with(roles={}),
    "another server": _another_server,
    "a preset that is not downloaded": _with(roles={}, preset="mini"),
    "egress is narrowed": _with(egress="local"),
    "models of a collection": _own_models,
    "not valid": _replace("models: {preset: [\n"),
    "not a config": _replace("egress: lan\n"),
    "no file": _missing,
    "not a file": _unreadable,
}


def calls(world: World) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return everything that can send text."""
    ask = world.it.ask

    def searching(*names: str) -> dict[str, Callable[[], Awaitable[Any]]]:
        asked: dict[str, Any] = {"question": QUESTION, "collections": [*names]}
        searched: dict[str, Any] = {"query": QUESTION, "collections": [*names]}
        return {
            f"query {names}": lambda: ask("search.query", budget_s=1, **searched),
            f"vector {names}": lambda: ask("search.vector", **searched),
            f"ask {names}": lambda: ask("ask.answer", generate=True, **asked),
            f"evidence {names}": lambda: ask("evidence.gather", **asked),
            f"tune {names}": lambda: ask("index.tune", collections=[*names]),
        }

    return {
        **searching(),
        **searching("notes"),
        "lexical": lambda: ask("search.lexical", query=QUESTION),
        "similar": lambda: ask("search.similar", ref="notes/heron.md"),
        "remember": lambda: ask("memory.store", text="The heron is back."),
        "recall": lambda: ask("memory.search", query="heron"),
        "doctor": lambda: ask("doctor.run"),
        "status": lambda: ask("index.status"),
        "models": lambda: ask("models.list"),
        "take the model": lambda: ask("models.pull", models=[world.old.uri], force=True),
        "embed": world.sync,
    }


async def test_no_byte_goes_where_the_config_does_not_say(short_tmp: Path) -> None:
    async with world_in(short_tmp) as world:
        for change in CHANGES:
            await _use_the_server(world)
            CHANGES[change](world)
            received, connections = world.old.received, world.old.connections
            remote_bench.resolved.clear()
            for moment in ("before the daemon knows", "after"):
                for name, method in calls(world).items():
                    with contextlib.suppress(GnoError):
                        await method()
                    assert world.old.received == received, f"{change}: {name}, {moment}"
                await world.it.services.reload()
            assert world.old.connections == connections, change
            if change != "egress is narrowed":  # then the config still names it
                assert "lan.test" not in remote_bench.resolved, f"{change}: not even its name is asked for"


async def _use_the_server(world: World) -> None:
    """Make all models those of the server `old`, and use it."""
    if world.config.is_dir():
        world.config.rmdir()
    _with()(world)
    await world.it.services.reload()
    await world.sync()
    world.old.asked.clear()
    await world.it.ask("memory.store", text="Herons nest in trees.")
    await world.it.query()
    assert {each.path for each in world.old.asked} >= {"/v1/embeddings", "/v1/rerank"}, "the server is in use"


@pytest.mark.parametrize("change", ["the roles are removed", "egress is narrowed", "not valid"])
async def test_a_change_while_requests_run(short_tmp: Path, change: str) -> None:
    """Covers a request that is retried, and the batches of many texts."""
    async with world_in(short_tmp) as world:
        await world.sync()
        await world.it.query()

        world.old.busy_times = 3
        world.old.on_ask = lambda: CHANGES[change](world)
        asked = len(world.old.asked)
        with contextlib.suppress(GnoError):
            await world.it.ask("search.vector", query="another question")
        assert len(world.old.asked) == asked + 1, "it is not tried again"

        world.old.on_ask = lambda: None
        world.old.busy_times = 0
        world.config.write_text(config_of(world.it.folder, all_roles(world.old)))
        await world.it.services.reload()
        for number in range(200):
            (world.it.folder / "notes" / f"many-{number}.md").write_text(
                f"# Note {number}\n\nThe heron {number} is back.\n"
            )
        asked = len(world.old.asked)
        world.old.on_ask = lambda: CHANGES[change](world)
        with contextlib.suppress(GnoError):
            await world.it.sync()
        assert asked < len(world.old.asked) <= asked + 2, "two requests run at a time, and no other follows"


async def test_a_collection_that_was_removed(short_tmp: Path) -> None:
    """Its documents stay in the index until the daemon learns of the removal. The server stays, for the other
    collection."""
    async with world_in(short_tmp) as world:
        (world.it.folder / "notes" / "secret.md").write_text("# Herons\n\nHerons come back to the secret boathouse.\n")
        await world.it.sync()
        lines = world.config.read_text().splitlines(keepends=True)
        world.config.write_text("".join(line for line in lines if "name: notes" not in line))
        asked = len(world.old.asked)
        for method in calls(world).values():
            with contextlib.suppress(GnoError):
                await method()
        sent = [
            each for each in world.old.asked[asked:] if "secret" in str(each.body) or "came after" in str(each.body)
        ]
        assert sent == []
        await world.it.services.reload()
        assert not (await world.it.query()).lexical_only_reason, "the other collection is searched by its vectors"
        assert len(world.old.asked) > asked


async def test_it_says_why(short_tmp: Path) -> None:
    async with world_in(short_tmp) as world:
        await world.sync()
        world.config.write_text("models: {preset: [\n")
        found = await world.it.query()
        assert "index.yml has errors, so nothing was sent" in found.lexical_only_reason
        CHANGES["the roles are removed"](world)
        await world.it.services.reload()
        found = await world.it.query()
        assert found.lexical_only_reason.startswith(f"index.yml does not name {world.old.uri} as the model for `embed`")
        assert "gnoctl models use auto" in found.lexical_only_reason
        assert {hit.path for hit in found.hits} >= {"heron.md"}, "keywords answer"
        CHANGES["no file"](world)
        await world.it.services.reload()
        assert world.it.services.configuration.error is None


async def test_what_was_sent_is_recorded_without_text(short_tmp: Path) -> None:
    async with world_in(short_tmp) as world:
        await world.sync()
        await world.it.query("notes")
        journal = world.it.services.journal
        by_owner = {(each.role, each.collection): each for each in journal.lines()}
        assert {("embed", ""), ("embed", "notes"), ("embed", "other"), ("rerank", "notes")} <= by_owner.keys()
        assert sum(each.bytes for each in journal.lines() if not each.collection) == world.old.received
        assert sum(each.requests for each in journal.lines() if not each.collection) == len(world.old.asked)
        stored = b"".join(path.read_bytes() for path in world.it.folder.glob("data/egress-*"))
        assert b"heron" not in stored.lower()

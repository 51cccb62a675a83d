"""Connections to an engine: the address, the token, and the messages of failures."""

from __future__ import annotations

from collections.abc import Iterator

import keyring
import pytest

from gnod.config.shared_addresses import parse
from gnod.egress import Purpose, Scope
from gnod.errors import EgressForbidden, Unreachable
from gnod.models.remote.addresses import Addresses
from gnod.shared import opening
from gnod.shared.milvus.client import TokenRefused
from tests.gates import OpenGate
from tests.shared.milvus_server import MilvusServer

TOKEN = "ann:secret-word"
GATE = OpenGate("local", "the collection handbook")
PURPOSE = Purpose("search", collections=("handbook",), users=("handbook",))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    server = MilvusServer(tmp_path_factory.mktemp("guarded"), TOKEN)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.mark.slow
@pytest.mark.usefixtures("keyring_file")
async def test_a_token_comes_from_the_environment_or_the_keyring(
    guarded: MilvusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = guarded.address("handbook")
    with pytest.raises(TokenRefused, match=r"`keyring set gnod-shared 127\.0\.0\.1:\d+`, or in GNO_TOKEN_127_0_0_1"):
        await opening.open_engine(address, GATE, PURPOSE, Addresses())
    keyring.set_password(opening.SERVICE, opening.account(address), TOKEN)
    engine = await opening.open_engine(address, GATE, PURPOSE, Addresses())
    assert engine.header() is None
    engine.close()
    monkeypatch.setenv("GNO_TOKEN_127_0_0_1", "secret-but-wrong")
    with pytest.raises(TokenRefused) as refused:
        await opening.open_engine(address, GATE, PURPOSE, Addresses())
    assert "secret" not in refused.value.message
    monkeypatch.setenv("GNO_TOKEN_127_0_0_1", f" {TOKEN}\n")
    (await opening.open_engine(address, GATE, PURPOSE, Addresses())).close()


async def elsewhere(_: str, __: int) -> list[str]:
    return ["8.8.8.8", "10.1.2.3"]


@pytest.mark.parametrize(
    ("text", "scope", "message"),
    [
        ("milvus://engine/team/handbook", "local", "which is in the local network: nothing was sent"),
        ("milvus://8.8.8.8/team/handbook", "lan", "allow it with `egress: any`"),
        ("milvus://8.8.8.8/team/handbook", "any", "use milvus\\+tls://"),
    ],
)
async def test_no_connection_leaves_the_scope(text: str, scope: Scope, message: str) -> None:
    with pytest.raises(EgressForbidden, match=message):
        await opening.open_engine(
            parse(text), OpenGate(scope, "the collection handbook"), PURPOSE, Addresses(elsewhere)
        )


async def test_an_address_within_the_scope_is_chosen_among_several() -> None:
    address = parse("milvus+tls://engine/team/handbook")
    place = await opening.place_of(address, Addresses(elsewhere))
    for scope in ("lan", "any"):
        relay = opening.relay_to(address, place, OpenGate(scope), PURPOSE)
        relay.check()
        relay.close()


async def test_a_name_without_an_address() -> None:
    async def fails(_: str, __: int) -> list[str]:
        raise OSError

    with pytest.raises(Unreachable, match="the name engine of milvus://engine:19530/team/handbook has no address"):
        await opening.open_engine(parse("milvus://engine/team/handbook"), GATE, PURPOSE, Addresses(fails))


@pytest.mark.slow
async def test_a_port_without_a_server(closed_port: int) -> None:
    address = parse(f"milvus://127.0.0.1:{closed_port}/team/handbook")
    with pytest.raises(Unreachable, match="did not answer in time"):
        await opening.open_engine(address, GATE, PURPOSE, Addresses(), timeout_s=0.3)

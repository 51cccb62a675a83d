"""Models of a server: which requests are sent, which answers are accepted, and which places never get data."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import keyring
import numpy as np
import pytest

from gnod.config.model_uris import endpoint_of
from gnod.errors import EgressForbidden, EndpointChanged, EndpointFailed, GnoError
from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.remote import keys
from gnod.models.remote.server import FIXED_TEXT
from gnod.models.run.inference import RequestFailed
from gnod.models.run.roles import Embedder, Generator, Message, Reranker
from tests.models import certificates
from tests.models.endpoint_imitation import EndpointImitation, Fault
from tests.models.remote_bench import CALM, LAN, SOON, WORLD, remote
from tests.waiting import until


@pytest.fixture
def server() -> Iterator[EndpointImitation]:
    with EndpointImitation() as server:
        yield server


def unit(server: EndpointImitation, text: str) -> np.ndarray:
    vector = np.array(server.vector(text))
    return np.asarray(vector / np.linalg.norm(vector))


async def test_vectors_come_back_in_their_order_with_length_1(server: EndpointImitation) -> None:
    texts = [f"heron number {number}" for number in range(80)]
    async with remote() as it:
        found = await it.embedder(server.uri).texts(texts)
    for row, text in zip(found, texts, strict=True):
        np.testing.assert_allclose(row, unit(server, text), atol=1e-6)
    assert {each.path for each in server.asked} == {"/v1/embeddings"}
    assert {len(each.body["input"]) for each in server.asked} == {21}
    assert {each.body["input"][0] for each in server.asked} == {FIXED_TEXT}
    assert {each.body["model"] for each in server.asked} == {"imitation"}


async def test_a_query_goes_ahead_of_documents(server: EndpointImitation) -> None:
    async with remote() as it:
        embedder = it.embedder(server.uri)
        chunks = [EmbeddingText("", "", f"document {number}") for number in range(160)]
        work = asyncio.create_task(embedder.documents(chunks))
        await until(lambda: server.asked)
        await embedder.query("heron")
        before = next(at for at, each in enumerate(server.asked) if "heron" in str(each.body["input"][1:]))
        await work
    assert before <= 4, "at most what was under way is before it"
    assert len(server.asked) > 8


async def test_a_unix_socket(short_tmp: Path) -> None:
    with EndpointImitation(path=short_tmp / "server.sock") as server:
        async with remote() as it:
            found = await it.embedder(server.uri).query("heron")
    np.testing.assert_allclose(found, unit(server, "heron"), atol=1e-6)


async def test_connections_are_kept(server: EndpointImitation) -> None:
    async with remote() as it:
        for _ in range(5):
            await it.embedder(server.uri).query("heron")
    assert (len(server.asked), server.connections) == (5, 1)


async def test_documents_are_sent_as_the_profile_says(server: EndpointImitation) -> None:
    uri = f"{server.base}/embeddings#intfloat/multilingual-e5-small"  # in GNO's form
    chunk = EmbeddingText("Birds", "Birds > Herons", "They wade. " * 100)
    async with remote() as it:
        (pieces,) = await it.embedder(str(endpoint_of(uri))).documents([chunk])
    assert len(pieces) > 1
    assert server.texts[2].startswith("passage: Birds > Herons\nThey wade.")


FAULTS: dict[Fault, str] = {
    "html": "sent a web page: does the address lead to the server itself, and end in /v1?",
    "hang": "did not answer within 1 s: is it overloaded, or stuck?",
    "fewer": "sent 2 vectors for 3 texts: does the address lead to a server for this task",
    "nan": "sent vectors that are not numbers: does the address",
    "zero": "sent vectors that are not finite, or zero: does the address",
    "uneven": "sent vectors of different lengths: does the address",
    "huge": "sent more than 1 MB in one answer, which cannot be a valid result: check the address",
    "cut": "closed the connection halfway: its log may say why",
    "redirect": "redirects to another address, which gnod does not follow: enter that address in index.yml",
    "refuse": "refused the request (400: no such model): see the server's log",
    "broken": "refused the request (500: Internal Server Error): see the server's log",
}


@pytest.mark.parametrize(
    ("fault", "says"),
    [pytest.param(*each, marks=pytest.mark.slow if each[0] == "hang" else ()) for each in FAULTS.items()],
)
async def test_a_wrong_answer_is_one_sentence_and_the_next_is_right(
    server: EndpointImitation, fault: Fault, says: str
) -> None:
    async with remote(SOON if fault == "hang" else CALM) as it:
        server.fault = fault
        with pytest.raises(EndpointFailed) as caught:
            await it.embedder(server.uri).texts(["heron", "otter"])
        assert caught.value.message.startswith(f"the model server {server.base} {says}")
        assert "\n" not in caught.value.message
        server.fault = None
        server.release()
        for attempt in range(20):  # on a busy machine, an answer may take more than a second
            try:
                assert len(await it.embedder(server.uri).texts(["heron"])) == 1
                break
            except EndpointFailed:
                if fault != "hang" or attempt == 19:
                    raise


async def test_another_model_is_noticed_in_the_answer_itself(server: EndpointImitation) -> None:
    async with remote() as it:
        before = await it.embedder(server.uri).query("heron")
        server.model = 2
        with pytest.raises(
            EndpointChanged, match=r"runs another model than before \(cosine -?0\.\d+ for the same text\)"
        ):
            await it.embedder(server.uri).query("heron")
        server.model, server.dimensions = 1, 48
        with pytest.raises(EndpointChanged, match="sends vectors of 48 dimensions, and sent 32 before"):
            await it.embedder(server.uri).query("heron")
        server.dimensions = 32
        np.testing.assert_array_equal(before, await it.embedder(server.uri).query("heron"))
        known = it.fingerprints
    server.model = 3
    async with remote(fingerprints=known) as it:  # after a restart
        with pytest.raises(EndpointChanged, match=f"gnoctl models pull --force {server.uri}"):
            await it.embedder(server.uri).query("heron")


async def test_a_busy_server_is_asked_again(server: EndpointImitation) -> None:
    async with remote() as it:
        server.busy_times = 2
        await it.embedder(server.uri).query("heron")
        assert len(server.asked) == 3
        server.busy_times = 99
        with pytest.raises(EndpointFailed, match="503"):
            await it.embedder(server.uri).query("heron")


async def test_a_text_that_is_too_long_is_cut_and_one_that_fails_is_named(server: EndpointImitation) -> None:
    server.longest = 900
    async with remote() as it:
        embedder = it.embedder(server.uri)
        rows = await embedder.texts(["heron", "x " * 1000, "otter"])
        np.testing.assert_allclose(rows[2], unit(server, "otter"), atol=1e-6)
        server.longest = 100
        with pytest.raises(RequestFailed, match="input is too large"):
            await embedder.texts(["x " * 100])


async def test_a_server_that_is_off_or_unknown() -> None:
    async with remote() as it:
        with pytest.raises(EndpointFailed, match=r"cannot be reached \(.*\): is the server running\?"):
            await it.embedder("http://127.0.0.1:9/v1#m").query("heron")
        with pytest.raises(EndpointFailed, match="cannot be reached"):
            await it.embedder("http://nowhere.test/v1#m").query("heron")


async def test_a_server_that_hangs_does_not_cost_every_query_its_time(server: EndpointImitation) -> None:
    async def give_up(embedder: Embedder) -> None:
        asked = len(server.asked)
        query = asyncio.create_task(embedder.query("heron"))
        await until(lambda: len(server.asked) > asked)
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query

    server.fault = "hang"
    async with remote(CALM._replace(patience_s=60)) as it:
        for _ in range(5):
            await give_up(it.embedder(server.uri))  # a user is typing
    async with remote(CALM._replace(patience_s=0)) as it:
        for _ in range(2):
            await give_up(it.embedder(server.uri))
        with pytest.raises(EndpointFailed, match=r"did not answer a moment ago: gnod tries it again in \d s"):
            await it.embedder(server.uri).query("heron")
    server.release()


class TestKeys:
    async def test_from_the_environment(self, server: EndpointImitation, monkeypatch: pytest.MonkeyPatch) -> None:
        endpoint = endpoint_of(server.uri)
        assert endpoint
        monkeypatch.setenv(keys.variable(endpoint), "secret")
        async with remote() as it:
            await it.embedder(server.uri).query("heron")
            assert server.asked[-1].key == "secret"
            server.key = "another"
            with pytest.raises(
                EndpointFailed, match=r"refused the key \(401: Incorrect API key: …\): store its key"
            ) as caught:
                await it.embedder(server.uri).query("heron")
            assert "secret" not in caught.value.message
            with EndpointImitation() as other:
                await it.embedder(other.uri).query("heron")
                assert other.asked[-1].key is None, "a key belongs to one server"

    @pytest.mark.usefixtures("keyring_file")
    async def test_from_the_keyring_when_the_server_wants_one(self, server: EndpointImitation) -> None:
        async with remote() as it:
            await it.embedder(server.uri).query("heron")
            server.key = "secret"
            with pytest.raises(
                EndpointFailed, match=r"requires a key \(401\): store its key with `keyring set gnod-endpoint"
            ):
                await it.embedder(server.uri).query("heron")
            keyring.set_password(keys.SERVICE, server.base.removesuffix("/v1"), "secret")
            await it.embedder(server.uri).query("heron")
            endpoint = endpoint_of(server.uri)
            assert endpoint
            assert it.models.key_source(endpoint) == "keyring"


class TestEgress:
    async def test_nothing_goes_beyond_the_scope(self) -> None:
        with EndpointImitation(LAN, "lan.test") as lan, EndpointImitation(WORLD, "world.test") as world:
            async with remote() as it:
                with pytest.raises(
                    EgressForbidden, match="`egress: local` of the collection notes keeps texts from"
                ) as no:
                    await it.embedder(lan.uri).query("heron")
                assert "allow it with `egress: lan` in index.yml" in no.value.message
                with pytest.raises(EgressForbidden, match="outside the local network"):
                    await it.embedder(world.uri, "lan").query("heron")
                with pytest.raises(EgressForbidden, match="http: is not encrypted"):
                    await it.embedder(world.uri, "any").query("heron")
                for scope in ("lan", "any"):
                    await it.embedder(lan.uri, scope).query("heron")
            assert (lan.connections, world.connections) == (2, 0), "connections are not shared between scopes"

    async def test_a_kept_connection_is_of_no_use_to_a_narrower_scope(self) -> None:
        with EndpointImitation(LAN, "lan.test") as lan:
            async with remote() as it:
                await it.embedder(lan.uri, "lan").query("heron")
                with pytest.raises(EgressForbidden):
                    await it.embedder(lan.uri, "local").query("heron")
            assert len(lan.asked) == 1

    async def test_of_several_addresses_only_those_within_the_scope(self) -> None:
        with EndpointImitation(LAN, "both.test") as lan:
            async with remote() as it:
                await it.embedder(lan.uri, "lan").query("heron")
            assert lan.connections == 1

    async def test_proxies_of_the_environment_are_not_used(
        self, server: EndpointImitation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with EndpointImitation() as proxy:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"):
                monkeypatch.setenv(name, proxy.base.removesuffix("/v1"))
            async with remote() as it:
                await it.embedder(server.uri).query("heron")
            assert (proxy.connections, server.connections) == (0, 1)


class TestEncryption:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        """A self-signed certificate of world.test, with its key."""
        return certificates.write(tmp_path / "world.pem", "world.test")

    async def test_the_name_of_the_certificate_counts(self, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with EndpointImitation(WORLD, "world.test", tls=certificate) as world:
            async with remote() as it:
                with pytest.raises(EndpointFailed, match=r"cannot be reached \(.*certificate verify failed"):
                    await it.embedder(world.uri, "any").query("heron")
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            async with remote() as it:
                await it.embedder(world.uri, "any").query("heron")
                with pytest.raises(EgressForbidden):
                    await it.embedder(world.uri, "lan").query("heron")
                other = world.uri.replace("world.test", "both.test")
                with pytest.raises(EndpointFailed, match="certificate verify failed"):
                    await it.embedder(other, "any").query("heron")
            assert len(world.asked) == 1


class TestReranking:
    DOCUMENTS = ("herons of the harbour", "otters", "the harbour")

    @pytest.mark.parametrize("is_tei", [False, True])
    @pytest.mark.parametrize("sends_logits", [False, True])
    async def test_scores(self, server: EndpointImitation, is_tei: bool, sends_logits: bool) -> None:
        server.is_tei, server.sends_logits = is_tei, sends_logits
        async with remote() as it:
            reranker = it.make(Reranker, server.uri)
            speed = await reranker.measure(limit_s=60)
            scores = await reranker.score("herons harbour", self.DOCUMENTS * 5)
        assert speed
        assert speed.characters_per_s > 0
        assert len(scores.values) == 15
        expected = [0.9975, 0.0025, 0.5] if sends_logits else [1.0, 0.0, 0.5]
        assert scores.values[:3] == pytest.approx(expected, abs=1e-4)
        assert scores.values[3:6] == scores.values[:3]

    async def test_scores_in_time_count_when_the_server_hangs(self, server: EndpointImitation) -> None:
        async with remote() as it:
            reranker = it.make(Reranker, server.uri)
            await reranker.measure(limit_s=60)
            server.fault = "hang"
            started = time.monotonic()
            assert (await reranker.score("herons", self.DOCUMENTS, limit_s=0.3)).values == []
            assert time.monotonic() - started < 15
            server.release()

    @pytest.mark.parametrize("fault", ["html", "cut", "refuse"])
    async def test_a_wrong_answer_is_one_sentence(self, server: EndpointImitation, fault: Fault) -> None:
        server.fault = fault
        async with remote() as it:
            with pytest.raises(EndpointFailed, match="the model server"):
                await it.make(Reranker, server.uri).score("herons", self.DOCUMENTS)


class TestGeneration:
    @pytest.mark.parametrize("knows_grammars", [True, False])
    async def test_an_answer_is_streamed(self, server: EndpointImitation, knows_grammars: bool) -> None:
        server.knows_grammars = knows_grammars
        parts: list[str] = []
        async with remote() as it:
            generator = it.make(Generator, server.uri)
            for _ in range(2):
                said = await generator.generate(
                    [Message("user", "herons?")], max_tokens=20, grammar='root ::= "x"', on_text=parts.append
                )
        assert (said.text, said.finish, said.prompt_tokens, said.tokens) == (server.says, "stop", 11, 6)
        assert "".join(parts) == 2 * server.says
        assert len(parts) > 2
        assert len(server.asked) == (2 if knows_grammars else 3), "what it refuses is remembered"

    @pytest.mark.parametrize("fault", ["html", "cut", pytest.param("hang", marks=pytest.mark.slow), "broken"])
    async def test_a_wrong_answer_is_one_sentence(self, server: EndpointImitation, fault: Fault) -> None:
        server.fault = fault
        async with remote(SOON if fault == "hang" else CALM) as it:
            with pytest.raises(GnoError, match="the model server"):
                await it.make(Generator, server.uri).generate([Message("user", "herons?")], max_tokens=20)
            server.release()

    async def test_cancelling_closes_the_connection(self, server: EndpointImitation) -> None:
        server.fault = "hang"
        async with remote() as it:
            generator = it.make(Generator, server.uri)
            work = asyncio.create_task(generator.generate([Message("user", "herons?")], max_tokens=20))
            await asyncio.sleep(0.2)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
        server.release()

"""The counters of requests, over real connections."""

from __future__ import annotations

from tests.rpc.harness import serving


async def test_calls_and_failures_are_counted_by_method() -> None:
    async with serving() as served, await served.client() as client:
        for number, params in enumerate(({"text": "a"}, {"text": "b"}, {"txet": "c"})):
            client.call("echo", params, request_id=number)
            await client.receive()
        client.call("wait", request_id="w")
        await served.methods.begun.acquire()
        client.cancel("w")
        await client.receive()
        calls = served.stats.calls
        assert (calls["echo"].calls, calls["echo"].failures) == (3, {"invalid_params": 1})
        assert (calls["wait"].calls, calls["wait"].failures) == (1, {"cancelled": 1})


async def test_memory_does_not_grow_with_requests() -> None:
    """Clients can send any number of unknown method names."""
    async with serving() as served, await served.client() as client:
        for number in range(400):
            client.call("echo" if number < 300 else f"no.such{number}", {"text": "a"}, request_id=number)
            await client.receive()
        assert list(served.stats.calls) == ["echo"]
        echo = served.stats.calls["echo"]
        assert (echo.calls, len(echo.recent_s)) == (300, 256)
        assert 0 < echo.percentile_s(0.5) <= echo.percentile_s(0.95) <= max(echo.recent_s)

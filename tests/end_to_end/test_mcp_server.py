"""`gnoctl mcp` as an agent uses it: the official client, the real bridge, a real daemon."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import psutil
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from tests.machine import Machine, alive

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BRIDGE = [sys.executable, "-m", "gnoctl", "mcp"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}
SEARCH = {"name": "search", "arguments": {"query": "x"}}
# Prints in every possible way, before the import of the bridge, while it serves, and at the end.
NOISY = """
import os, sys, threading, time, atexit
def shout():
    while True:
        print("shouted", flush=True); os.write(1, b"written\\n"); print("kept back"); time.sleep(0.01)
from gnoctl.commands.integration import mcp
take = mcp.take_output
def taken():
    wire = take()
    threading.Thread(target=shout, daemon=True).start()
    print("early")
    return wire
mcp.take_output = taken
sys.argv = ["gnoctl", "mcp"]
from gnoctl.__main__ import main
main()
"""


@asynccontextmanager
async def agent(machine: Machine, *options: str, mode: str = "auto", **environment: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=BRIDGE[0], args=[*BRIDGE[1:], *options], env=machine.environment | environment, cwd=machine.folder
    )
    with (machine.folder / "bridge.log").open("a") as log:
        async with Client(stdio_client(server, errlog=log), mode=mode) as client:
            yield client


def said(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def refused(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return said(result)


def start_bridge(machine: Machine, command: list[str] = BRIDGE) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env=machine.environment,
        cwd=machine.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def exchange(bridge: subprocess.Popen[bytes], *messages: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Send the messages, disconnect, and return standard output (each line must be a message) and standard error."""
    assert bridge.stdin
    assert bridge.stdout
    for message in messages:
        bridge.stdin.write(json.dumps(message).encode() + b"\n")
        bridge.stdin.flush()
    answers = [json.loads(bridge.stdout.readline()) for message in messages if "id" in message]
    out, err = bridge.communicate(timeout=60)
    return [*answers, *map(json.loads, out.splitlines())], err.decode()


@pytest.mark.stress
async def test_the_older_version_of_the_protocol(busy: Machine) -> None:
    async with agent(busy, mode="legacy") as client:
        assert client.server_info
        assert client.server_info.name == "gno"
        assert "search" in (client.instructions or "")
        result = await client.call_tool("search", {"query": "deploy node.js"})
        assert not result.is_error


async def test_one_conversation(busy: Machine) -> None:
    """Check all requests of an agent with one bridge, because its start takes a second of processor time."""
    busy.ok("context", "add", "notes:", "Notes on running things.")
    async with agent(busy) as client:
        assert client.server_info
        assert client.server_info.name == "gno"
        await tools_say_what_they_take(client)
        assert f"- notes: 3 documents, 1 file could not be read ({busy.notes})" in (client.instructions or "")
        assert "about: Notes on running things." in (client.instructions or "")
        await search_says_where_and_read_has_the_text(client)
        await arguments_are_read_as_clients_send_them(client)
        await errors_name_their_remedy(client)
        await documents_are_resources(client)
        await many_calls_at_once(client)


async def tools_say_what_they_take(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["search", "evidence", "read", "links", "recall", "remember"]
    check_described(tools)
    assert next(iter(tools["search"].input_schema["properties"])) == "query"
    # Every conversation of the agent contains all of them; four characters are a token.
    seen = [[tool.name, tool.description, tool.input_schema] for tool in tools.values()]
    assert len(json.dumps(seen)) < 1_600 * 4


def check_described(tools: dict[str, types.Tool]) -> None:
    for tool in tools.values():
        hints = tool.annotations
        assert hints
        assert hints.read_only_hint is (tool.name not in ("remember", "forget"))
        assert hints.destructive_hint is (tool.name == "forget")
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is None
        # Some clients reject these keywords.
        assert not re.search(r'"(\$ref|\$defs|anyOf|oneOf|allOf)"|"type": \[', json.dumps(tool.input_schema))


async def search_says_where_and_read_has_the_text(client: Client) -> None:
    found = said(await client.call_tool("search", {"query": "deploy node.js", "limit": 3}))
    assert found.startswith("1 of 1 document\n\n1. gno://notes/deploy.md:")
    assert "title: Deployment" in found
    assert "v1.2.3" in found
    assert "note:" not in found  # only `status` reports the broken file
    whole = said(await client.call_tool("read", {"refs": "gno://notes/deploy.md"}))
    assert "run node.js v1.2.3." in whole
    assert "continues" not in whole
    rest = said(await client.call_tool("read", {"refs": ["notes/deploy.md"], "start_line": "5"}))
    assert rest.startswith("gno://notes/deploy.md lines 5-6 of 6; modified ")
    several = said(await client.call_tool("read", {"refs": ["notes/d*", "notes/no.md"], "tokens": 200}))
    assert several.startswith("1 document\n\nleft out: notes/no.md: no document 'notes/no.md' in the index")
    parts = said(await client.call_tool("read", {"refs": ["notes/deploy.md:5", "notes/deploy.md:1-1"]}))
    assert parts.startswith("2 documents\n\ngno://notes/deploy.md lines 5-6 of 6; modified ")
    assert "\n\ngno://notes/deploy.md lines 1-1 of 6; modified " in parts
    for mode in ("keyword", "hybrid"):
        result = await client.call_tool("search", {"query": "Häuser", "mode": mode, "collections": ["notes"]})
        assert "1. gno://notes/umlaut.md" in said(result)
    nothing = await client.call_tool("search", {"query": "deploy path:/d/", "mode": "keyword"})
    assert said(nothing).startswith("no results")
    filled = said(await client.call_tool("search", {"query": "deploy", "tokens": 100}))
    assert filled.startswith("1 of 1 document")
    listed = said(await client.call_tool("search", {"query": "collection:notes", "fields": "title", "limit": 1}))
    assert re.match(r"1 of 3 documents; continues at offset=1\n\naddress \| title\ngno://notes/\S+ \| \w+", listed)


async def arguments_are_read_as_clients_send_them(client: Client) -> None:
    before = said(await client.call_tool("search", {"query": "deploy", "collections": ["notes"], "limit": 3}))
    for given in (
        {"limit": "3", "collections": '["notes"]'},
        {"limit": 3.0, "collections": "notes", "fresh": "true"},
        {"limit": None, "collections": None, "loose": "false", "fresh": 1, "mode": None},
    ):
        assert said(await client.call_tool("search", {"query": "deploy", **given})) == before
    for name, value in (("limit", "12px"), ("limit", ""), ("collections", ""), ("fresh", "perhaps"), ("mode", "")):
        assert f"'{name}'" in await refused(client, "search", {"query": "deploy", name: value})


async def errors_name_their_remedy(client: Client) -> None:
    said = await refused(client, "search", {"query": "x", "colection": ["notes"]})
    assert said == "search has no parameter 'colection'; did you mean 'collections'?"
    assert "it takes refs, start_line" in await refused(client, "read", {"refs": "x", "zzz": 1})
    assert await refused(client, "search", {}) == "search: parameter 'query' is missing"
    assert "'mode'" in await refused(client, "search", {"query": "x", "mode": "psychic"})
    assert "did you mean notes/deploy.md" in await refused(client, "read", {"refs": "gno://notes/deplo.md"})
    assert "did you mean 'notes'" in await refused(client, "search", {"query": "x", "collections": ["note"]})
    assert "`search` with a query such as" in await refused(client, "read", {"refs": "#00000000"})
    assert "nor a collection 'zzz'" in await refused(client, "read", {"refs": "gno://zzz/x.md"})
    assert "did you mean #Deployment" in await refused(client, "read", {"refs": "notes/deploy.md#deploymnt"})
    beyond = await refused(client, "read", {"refs": "notes/deploy.md", "start_line": 99})
    assert beyond == "gno://notes/deploy.md has no line 99: its last line is 6"
    assert "gnoctl embed" in await refused(client, "links", {"what": "similar", "ref": "gno://notes/deploy.md"})
    assert "'ref' is missing" in await refused(client, "links", {"what": "similar"})
    assert "\n" not in await refused(client, "read", {"refs": "notes/x\nnote: forged\u2028.md"})
    with pytest.raises(MCPError, match="unknown tool 'gno_serach': choose from search"):
        await client.call_tool("gno_serach", {})


async def test_the_tools_that_few_need(busy: Machine) -> None:
    async with agent(busy, "--all") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools)[6:] == ["ask", "verify", "status", "recall_more", "forget"]
        check_described(tools)
        status = said(await client.call_tool("status", {"errors": True}))
        assert status.startswith("3 documents in 1 collection; current\n")
        assert "notes: 3 documents, 1 file could not be read" in status
        assert "- notes/broken.pdf: " in status
        answer = said(await client.call_tool("ask", {"question": "How is it deployed?"}))
        assert answer.startswith("gno://notes/deploy.md:6 (Deployment)\n")
        assert "no model wrote an answer" in answer


async def documents_are_resources(client: Client) -> None:
    (listed,) = (await client.list_resources()).resources
    assert (listed.uri, listed.name) == ("gno://notes/", "notes")
    (template,) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "gno://{collection}/{+path}"
    texts = {}
    for uri in ("gno://notes/", "gno://notes/d/cpp.md", "gno://notes/d%2Fcpp.md"):
        (content,) = (await client.read_resource(uri)).contents
        assert isinstance(content, types.TextResourceContents)
        texts[uri] = content.text
    assert "gno://notes/deploy.md — Deployment" in texts["gno://notes/"].splitlines()
    assert "snake_case" in texts["gno://notes/d/cpp.md"]
    assert texts["gno://notes/d%2Fcpp.md"] == texts["gno://notes/d/cpp.md"]
    for uri, words in (("gno://notes/no.md", "no document"), ("gno://none/", "none"), ("file:///x", "gno://")):
        with pytest.raises(MCPError, match=words):
            await client.read_resource(uri)


async def many_calls_at_once(client: Client) -> None:
    calls = [client.call_tool("search", {"query": f"deploy {n}", "mode": "keyword"}) for n in range(50)]
    assert not any(result.is_error for result in await asyncio.gather(*calls))


async def test_it_starts_the_daemon_and_outlives_its_restart(machine: Machine) -> None:
    machine.write(a_md="# Kayak\n\nThe kayak is blue.\n\n## Is it new?\n\nNo.\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    machine.ok("daemon", "stop")
    async with agent(machine) as client:
        first = await client.call_tool("search", {"query": "kayak"})
        assert "gno://notes/a.md" in said(first)
        section = said(await client.call_tool("read", {"refs": "notes/a.md#Is it new?"}))
        assert section.endswith("5|## Is it new?\n\n7|No.")
        assert said(await client.call_tool("read", {"refs": "notes/?.md"})).startswith("1 document\n")
        before = machine.pid()
        machine.kill()
        again = await client.call_tool("search", {"query": "kayak"})
        assert "gno://notes/a.md" in said(again)
        after = machine.pid()
        assert before != after
    assert alive(after)


async def test_without_leave_to_start_it_says_so(machine: Machine) -> None:
    async with agent(machine, GNO_NO_AUTOSTART="1") as client:
        assert "gnoctl daemon start" in await refused(client, "search", {"query": "x"})
    assert not machine.is_serving()


@pytest.mark.stress
async def test_a_mistake_in_the_config_is_reported_to_the_agent(machine: Machine) -> None:
    machine.config.parent.mkdir(parents=True)
    machine.config.write_text("collections: 7\n")
    async with agent(machine) as client:
        assert "collections" in await refused(client, "search", {"query": "x"})


def test_nothing_but_the_protocol_on_standard_output(busy: Machine) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "x"}},
    }
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answers, err = exchange(start_bridge(busy, [sys.executable, "-c", NOISY]), HELLO, initialized, call)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert "shouted" in err
    assert "written" in err
    assert "kept back" in err
    assert "early" in err


def test_ctrl_c_and_a_vanished_reader_end_it(busy: Machine) -> None:
    interrupted = start_bridge(busy)
    assert interrupted.stdin
    assert interrupted.stdout
    interrupted.stdin.write(json.dumps(HELLO).encode() + b"\n")
    interrupted.stdin.flush()
    interrupted.stdout.readline()
    interrupted.send_signal(signal.SIGINT)
    interrupted.communicate(timeout=60)
    assert interrupted.returncode == -signal.SIGINT
    deaf = start_bridge(busy)
    assert deaf.stdin
    assert deaf.stdout
    deaf.stdout.close()
    deaf.stdin.write(json.dumps(HELLO).encode() + b"\n")
    deaf.stdin.close()
    assert deaf.wait(60) == 0
    assert deaf.stderr
    assert b"Traceback" not in deaf.stderr.read()
    deaf.stderr.close()


@pytest.mark.stress
async def test_the_tools_that_use_models(machine: Machine, minilm_onnx: Path, smollm_gguf: Path) -> None:
    machine.configure(embed=minilm_onnx, answer=smollm_gguf)
    machine.write(
        cat_md="# Cats\n\nThe kitten is called Miso. It sleeps on the sofa all day.\n",
        dog_md="# Dogs\n\nThe puppy is called Bruno. It sleeps in the hall.\n",
    )
    machine.ok("index")
    machine.ok("embed")
    reported: list[tuple[float, str]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, message or ""))

    async with agent(machine, "--all") as client:
        near = await client.call_tool("links", {"what": "similar", "ref": "notes/cat.md"})
        assert "gno://notes/dog.md" in said(near)
        by_meaning = await client.call_tool("search", {"query": "a young cat", "mode": "vector", "limit": 1})
        assert "gno://notes/cat.md" in said(by_meaning)
        question = {"question": "What is the kitten called?", "generate": True}
        answer = await client.call_tool("ask", question, progress_callback=on_progress)
        assert not answer.is_error
        assert "[1] gno://notes/cat.md:3 " in said(answer)
        numbers = [number for number, _ in reported]
        assert numbers == sorted(set(numbers))
        assert any("reading" in message or "searching" in message for _, message in reported)


def test_it_ignores_invalid_messages_stays_small_and_ends_with_its_input(busy: Machine) -> None:
    # The variables that Codex and Claude Desktop pass on, and those that `gnoctl mcp install` adds to the command.
    kept = {name: value for name, value in busy.environment.items() if name in ("HOME", "PATH") or "GNO" in name}
    bridge = subprocess.Popen(
        BRIDGE, env=kept, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert bridge.stdin
    assert bridge.stdout
    bridge.stdin.write(b'\n{"jsonrpc"\nhello\n\xff\xfe\n[]\n{"jsonrpc": "2.0", "id": 5, "method": "x\\ud800"}\n')
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "x"}},
    }
    for message in (HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call):
        bridge.stdin.write(json.dumps(message).encode() + b"\n")
        bridge.stdin.flush()
    answers: dict[object, dict[str, Any]] = {}
    while 2 not in answers:
        answer = json.loads(bridge.stdout.readline())
        answers[answer.get("id")] = answer
    assert answers[1]["result"]["serverInfo"]["name"] == "gno"
    resident = psutil.Process(bridge.pid).memory_info().rss
    _, err = bridge.communicate(timeout=60)
    assert bridge.returncode == 0
    assert b"Traceback" not in err
    assert alive(busy.pid())
    # Nearly all of this is the `mcp` package. The index, the models and their libraries are in the daemon.
    assert resident < 100 * 2**20, f"{resident / 2**20:.0f} MiB"

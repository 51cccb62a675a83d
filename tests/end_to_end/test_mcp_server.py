"""`gnoctl mcp` as an agent uses it: the official client, the real bridge, a real daemon."""

from __future__ import annotations

import asyncio
import json
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
# Prints in every way there is, before the bridge is imported, while it serves, and at the end.
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
async def agent(machine: Machine, *, mode: str = "auto", **environment: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=BRIDGE[0], args=BRIDGE[1:], env=machine.environment | environment, cwd=machine.folder
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
    """Send the messages, hang up, and return what came on standard output (each line must be a message) and error."""
    assert bridge.stdin
    assert bridge.stdout
    for message in messages:
        bridge.stdin.write(json.dumps(message).encode() + b"\n")
        bridge.stdin.flush()
    answers = [json.loads(bridge.stdout.readline()) for message in messages if "id" in message]
    out, err = bridge.communicate(timeout=60)
    return [*answers, *map(json.loads, out.splitlines())], err.decode()


async def test_the_older_version_of_the_protocol(busy: Machine) -> None:
    async with agent(busy, mode="legacy") as client:
        assert client.server_info
        assert client.server_info.name == "gno"
        assert "search" in (client.instructions or "")
        result = await client.call_tool("search", {"query": "deploy node.js"})
        assert not result.is_error


async def test_one_conversation(busy: Machine) -> None:
    """All that an agent asks for. One bridge for it: its start takes a second of processor time."""
    busy.ok("context", "add", "notes:", "Notes on running things.")
    async with agent(busy) as client:
        assert client.server_info
        assert client.server_info.name == "gno"
        await tools_say_what_they_take_and_answer(client)
        await search_is_compact_and_get_has_the_text(client)
        await status_names_the_collections(client)
        await ask_quotes_without_any_model(client)
        await errors_name_their_remedy(client)
        await documents_are_resources(client)
        await many_calls_at_once(client)


async def tools_say_what_they_take_and_answer(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert " ".join(tools) == (
        "search evidence get multi_get similar links status ask "
        "memory_search memory_deep_search memory_retrieve memory_store memory_forget"
    )
    for tool in tools.values():
        hints = tool.annotations
        assert hints
        assert hints.read_only_hint is (tool.name not in ("memory_store", "memory_forget"))
        assert hints.destructive_hint is (tool.name == "memory_forget")
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert all(each.get("description") for each in tool.input_schema["properties"].values())
        assert tool.output_schema
        assert tool.output_schema["type"] == "object"
    assert next(iter(tools["search"].input_schema["properties"])) == "query"
    # All of them together stand in every conversation of the agent.
    assert len(json.dumps([tool.input_schema for tool in tools.values()])) < 10_000


async def search_is_compact_and_get_has_the_text(client: Client) -> None:
    # The client itself checks each answer against the tool's output schema.
    found = await client.call_tool("search", {"query": "deploy node.js", "limit": 3})
    assert found.structured_content
    (hit,) = found.structured_content["hits"]
    assert (hit["title"], hit["uri"], hit["tags"]) == ("Deployment", "gno://notes/deploy.md", ["ops"])
    assert "text" not in hit
    assert "v1.2.3" in hit["snippet"]
    assert "note" not in found.structured_content  # the broken file is left to `status`
    assert f"gno://notes/deploy.md lines {hit['line']}-{hit['end_line']}" in said(found)
    whole = await client.call_tool("get", {"ref": hit["uri"]})
    assert whole.structured_content
    assert "run node.js v1.2.3." in whole.structured_content["text"]
    assert "next_line" not in whole.structured_content
    page = await client.call_tool("get", {"ref": hit["uri"], "start_line": 2, "max_lines": 2})
    assert page.structured_content
    assert [page.structured_content[name] for name in ("start_line", "end_line", "next_line")] == [2, 3, 4]
    assert page.structured_content["text"].splitlines() == ["tags: [ops]", "---"]
    assert said(page).endswith("\n\n2|tags: [ops]\n3|---")
    several = await client.call_tool("multi_get", {"refs": ["notes/**", "notes/no.md"], "max_bytes": 60})
    assert said(several).startswith("2 documents\n\nleft out: notes/no.md: no document 'notes/no.md' in the index")
    for mode in ("keyword", "hybrid"):
        result = await client.call_tool("search", {"query": "Häuser", "mode": mode, "collections": ["notes"]})
        assert result.structured_content
        assert [each["uri"] for each in result.structured_content["hits"]] == ["gno://notes/umlaut.md"]
    nothing = await client.call_tool("search", {"query": "deploy", "mode": "keyword", "path_prefix": "d/"})
    assert said(nothing).startswith("no results")


async def status_names_the_collections(client: Client) -> None:
    result = await client.call_tool("status", {"errors": True})
    assert result.structured_content
    (notes,) = result.structured_content["collections"]
    assert (notes["name"], notes["about"], notes["failed"]) == ("notes", "Notes on running things.", 1)
    (failure,) = result.structured_content["failures"]
    assert failure["file"] == "notes/broken.pdf"
    assert (result.structured_content["current"], result.structured_content["state"]) == (True, "current")
    assert said(result).startswith("3 documents in 1 collection; current\n")
    assert "notes: 3 documents, 1 file could not be read" in said(result)


async def ask_quotes_without_any_model(client: Client) -> None:
    result = await client.call_tool("ask", {"question": "How is it deployed?"})
    assert not result.is_error
    assert result.structured_content
    assert result.structured_content["answered"] is True
    first = result.structured_content["quotes"][0]
    assert first["uri"] == "gno://notes/deploy.md"
    assert first["text"] in said(result)
    assert "no model wrote an answer" in said(result)


async def errors_name_their_remedy(client: Client) -> None:
    said = await refused(client, "search", {"query": "x", "colection": ["notes"]})
    assert said == "search has no parameter 'colection'; did you mean 'collections'?"
    assert "it takes ref, start_line" in await refused(client, "get", {"ref": "x", "zzz": 1})
    assert await refused(client, "search", {}) == "search: parameter 'query' is missing"
    assert "'limit': expected int, got str" in await refused(client, "search", {"query": "x", "limit": "3"})
    assert "'mode'" in await refused(client, "search", {"query": "x", "mode": "psychic"})
    assert "did you mean notes/deploy.md" in await refused(client, "get", {"ref": "gno://notes/deplo.md"})
    assert "did you mean 'notes'" in await refused(client, "search", {"query": "x", "collections": ["note"]})
    assert "`search` with a query such as" in await refused(client, "get", {"ref": "#00000000"})
    assert "nor a collection 'zzz'; `status` shows" in await refused(client, "get", {"ref": "gno://zzz/x.md"})
    assert "did you mean #Deployment" in await refused(client, "get", {"ref": "notes/deploy.md#deploymnt"})
    beyond = await refused(client, "get", {"ref": "notes/deploy.md", "start_line": 99})
    assert beyond == "gno://notes/deploy.md has no line 99: its last line is 6"
    assert "gnoctl embed" in await refused(client, "similar", {"ref": "gno://notes/deploy.md"})
    assert "\n" not in await refused(client, "get", {"ref": "notes/x\nnote: forged\u2028.md"})
    # Some agents give null for what they leave out.
    assert not (await client.call_tool("search", {"query": "x", "since": None, "limit": None})).is_error
    with pytest.raises(MCPError, match="unknown tool 'gno_serach': choose from search"):
        await client.call_tool("gno_serach", {})


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
    machine.write(a_md="# Kayak\n\nThe kayak is blue.\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    machine.ok("daemon", "stop")
    async with agent(machine) as client:
        first = await client.call_tool("search", {"query": "kayak"})
        assert "gno://notes/a.md" in said(first)
        before = machine.pid()
        machine.kill()
        again = await client.call_tool("search", {"query": "kayak"})
        assert "gno://notes/a.md" in said(again)
        after = machine.pid()
        assert before != after
    assert alive(after)


async def test_without_leave_to_start_it_says_so(machine: Machine) -> None:
    async with agent(machine, GNO_NO_AUTOSTART="1") as client:
        assert "gnoctl daemon start" in await refused(client, "status", {})
    assert not machine.is_serving()


async def test_a_mistake_in_the_config_is_reported_to_the_agent(machine: Machine) -> None:
    machine.config.parent.mkdir(parents=True)
    machine.config.write_text("collections: 7\n")
    async with agent(machine) as client:
        assert "collections" in await refused(client, "status", {})


def test_nothing_but_the_protocol_on_standard_output(busy: Machine) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}}
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


async def test_the_tools_that_use_models(machine: Machine, minilm_onnx: Path, smollm_gguf: Path) -> None:
    machine.configure(embed=minilm_onnx, answer=smollm_gguf)
    machine.write(
        cat_md="# Cats\n\nThe kitten is called Miso. It sleeps on the sofa all day.\n",
        dog_md="# Dogs\n\nThe puppy is called Bruno. It sleeps in the hall.\n",
    )
    machine.ok("index")
    machine.ok("embed")
    told: list[tuple[float, str]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    async with agent(machine) as client:
        near = await client.call_tool("similar", {"ref": "notes/cat.md"})
        assert "gno://notes/dog.md" in said(near)
        by_meaning = await client.call_tool("search", {"query": "a young cat", "mode": "vector", "limit": 1})
        assert "gno://notes/cat.md" in said(by_meaning)
        question = {"question": "What is the kitten called?", "generate": True}
        answer = await client.call_tool("ask", question, progress_callback=on_progress)
        assert not answer.is_error
        assert answer.structured_content
        assert any(source["uri"] == "gno://notes/cat.md" for source in answer.structured_content["sources"])
        numbers = [number for number, _ in told]
        assert numbers == sorted(set(numbers))
        assert any("reading" in message or "searching" in message for _, message in told)


def test_it_ignores_what_is_no_message_stays_small_and_ends_with_its_input(busy: Machine) -> None:
    bridge = start_bridge(busy)
    assert bridge.stdin
    assert bridge.stdout
    bridge.stdin.write(b'\n{"jsonrpc"\nhello\n\xff\xfe\n[]\n{"jsonrpc": "2.0", "id": 5, "method": "x\\ud800"}\n')
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}}
    for message in (HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call):
        bridge.stdin.write(json.dumps(message).encode() + b"\n")
        bridge.stdin.flush()
    answers: dict[object, dict[str, Any]] = {}
    while 2 not in answers:
        answer = json.loads(bridge.stdout.readline())
        answers[answer.get("id")] = answer
    assert answers[1]["result"]["serverInfo"]["name"] == "gno"
    resident = psutil.Process(bridge.pid).memory_info().rss
    bridge.communicate(timeout=60)
    assert bridge.returncode == 0
    assert alive(busy.pid())
    # Nearly all of it is the `mcp` package; the index, the models and their libraries are the daemon's.
    assert resident < 100 * 2**20, f"{resident / 2**20:.0f} MiB"


def test_an_environment_with_next_to_nothing_in_it(busy: Machine) -> None:
    """What Codex and Claude Desktop hand on, with what `gnoctl mcp install` writes beside the command."""
    kept = {name: value for name, value in busy.environment.items() if name in ("HOME", "PATH") or "GNO" in name}
    bridge = subprocess.Popen(
        BRIDGE, env=kept, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    answers, err = exchange(bridge, HELLO)
    assert answers[0]["result"]
    assert err == ""

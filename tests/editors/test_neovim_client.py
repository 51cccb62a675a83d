"""The Neovim plugin in a real Neovim, installed as its README says, driven by keys and looked at over its API."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from tests.editors.conftest import EDITORS, Desk, strange_socket
from tests.machine import connected, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("nvim"), reason="nvim is not installed: apt-get install neovim"),
]

SOURCE = EDITORS / "neovim"

# Every floating window's lines, the field first: it is the one that has the cursor.
FLOATS = """
local texts = {}
for _, window in ipairs(vim.api.nvim_list_wins()) do
  if vim.api.nvim_win_get_config(window).relative ~= "" then
    local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
    table.insert(texts, window == vim.api.nvim_get_current_win() and 1 or #texts + 1, lines)
  end
end
return texts
"""


# What lazy.nvim does with a specification that has `dir`, `cmd` and `opts`. `:Lazy sync` writes the help tags.
MANAGER = """
vim.go.loadplugins = false
vim.cmd("helptags " .. spec.dir .. "/doc")
for _, name in ipairs(spec.cmd) do
  vim.api.nvim_create_user_command(name, function(event)
    for _, other in ipairs(spec.cmd) do
      vim.api.nvim_del_user_command(other)
    end
    vim.opt.runtimepath:append(spec.dir)
    for _, file in ipairs(vim.fn.glob(spec.dir .. "/plugin/**/*.lua", true, true)) do
      vim.cmd("source " .. file)
    end
    local modules = vim.fn.readdir(spec.dir .. "/lua")
    assert(#modules == 1, "the module to set up is ambiguous")
    require(modules[1]).setup(spec.opts)
    vim.cmd(name .. " " .. event.args)
  end, { nargs = "*" })
end
"""


class Neovim:
    """A Neovim without a screen, a context manager. It has no swap file, which would warn the next Neovim."""

    def __init__(self, desk: Desk, *options: str) -> None:
        listening = desk.folder / "nvim.sock"
        listening.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            ["nvim", "--headless", "-n", *options, "--listen", str(listening), str(desk.notes / "garden.md")],
            env=desk.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._socket = connected(listening)
        except BaseException:
            self._end()
            raise
        self._unread = b""

    def __enter__(self) -> Neovim:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait(60)

    def _call(self, method: str, *arguments: object) -> Any:
        self._socket.sendall(msgspec.msgpack.encode([0, 1, method, arguments]))
        while True:
            data = self._socket.recv(1 << 16)
            assert data, "Neovim has ended"
            self._unread += data
            with suppress(msgspec.DecodeError):
                _, _, error, result = msgspec.msgpack.decode(self._unread)
                self._unread = b""
                assert error is None, error
                return result

    def lua(self, code: str, *arguments: object) -> Any:
        return self._call("nvim_exec_lua", code, arguments)

    def type(self, keys: str) -> None:
        self._call("nvim_input", keys)

    def hits(self) -> list[str]:
        """Return the lines below the field; none when the search is not open."""
        floats = self.lua(FLOATS)
        return list(floats[1]) if len(floats) == 2 else []

    def sees(self, text: str) -> None:
        wait_until(lambda: any(text in line for line in self.hits()))

    def at(self) -> tuple[str, int]:
        """Return the current buffer's name and line."""
        name, line = self.lua("return { vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1] }")
        return name, line

    def messages(self) -> str:
        return str(self.lua("return vim.api.nvim_exec('messages', true)"))


def readme_block(language: str) -> str:
    """Return the first block of code of the README in this language."""
    match = re.search(rf"```{language}\n(.*?)```", (SOURCE / "README.md").read_text(), re.DOTALL)
    assert match
    return match[1]


@pytest.fixture(scope="module")
def installed(prepared: Desk) -> None:
    """Install the plugin as the README says without a plugin manager, from a checkout that may be written to."""
    shutil.copytree(SOURCE, prepared.folder / "editors" / "neovim")
    subprocess.run(
        ["sh", "-ec", readme_block("sh")], cwd=prepared.folder, env=prepared.environment, check=True, timeout=60
    )


@pytest.fixture
def nvim(desk: Desk, installed: None) -> Iterator[Neovim]:
    with Neovim(desk) as nvim:
        yield nvim


def test_a_plugin_manager_loads_it_at_its_first_command(desk: Desk, installed: None) -> None:
    init = desk.folder / "manager.lua"
    spec = readme_block("lua").replace("~/…", str(desk.folder)).replace("opts = {}", "opts = { limit = 1 }")
    init.write_text(f"spec = {spec}{MANAGER}")
    with Neovim(desk, "-u", str(init)) as nvim:
        named = nvim.lua("return vim.tbl_keys(vim.api.nvim_get_commands({}))")
        assert nvim.lua("return package.loaded.gno == nil")
        nvim.type(":Gno lantern<CR>")
        nvim.sees(":")
        assert len(nvim.hits()) == 2  # the lines of one hit
        nvim.type("<Esc>")
        assert set(nvim.lua("return vim.tbl_keys(vim.api.nvim_get_commands({}))")) == set(named)


@pytest.mark.parametrize("topic", ["gno", ":GnoLink", "gno.setup()"])
def test_its_help_is_found(nvim: Neovim, topic: str) -> None:
    nvim.lua("vim.cmd('help ' .. ...)", topic)
    assert nvim.at()[0].endswith("/doc/gno.txt")
    assert topic in nvim.lua("return vim.api.nvim_get_current_line()")


def test_it_does_not_connect_to_another_users_socket(desk: Desk) -> None:
    with strange_socket(desk.folder) as (path, listener):
        client = str(SOURCE / "lua/gno/client.lua")
        program = (
            f"lua local client = dofile({client!r}).new({{ command = 'gnoctl' }}); client.opening = true; "
            f"client:_connect({str(path)!r}, function(reason) io.stdout:write(reason) end)"
        )
        done = subprocess.run(
            ["nvim", "--headless", "-u", "NONE", "-c", program, "-c", "sleep 100m", "-c", "qa!"],
            env=desk.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "another user owns the socket" in done.stdout, done.stderr
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_typing_finds_and_return_opens_at_the_line(desk: Desk, nvim: Neovim) -> None:
    nvim.type(":Gno<CR>")
    nvim.type("lighthouse")
    nvim.sees("Harbour  notes/harbour.md:9")
    assert nvim.hits() == [
        "Harbour  notes/harbour.md:9",
        "    Zürich ships a lantern to the lighthouse keeper.",
    ]
    nvim.type("<CR>")
    wait_until(lambda: nvim.at() == (str(desk.harbour), 9))
    assert nvim.lua(FLOATS) == []
    assert nvim.lua("return vim.fn.mode()") == "n"


def test_the_matched_words_are_highlighted(nvim: Neovim) -> None:
    nvim.type(":Gno lighthouse<CR>")
    nvim.sees("lighthouse")
    found = nvim.lua("""
        local namespace, found = vim.api.nvim_get_namespaces().gno, {}
        for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true })) do
            local line = vim.api.nvim_buf_get_lines(buffer, mark[2], mark[2] + 1, false)[1]
            table.insert(found, { mark[4].hl_group, line:sub(mark[3] + 1, mark[4].end_col) })
          end
        end
        return found
    """)
    assert found == [["Comment", "notes/harbour.md:9"], ["Search", "lighthouse"]]


@pytest.mark.stress
def test_the_daemon_is_started_as_every_command_does(desk: Desk, nvim: Neovim) -> None:
    desk.rest()
    nvim.type(":Gno lantern<CR>")
    nvim.sees("notes/garden.md:3")
    assert desk.commands() == ["socket", "collection list", "socket"]
    assert desk.pid()


@pytest.mark.stress
def test_a_setting_that_forbids_starting_the_daemon_is_kept(desk: Desk, nvim: Neovim) -> None:
    desk.rest()
    desk.config.write_text(desk.config.read_text() + "\ndaemon:\n  autostart: false\n")
    nvim.type(":Gno lantern<CR>")
    nvim.sees("autostart off: run `gnoctl daemon start`")
    assert not desk.is_serving()


@pytest.mark.stress
def test_the_next_hit_opens_in_a_split(desk: Desk, nvim: Neovim) -> None:
    nvim.type(":Gno lantern<CR>")
    nvim.sees("notes/harbour.md:9")
    titles = [line for line in nvim.hits() if re.search(r":\d+$", line)]
    second = "harbour.md" if "harbour.md" in titles[1] else "garden.md"
    nvim.type("<Down><C-s>")
    wait_until(lambda: nvim.lua("return #vim.api.nvim_list_wins()") == 2)
    wait_until(lambda: nvim.at()[0] == str(desk.notes / second))


def test_half_a_query_keeps_the_hits_and_says_so(nvim: Neovim) -> None:
    nvim.type(":Gno lighthouse<CR>")
    nvim.sees("Harbour")
    nvim.type(' "lantern')
    nvim.sees("a quotation mark is not closed")
    assert any("Harbour" in line for line in nvim.hits())
    nvim.type("<Esc>")
    wait_until(lambda: nvim.lua(FLOATS) == [])
    assert nvim.messages() == ""


def test_what_is_found_in_a_converted_file_opens_as_text(nvim: Neovim) -> None:
    nvim.type(":Gno lanternfish<CR>")
    nvim.sees("notes/stock.csv:row 2")
    nvim.type("<CR>")
    wait_until(lambda: nvim.at() == ("gno://notes/stock.csv", 3))
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "| lanternfish | 12 |"
    assert nvim.lua("return vim.bo.modifiable") is False


def test_unsaved_changes_are_not_lost(nvim: Neovim, desk: Desk) -> None:
    nvim.lua("vim.o.hidden = false; vim.api.nvim_buf_set_lines(0, 0, 1, false, {'changed'})")
    nvim.type(":Gno lighthouse<CR>")
    nvim.sees("Harbour")
    nvim.type("<CR>")
    wait_until(lambda: "gno: E37" in nvim.messages())
    assert nvim.at()[0] == str(desk.notes / "garden.md")


def test_each_key_takes_the_search_before_it_back(desk: Desk, nvim: Neovim) -> None:
    """Typed at once, only the last of many queries is asked; those under way are cancelled, never shown."""
    desk.ok("daemon", "start")
    shown = nvim.lua("""
        local states = {}
        local client = require("gno").client()
        local sent, cancelled = {}, {}
        local request, cancel = client.request, client.cancel
        local live
        client.request = function(self, method, params, done)
          table.insert(sent, params.query)
          if #sent == 1 then
            -- The next key comes before the answer can.
            vim.schedule(function() live:input("harbour") end)
          end
          return request(self, method, params, done)
        end
        client.cancel = function(self, id)
          table.insert(cancelled, id)
          return cancel(self, id)
        end
        live = require("gno.live").new(client, { debounce_ms = 5, limit = 3 }, function(state)
          table.insert(states, #state.hits)
        end)
        for _, query in ipairs({ "l", "la", "lan", "lantern" }) do
          live:input(query)
        end
        vim.wait(60000, function() return #states == 1 end)
        vim.wait(100)
        live:stop()
        return { sent = sent, cancelled = cancelled, states = states }
    """)
    assert shown == {"sent": ["lantern", "harbour"], "cancelled": [1], "states": [1]}


def test_what_was_left_out_is_said(nvim: Neovim) -> None:
    said = nvim.lua("""
        local remarks = require("gno.status").remarks
        return {
          remarks({ freshness = { current = false, state = "syncing" }, notes = { "one server was not asked" } }),
          remarks({ freshness = { current = true }, notes = { "one server was not asked", "another is down" } }),
          remarks({ freshness = { current = true, state = "current" }, notes = {} }) == nil and remarks(nil) == nil,
        }
    """)
    assert said == [
        "syncing; one server was not asked",
        "one server was not asked; another is down",
        True,
    ]


@pytest.mark.stress
def test_a_daemon_that_went_away_is_started_again(desk: Desk, nvim: Neovim) -> None:
    nvim.type(":Gno lighthouse<CR>")
    nvim.sees("Harbour")
    desk.kill()
    wait_until(lambda: nvim.lua("return require('gno').client().pipe == nil"))
    nvim.type(" lantern")
    nvim.sees("Garden")


def test_status(nvim: Neovim) -> None:
    nvim.type(":GnoStatus<CR>")
    wait_until(lambda: "Index default" in nvim.messages())
    assert "Index default: 3 documents, 3 chunks; current" in nvim.messages()
    assert "notes: 3 of 4 indexed, 1 file could not be read" in nvim.messages()


def test_without_gnoctl_it_says_what_to_do(nvim: Neovim) -> None:
    nvim.lua("require('gno').setup({ command = 'no-such-gnoctl' })")
    nvim.type(":Gno lantern<CR>")
    nvim.sees("no-such-gnoctl cannot be run: install gnod")


@pytest.mark.stress
def test_links_are_followed_and_found_back(linked: Desk, installed: None) -> None:
    with Neovim(linked) as nvim:
        links = str(linked.notes / "links.md")
        nvim.lua("""
            require("gno").setup({ browse = function(url) vim.g.browsed = url end })
            vim.ui.select = function(items, options, done) -- as plugins replace it
              vim.g.offered = options.prompt .. " " .. options.format_item(items[1])
              done(items[#items])
            end
        """)

        def follow(line: int, column: int) -> None:
            nvim.lua(f"vim.cmd('edit {links}'); vim.api.nvim_win_set_cursor(0, {{ {line}, {column} }})")
            nvim.type(":GnoLink<CR>")

        follow(3, 10)
        wait_until(lambda: nvim.at() == (str(linked.harbour), 4))
        follow(3, 35)
        wait_until(lambda: nvim.at()[0] == str(linked.notes / "garden.md"))
        follow(5, 0)
        wait_until(lambda: nvim.lua("return vim.g.browsed") == "https://example.org/x")
        follow(6, 0)
        wait_until(lambda: "nowhere does not lead to a document" in nvim.messages())
        follow(7, 3)
        wait_until(lambda: nvim.at()[0] == str(linked.notes / "b" / "twin.md"))
        follow(1, 0)
        wait_until(lambda: "the index has no link in this line" in nvim.messages())
        nvim.lua(f"vim.cmd('edit {linked.harbour}')")
        nvim.type(":GnoBacklinks<CR>")
        wait_until(lambda: nvim.at() == (links, 3))
        assert nvim.lua("return vim.g.offered").startswith("Links to Harbour notes/links.md:3  See the harbour")
        nvim.lua(f"vim.cmd('edit {linked.harbour}')")
        nvim.type(":GnoMentions<CR>")
        wait_until(lambda: nvim.at() == (links, 9))


def test_which_link_holds_the_cursor(nvim: Neovim) -> None:
    found = nvim.lua("""
        local text, chosen = "See [[one|shown]], [two](two.md) and [[one]].", {}
        local links = { { target = "one", n = 1 }, { target = "two.md", n = 2 }, { target = "one", n = 3 } }
        for column = 0, #text - 1 do
          table.insert(chosen, require("gno.links").at(links, text, column).n)
        end
        return { table.concat(chosen), require("gno.links").at({}, text, 0) == nil }
    """)
    assert found == ["1" * 17 + "2" * 15 + "3" * 13, True]

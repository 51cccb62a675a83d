"""Fixtures of the tests of the page: a daemon, `gnoctl web` and Chromium as real processes, one of each per module."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.conversation_files import claude_code
from tests.machine import Machine, temporary_machine
from tests.pdf_files import pdf

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}


class Site:
    """The page of a machine. Its server runs until `close`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gnoctl", "web", "--no-open", "--port", "0"],
            env=machine.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.entrance = self.process.stdout.readline().strip()
        self.origin = self.entrance.partition("/?")[0]
        assert self.origin.startswith("http://127.0.0.1:"), self.entrance

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)


class Visit:
    """Records the console messages and requests of a page."""

    def __init__(self, page: Any, origin: str, expected: str) -> None:
        self.expected = expected
        self.errors: list[str] = []
        self.abroad: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        page.on("request", lambda request: self._left(request.url, origin))

    def _note(self, message: Any) -> None:
        said = f"{message.text} {message.location.get('url', '')}"
        if message.type in ("error", "warning") and not (self.expected and self.expected in said):
            self.errors.append(said)

    def _left(self, url: str, origin: str) -> None:
        if not url.startswith(origin + "/"):
            self.abroad.append(url)


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        pytest.skip("no Chromium: install Debian's package `chromium`")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: install gnod[test]")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium(), args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(browser: object) -> Iterator[Site]:
    """The samples, an unreadable file, and a file that attacks the page; without models."""
    with temporary_machine() as machine:
        shutil.copytree(SAMPLES, machine.notes, dirs_exist_ok=True)
        (machine.notes / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")
        (machine.notes / "emoji.md").write_text("# Regatta 🏆🏆\n\n🚣🚣🚣 The trophy of the regatta is a silver oar.\n")
        (machine.notes / "hostile.md").write_text(HOSTILE)
        (machine.notes / "long.md").write_text(long_text())
        pages = ("The mast stands", "Nothing here", "Nor here", "The mast lies", "The end")
        (machine.notes / "mast.pdf").write_bytes(pdf(pages, title="Of masts"))
        (machine.notes / "talk.jsonl").write_text(talk())
        write_links(machine.notes)
        write_vault(machine.notes / "vault")
        machine.ok("init", str(machine.notes), "--name", "club")
        machine.quiet()
        with contextlib.closing(Site(machine)) as site:
            yield site


@pytest.fixture(scope="module")
def cookie(browser: Any, site: Site) -> Any:
    """The cookie that a browser has after it opened the first address."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(site.entrance)
    page.wait_for_url(lambda url: "token=" not in url)
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="module")
def desk(browser: Any, site: Site, cookie: Any) -> Iterator[Any]:
    """A signed-in page in a desktop browser. A new page is a new process, which costs 0.7 s."""
    context = signed_in(browser, site, cookie)
    yield context.new_page()
    context.close()


def signed_in(browser: Any, site: Site, cookie: Any, **options: Any) -> Any:
    context = browser.new_context(viewport=options.pop("viewport", WIDE), storage_state=cookie, **options)
    context.set_default_timeout(30_000)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.origin)
    return context


@pytest.fixture
def visit(browser: Any, site: Site, cookie: Any, desk: Any) -> Iterator[Callable[..., Any]]:
    """Open the page at an address, signed in: the first visit uses `desk`, the next ones a new page, and those with
    `options` another browser. It must log no errors to the console but the `expected` ones, and send no request to
    other servers."""
    with contextlib.ExitStack() as stack:
        visits: list[Visit] = []

        def opened(address: str = "/", *, expected: str = "", **options: Any) -> Any:
            if options:
                context = signed_in(browser, site, cookie, **options)
                stack.callback(context.close)
                page = context.new_page()
            elif visits:
                page = desk.context.new_page()
                stack.callback(page.close)
            else:
                page = desk
                stack.callback(page.goto, "about:blank")
            visits.append(Visit(page, site.origin, expected))
            page.goto(site.origin + address)
            page.wait_for_selector("#modes button")
            stack.callback(page.evaluate, "localStorage.clear()")
            return page

        yield opened
        for each in visits:
            assert not each.abroad
            assert not each.errors


def violations(page: Any, **options: Any) -> list[tuple[str, list[str]]]:
    """Return the violations that axe finds: of WCAG 2.2 AA and good practice."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]


def long_text() -> str:
    paragraphs = [f"Paragraph {number} of the log says nothing." for number in range(1, 1200)]
    paragraphs[900] = "Here the keelhaul knot is tied."
    return "# The long log\n\n" + "\n\n".join(paragraphs) + "\n"


def talk() -> str:
    """Return a transcript in which each question is answered after a call of a tool with long lines."""
    lines = []
    for number in range(30):
        call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": f"soundings --buoy {number}"}}
        output = "\n".join(f"fathom{line}: {'deep ' * 30}" for line in range(6)) + f"\nmarl{number}"
        result = {"type": "tool_result", "tool_use_id": "t", "content": output}
        lines += [
            claude_code("user", f"How deep is it at buoy {number}?"),
            claude_code("assistant", [{"type": "text", "text": f"I sound at buoy{number}."}, call]),
            claude_code("user", [result]),
            claude_code("assistant", [{"type": "text", "text": f"The lead shows **{number}** fathoms there."}]),
        ]
    return "\n".join(lines) + "\n"


HOSTILE = """# Barnacle

<script>document.title = "pwned"</script>
<img src="x" onerror="document.title='pwned'">
<img src="https://elsewhere.example/pixel.png">

![pixel](https://elsewhere.example/pixel.png) [link](javascript:document.title='pwned') [far](https://elsewhere.example/)

<svg onload="document.title='pwned'"><use href="https://elsewhere.example/x.svg#a"/></svg>
<style>body { display: none }</style>
<iframe src="https://elsewhere.example/"></iframe>
"""


VAULT_NOTE = """---
tags: [boat]
port: "[[Pier]]"
built: 1982-05-04
---

# The Albatros

==Marked== #boat $a^2$ and $$\\frac{a}{b}$$[^1]

![[mast.svg|60]] ![[oar 1.png]] ![[huge.png]] ![web](https://elsewhere.example/pixel.png)

> [!tip]- Folded
> The tiller.

> [!danger] Open
> > [!quote] Inner

- [ ] caulk
- [x] tar

![[Pier#Ropes]]

![[boats.base]]

Mast
: holds the sail

```mermaid
graph TD
```

[^1]: A note.
"""


def write_vault(folder: Path) -> None:
    """Write a note with all syntax of note-taking programs, and pictures: one contains a script, one is too large."""
    folder.mkdir()
    (folder / "albatros.md").write_text(VAULT_NOTE)
    (folder / "Pier.md").write_text("# Pier\n\n## Ropes\n\nOf hemp.\n\n## Bollards\n\nOf iron.\n")
    (folder / "boats.base").write_text("views:\n  - type: table\n    name: Boats\n    filters: file.hasTag('boat')\n")
    script = "<script>parent.document.title = 'pwned'; document.documentElement.onload()</script>"
    (folder / "mast.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60" onload="parent.document.title = \'pwned\'">'
        f'{script}<image href="https://elsewhere.example/x.png"/><rect width="60" height="40" fill="navy"/></svg>'
    )
    Image.new("RGB", (200, 90), "teal").save(folder / "oar 1.png")
    Image.new("1", (20_000, 20_000)).save(folder / "huge.png", compress_level=1)
    Image.effect_noise((900, 600), 60).save(folder / "photo 0.png")
    for number in range(1, 20):
        shutil.copy(folder / "photo 0.png", folder / f"photo {number}.png")
    photos = (f"![[photo {number}.png]]\n\n" + "Text.\n\n" * 8 for number in range(20))
    (folder / "album.md").write_text(f"# Album\n\n{''.join(photos)}")


def write_links(folder: Path) -> None:
    """Write 230 notes around one of them, some of them hostile."""
    web = folder / "web"
    web.mkdir()
    far = [f"[[knot {number}]]" for number in range(60)]
    (web / "hub.md").write_text(
        "# The hub\n\nIt leads to [[rope]], to [the sail](sail.md#Reefing), to [nothing](gone.md) and to [[twin]].\n"
        "Also to [[rope#^third|a block]], [far away](https://elsewhere.example/) and [bad](javascript:alert(1)).\n\n"
        f"{' '.join(far)}\n"
    )
    (web / "rope.md").write_text("# Rope\n\nSee [[hub]].\n\n" + "A strand.\n\n" * 40 + "The third strand. ^third\n")
    (web / "sail.md").write_text("# Sail\n\nOf canvas.\n\n" + "A seam.\n\n" * 40 + "## Reefing\n\nBack to [[hub]].\n")
    for name in ("a", "b"):
        (web / name).mkdir()
        (web / name / "twin.md").write_text(f"# Twin {name}\n\nNobody knows which: The hub.\n")
    for number in range(200):
        (web / f"knot {number}.md").write_text(f"# Knot {number}\n\nAfter it: [[knot {number + 1}]]. Of [[hub]].\n")
    titles = ("<script>document.title='pwned'</script>", "\u202eעברית\u202d mixed", "long " * 2000)
    for number, title in enumerate(titles):
        (web / f"odd{number}.md").write_text(f"# {title}\n\n[[hub]] <img src=x onerror=\"document.title='pwned'\">\n")

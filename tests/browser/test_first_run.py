"""The first run on the page: a folder, a model from a hub on this machine, and the first hit by meaning."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import PHONE, Site, violations
from tests.machine import Machine, temporary_machine
from tests.machine import wait_until as until
from tests.models import replicas
from tests.models.hub_imitation import HubImitation

pytestmark = pytest.mark.slow

NOTES = {
    "herons.md": "# Herons\n\nGrey birds wade in the shallow water and catch the fish of the pond.\n",
    "taxes.md": "# Taxes\n\nThe return is due in May, and the receipts are kept for ten years.\n",
    "bread.md": "# Bread\n\nThe dough is made of flour, water and salt, and it needs time.\n",
}
ERROR = "#add .field .error:not(:empty)"
EMBEDDER, RERANKER = "MongoDB/mdbr-leaf-ir", "cross-encoder/ettin-reranker-17m-v1"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def hub(minilm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubImitation]:
    """A hub whose model for English is MiniLM, and whose reranker has random weights."""
    reranker = replicas.write(tmp_path_factory.mktemp("reranker"), replicas.RERANKERS["bert"])
    with HubImitation({EMBEDDER: files_of(minilm_folder), RERANKER: files_of(reranker)}) as serving:
        yield serving


@pytest.fixture(scope="module")
def site(browser: object, hub: HubImitation) -> Iterator[Site]:
    """The page of a new machine: folders, but no collection, no config and no model."""
    with temporary_machine() as machine:
        pip = machine.folder / "pip.conf"
        pip.write_text("[global]\nindex-url = http://127.0.0.1:1/simple\n")
        for name in [name for name in machine.environment if name.startswith(("PIP_", "UV_", "HF_"))]:
            del machine.environment[name]
        home = machine.folder / "home"
        machine.environment |= {"HOME": str(home), "HF_ENDPOINT": hub.url, "NO_PROXY": "*", "PIP_CONFIG_FILE": str(pip)}
        for folder in ("Music", ".config", "Documents/notes/old", "Documents/empty"):
            (home / folder).mkdir(parents=True)
        for name, text in NOTES.items():
            (home / "Documents" / "notes" / name).write_text(text)
        (home / "Documents" / "notes" / "film.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
        (home / "Documents" / "notes" / "broken.docx").write_bytes(b"PK\x03\x04 damaged")
        with contextlib.closing(Site(machine)) as site:
            yield site


def home(machine: Machine) -> Path:
    return Path(machine.environment["HOME"])


def add(page: Any, path: Path, name: str) -> None:
    page.fill("#add input[name=path]", str(path))
    page.fill("#add input[name=name]", name)
    page.click("text=Add this folder")


@pytest.fixture
def notes(site: Site) -> Path:
    """The folder of the notes, already a collection."""
    path = home(site.machine) / "Documents" / "notes"
    site.machine.ok("daemon", "start")
    if not site.machine.call("collection.list")["collections"]:
        site.machine.call("collection.add", path=str(path))
    site.machine.quiet()
    return path


def test_a_folder_is_chosen_in_the_tree_or_typed_and_errors_stand_at_the_field(visit: Any, site: Site) -> None:
    page = visit("/", expected="/api/rpc/collection.")
    page.wait_for_url(f"{site.origin}/add")  # there is nothing to search
    notes = home(site.machine) / "Documents" / "notes"
    page.wait_for_selector(".tree summary >> text=Music")
    assert page.locator(".tree summary").all_inner_texts() == ["Documents", "Music"]
    page.click(".tree summary >> text=Documents")
    page.click(".tree summary >> text=notes")
    page.wait_for_selector(".found >> text=4 files")
    assert page.input_value("#add input[name=path]") == str(notes)
    assert page.input_value("#add input[name=name]") == "notes"
    assert page.locator(".found .tag").all_inner_texts() == ["Markdown 3", "Word document 1"]
    page.wait_for_selector(".found >> text=Not read: video 1")

    page.fill("#add input[name=path]", f"{home(site.machine)}/Doc")
    until(lambda: page.locator("#subfolders option").count() == 2)
    assert page.get_attribute("#subfolders option", "value") == f"{home(site.machine)}/Documents"
    assert page.locator(ERROR).count() == 0  # the typed path need not exist yet
    page.keyboard.press("Tab")
    page.wait_for_selector(f"{ERROR} >> text=There is no such folder")
    assert page.get_attribute("#add input[name=path]", "aria-invalid") == "true"
    page.fill("#add input[name=path]", str(notes / "film.mp4"))
    page.keyboard.press("Tab")
    page.wait_for_selector(f"{ERROR} >> text=This folder cannot be opened")
    add(page, notes, "Not valid!")
    page.wait_for_selector(f"{ERROR} >> text=Choose a name of small letters")


@pytest.mark.stress  # measures and uses a real model
def test_the_tasks_of_a_newcomer_take_less_than_two_minutes(visit: Any, site: Site, hub: HubImitation) -> None:
    began = time.monotonic()
    page = visit("/")
    page.click(".tree summary >> text=Documents")
    page.click(".tree summary >> text=notes")
    page.wait_for_selector(".found >> text=4 files")
    page.click("text=Add this folder")
    page.wait_for_selector(".progress >> text=notes is indexed")
    page.wait_for_selector(".progress >> text=3 documents can be searched. 1 file could not be read")

    page.wait_for_selector(".offer >> text=Memory while you search")
    assert "For 3 documents (en)" in page.inner_text(".offer")
    assert "mdbr-leaf-ir" in page.inner_text(".offer")
    assert not hub.downloads
    page.evaluate(
        "window.saw = []; new MutationObserver(() => saw.push(document.querySelector('.offer').innerText))"
        ".observe(document.querySelector('.offer'), { childList: true, subtree: true })"
    )
    page.click(".offer >> text=/^Download \\d/")
    page.wait_for_selector(".offer progress")
    search = page.context.new_page()  # meanwhile, words are found
    search.goto(f"{site.origin}/search?q=receipts&mode=keyword")
    search.wait_for_selector("#hits >> text=Taxes")
    search.close()
    page.wait_for_selector(".offer >> text=Your documents are read by mdbr-leaf-ir", timeout=110_000)
    assert any(re.search(r"mdbr-leaf-ir: \S+ MB of 9\d.\d MB", text) for text in page.evaluate("window.saw"))

    page.click(".offer >> text=Search")
    page.click("#modes >> text=Vector")
    page.type("#query", "wildlife near a lake")  # words of no document
    page.wait_for_selector("#hits [role=option] >> nth=0 >> text=Herons")
    assert time.monotonic() - began < 120


def test_a_name_that_is_taken_and_a_folder_that_is_there_already(visit: Any, site: Site, notes: Path) -> None:
    page = visit("/add", expected="/api/rpc/collection.add")
    page.fill("#add input[name=path]", str(notes))
    page.wait_for_selector(".found >> text=Already in the index, whole or in part: notes")
    assert page.input_value("#add input[name=name]") == "notes-2"
    add(page, home(site.machine) / "Documents" / "empty", "notes")
    page.wait_for_selector(f"{ERROR} >> text=Another collection has this name. Choose another name.")


def test_failures_are_known_and_tried_again(visit: Any, site: Site, notes: Path) -> None:
    page = visit("/collections")
    page.click("[aria-label='I know: Damaged']")
    page.wait_for_selector(".known >> text=1 file that you know about")
    assert page.locator("[aria-label='I know: Damaged']").count() == 0
    broken, changed = notes / "broken.docx", notes.parent / "changed"
    changed.write_bytes(b"PK\x03\x04 damaged in another way")
    changed.replace(broken)  # nobody reads half of it, which is another failure
    page.wait_for_selector("[aria-label='I know: Damaged']")
    page.click("[aria-label='Try again: Damaged']")
    page.wait_for_selector("#toast >> text=They were read again.")
    (failed,) = site.machine.call("index.status", errors=True)["errors"]
    assert failed["count"] == 3
    broken.unlink()
    until(lambda: page.locator(".reason").count() == 0)


def test_a_note_is_written_and_found(visit: Any, notes: Path) -> None:
    page = visit("/search?q=plumber")
    page.keyboard.press("Alt+n")
    page.fill("dialog textarea", "# Call the plumber\n\nAbout the boiler #house")
    page.keyboard.press("Escape")
    until(lambda: page.locator("dialog").count() == 0)
    page.click("[aria-label='New note']")
    until(lambda: page.input_value("dialog textarea").startswith("# Call"))  # the dialog keeps the text
    page.click("dialog >> text=Save")
    page.wait_for_selector("#toast >> text=/Saved: notes.Inbox.*Call the plumber.md/")
    page.wait_for_selector("#hits >> text=Call the plumber")
    assert len([*notes.rglob("*Call the plumber.md")]) == 1


def test_a_note_is_moved_with_its_links_and_back(visit: Any, site: Site, notes: Path) -> None:
    (notes / "birds.md").write_text("# Birds\n\nSee [the herons](herons.md) at the pond.\n")
    site.machine.quiet()
    page = visit("/doc/notes/herons.md", expected="/api/rpc/document.")
    page.click("text=Move …")
    page.fill("dialog input", "taxes.md")
    page.wait_for_selector("dialog .error >> text=exists already: choose another name")
    assert page.is_disabled("dialog [type=submit]")
    page.fill("dialog input", "old/grey herons.md")
    page.wait_for_selector("dialog >> text=1 link in 1 file will be rewritten")
    assert "herons.md" in page.inner_text("dialog .diff .gone >> nth=-1")
    assert "old/grey" in page.inner_text("dialog .diff .added >> nth=-1")
    page.click("dialog [type=submit]")
    page.wait_for_url(f"{site.origin}/doc/notes/old/grey%20herons.md")
    page.wait_for_selector(".changed >> text=Moved here from herons.md")
    assert (notes / "old" / "grey herons.md").exists()
    assert "(old/grey" in (notes / "birds.md").read_text()
    page.click(".changed >> text=Undo")
    page.wait_for_url(f"{site.origin}/doc/notes/herons.md")
    page.wait_for_selector(".doc >> text=Grey birds")
    assert "(herons.md)" in (notes / "birds.md").read_text()


@pytest.mark.stress
def test_without_a_keyring_memories_get_a_passphrase_and_are_added_and_locked(visit: Any) -> None:
    page = visit("/memories", expected="/api/rpc/memory.unlock")
    page.wait_for_selector("#memories >> text=Choose a passphrase for your memories.")
    assert "would be in the keyring of the system, but" in page.inner_text("#memories")
    first, again = page.locator("#memories input[type=password]").all()
    first.fill("correct horse")
    again.fill("another horse")
    page.click("#memories >> text=Set it")
    page.wait_for_selector("#memories .error >> text=This is not the same passphrase.")
    again.fill("correct horse")
    page.click("#memories >> text=Set it")
    page.click("text=Add a memory")
    page.fill("#memories textarea", "The key of the shed hangs in the office")
    page.click("#memories >> text=Store")
    page.wait_for_selector(".memory >> text=hangs in the office")
    page.click("#memories button:text-is('Lock')")
    page.fill("#memories input[type=password]", "wrong horse battery")
    page.click("#memories >> text=Unlock")
    page.wait_for_selector("#memories .error >> text=This is not the passphrase.")
    page.fill("#memories input[type=password]", "correct horse")
    page.click("#memories >> text=Unlock")
    page.wait_for_selector(".memory >> text=hangs in the office")


@pytest.mark.parametrize(
    "options",
    [
        {"color_scheme": "light"},
        {"color_scheme": "dark"},
        {"color_scheme": "dark", "viewport": PHONE},
    ],
)
@pytest.mark.stress
def test_the_new_states_are_accessible(visit: Any, site: Site, notes: Path, options: dict[str, Any]) -> None:
    (notes / "pond.md").write_text("# Pond\n\nThe home of [[herons]].\n")
    site.machine.quiet()
    page = visit("/add", expected="/api/rpc/", **options)
    page.click(".tree summary >> text=Documents")
    page.wait_for_selector(".found strong")
    page.fill("#add input[name=path]", "/nowhere")
    page.keyboard.press("Tab")
    page.wait_for_selector(ERROR)
    assert not violations(page)
    page.click("[aria-label='New note']")
    page.wait_for_selector("dialog textarea")
    assert not violations(page)
    page.keyboard.press("Escape")
    page.goto(f"{site.origin}/doc/notes/herons.md")
    page.click("text=Move …")
    page.fill("dialog input", "grey.md")
    page.wait_for_selector("dialog .diff")
    assert not violations(page)
    page.goto(f"{site.origin}/collections")
    page.wait_for_selector(".card")
    assert not violations(page)
    page.goto(f"{site.origin}/memories")
    page.wait_for_selector("#memories .summary p")
    if page.is_visible("text=Add a memory"):
        page.click("text=Add a memory")
    assert not violations(page)
    if "viewport" in options:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

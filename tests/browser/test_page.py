"""The page of `gnoctl web` in a real browser, as a user sees it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from typing import Any

import pytest

from tests.browser.conftest import PHONE, WIDE, Site, violations
from tests.machine import temporary_machine
from tests.machine import wait_until as until

pytestmark = pytest.mark.slow

HITS = "#hits [role=option]"


def search(page: Any, query: str) -> None:
    """Type a query, and wait for the results of the final search."""
    page.fill("#query", "")
    page.type("#query", query)
    page.wait_for_url(re.compile(r"/search\?q="))


def highlighted(page: Any) -> list[str]:
    found = page.evaluate("[...(CSS.highlights.get('match') ?? [])].map((range) => range.toString())")
    assert isinstance(found, list)
    return found


def test_results_follow_the_keys_and_a_hit_opens_beside_them(visit: Any) -> None:
    page = visit()
    page.wait_for_selector(HITS)  # an empty query lists the newest documents
    assert "changed last first" in page.inner_text("#count")
    search(page, "load balancer")
    page.wait_for_selector(f"{HITS} >> text=How we deploy")
    assert page.inner_text("#hits mark >> nth=0") in ("load", "balancer")
    # An unreadable file does not make the index look out of date.
    page.wait_for_selector("#state[data-state=current] >> text=current")
    assert page.get_attribute("#state", "title").startswith("current; 1 file could not be read")
    assert page.locator(".hint.warn").count() == 0
    page.wait_for_selector("#reader h1 >> text=How we deploy")  # the first hit is shown beside the list
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#reader h1 >> text=Decisions")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/doc/club/docs/decisions\.md\?q=load\+balancer#L\d+$"))
    until(lambda: "balancer" in highlighted(page))
    assert page.title() == "Decisions · gnod"
    assert page.locator(".doc .target").count() == 1
    page.go_back()
    page.wait_for_url(re.compile(r"/search\?q=load\+balancer$"))
    assert page.input_value("#query") == "load balancer"
    page.go_forward()
    page.wait_for_selector("#reader h1 >> text=Decisions")


def test_filters_have_counts_and_an_address(visit: Any) -> None:
    page = visit()
    search(page, "the boat")
    page.click("#filters .value:has-text('runbook')")
    page.wait_for_url(re.compile(r"/search\?q=the\+boat&type=runbook$"))
    until(lambda: page.locator(HITS).count() == 1)
    assert "How we deploy" in page.inner_text(HITS)
    page.wait_for_selector("#filters .value[aria-pressed=true] >> text=runbook")
    assert page.get_attribute("#chosen .chip", "aria-label") == "Type: runbook: remove"
    page.go_back()
    until(lambda: page.locator(HITS).count() > 1)
    page.goto(page.url + "&lang=de")
    page.wait_for_selector("#nothing >> text=No document matches")
    page.click("#nothing >> text=Remove the filters")
    until(lambda: page.locator(HITS).count() > 1)


def test_a_filter_leaves_the_other_values_of_its_field(visit: Any) -> None:
    page = visit("/search?f.port=Pier&ext=md")
    until(lambda: page.locator(HITS).count() == 1)
    assert page.locator("#chosen .chip").all_inner_texts() == ["port: Pier", "File type: md"]
    page.focus("#chosen .chip >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/search\?ext=md$"))
    until(lambda: page.evaluate("document.activeElement.dataset.chip") == "File type: md")
    page.wait_for_selector("#filters .value:has-text('pdf')")
    pdfs = int(page.inner_text("#filters .value:has-text('pdf') .num"))
    page.keyboard.press("F2")
    until(lambda: page.evaluate("document.activeElement.matches('#filters select')"))
    page.focus("#filters summary >> text=File type")
    while page.evaluate("document.activeElement.dataset.chip") != "ext:md":  # arrow keys go through fields and values
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/$"))
    assert page.locator("#filters .facet :is(summary, button)[tabindex='0']").count() == 1
    page.click("#filters .value:has-text('pdf')")
    until(lambda: page.locator(HITS).count() == pdfs)
    until(lambda: page.evaluate("document.activeElement.dataset.chip") == "ext:pdf")  # the focus stays
    page.click("#filters summary:has-text('Folder')")
    page.reload()
    page.wait_for_selector("#filters summary:has-text('File type')")
    assert page.locator("#filters details:has(summary:has-text('Folder'))").get_attribute("open") is None
    page.keyboard.press("F2")
    page.keyboard.press("F2")
    until(lambda: not page.is_visible("#filters"))


def test_folders_and_tags_are_trees(visit: Any) -> None:
    page = visit("/browse")
    page.wait_for_selector(".trees section[aria-label=Folders] a >> text=vault")
    assert not page.is_visible(".trees a >> text=twin")
    page.click("[aria-label='Below web']")
    page.click(".trees a[data-node='folder:club/web/a']")
    page.wait_for_url(re.compile(r"/search\?folder=club%2Fweb%2Fa$"))
    until(lambda: page.locator(HITS).count() == 1)
    page.go_back()
    page.click(".trees section[aria-label=Tags] a >> text=boat")
    page.wait_for_url(re.compile(r"/search\?tag=boat$"))
    page.wait_for_selector(f"{HITS} >> text=The Albatros")


def test_the_documents_opened_last_are_above_an_empty_query(visit: Any) -> None:
    page = visit("/doc/club/emoji.md", expected="404")
    page.wait_for_selector("#reader h1 >> text=Regatta")
    page.goto(page.url.partition("/doc")[0])
    page.wait_for_selector(".recent a >> text=Regatta")
    assert "changed last first" in page.inner_text("#count")
    page.click(".recent a")
    page.wait_for_url(re.compile(r"/doc/club/emoji\.md$"))
    page.goto(page.url.partition("/doc")[0])  # a document that is still loading would be stored after `gone`
    gone = """JSON.stringify([{ collection: "club", path: "gone.md", title: "Gone" }])"""
    page.evaluate(f"localStorage.setItem('opened', {gone})")
    page.goto(page.url.partition("/doc")[0])
    page.click(".recent a >> text=Gone")
    page.wait_for_selector("#reader [role=alert]")
    until(lambda: page.evaluate("localStorage.getItem('opened')") == "[]")
    page.goto(page.url.partition("/doc")[0])
    page.wait_for_selector(HITS)
    assert page.locator(".recent").count() == 0


def test_an_empty_index_does_not_blame_the_query(browser: Any) -> None:
    with temporary_machine() as machine:
        machine.ok("init", str(machine.notes))
        with contextlib.closing(Site(machine)) as empty, browser.new_context() as context:
            page = context.new_page()
            page.goto(empty.entrance)
            page.wait_for_url(f"{empty.origin}/")
            page.goto(f"{empty.origin}/search?q=boat")
            page.wait_for_selector("#nothing >> text=No document is indexed yet")
            page.wait_for_selector("#nothing a >> text=Add a folder")


def test_an_error_says_what_to_do(visit: Any) -> None:
    page = visit("/search?q=boat%20%22open", expected="400")
    page.wait_for_selector("#notices [role=alert]")
    assert page.locator(HITS).count() == 0
    search(page, "boat")
    page.wait_for_selector(HITS)
    assert page.locator("#notices [role=alert]").count() == 0


def test_a_typo_is_corrected_and_the_page_says_so(visit: Any) -> None:
    page = visit()
    search(page, "certifcate")
    page.wait_for_selector("#notices >> text=Showing results for certificate (you wrote “certifcate”)")


def test_a_search_is_saved_under_a_name(visit: Any, site: Site) -> None:
    page = visit("/search?q=deploy&type=runbook")
    page.click("#save-toggle")
    page.fill("#save input", "crane")
    page.keyboard.press("Enter")
    page.wait_for_selector("#toast >> text=Saved: @crane")
    assert not page.is_visible("#save")
    saved = site.machine.call("search.list")["searches"]
    assert [each["name"] for each in saved] == ["crane"]
    page.fill("#query", "@crane")
    page.wait_for_url(re.compile(r"/search\?q=%40crane&type=runbook$"))
    until(lambda: not page.is_visible("#save-toggle"))
    page.fill("#query", "")
    page.wait_for_selector("#notices a >> text=@crane")
    site.machine.call("search.remove", name="crane")


def test_marks_count_code_points(visit: Any) -> None:
    page = visit("/search?q=trophy")
    assert page.inner_text("#hits mark") == "trophy"


def test_passages_are_shown_as_text_with_their_marks(visit: Any) -> None:
    """Blank lines are left out, and marks stay in place, even beyond the first plane of Unicode."""
    page = visit()
    shown = page.evaluate(
        """async (cases) => {
          const { compact, marked } = await import("/static/text.js");
          const element = document.createElement("p");
          return cases.map(([text, marks]) => {
            element.replaceChildren(...marked(...compact(text, marks)));
            return [element.textContent, ...[...element.querySelectorAll("mark")].map((mark) => mark.textContent)];
          });
        }""",
        [
            ["Crane\n\n- Budget. The crane costs", [[0, 5], [21, 26]]],
            ["a · crane\n\n1 · 2", [[4, 9]]],
            [f"{'word ' * 12}goes\non", [[65, 67]]],
            ["🚣🚣 oar🏆", [[3, 6]]],
            ["no marks", []],
            ["out of range", [[90, 99]]],
        ],
    )
    assert shown == [
        ["Crane\n- Budget. The crane costs", "Crane", "crane"],
        ["a · crane\n1 · 2", "crane"],
        [f"{'word ' * 12}goes on", "on"],
        ["🚣🚣 oar🏆", "oar"],
        ["no marks"],
        ["out of range"],
    ]


def test_old_hits_are_dimmed_while_the_daemon_is_stopped(visit: Any, site: Site) -> None:
    page = visit("/search?q=trophy")
    page.wait_for_selector("#hits mark")
    pid = site.machine.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        page.fill("#query", "crane")
        page.wait_for_selector("#hits.stale[aria-busy=true] >> text=Regatta")
        assert "Waiting for the daemon" in page.inner_text("#count")
    finally:
        os.kill(pid, signal.SIGCONT)
    page.wait_for_selector("#hits:not(.stale) >> text=crane")
    page.wait_for_function("!document.querySelector('#count').textContent.includes('Waiting')")


def test_no_text_changes_how_the_rest_of_the_page_reads(visit: Any) -> None:
    """Titles and paths come from files: an override of the direction would disguise an extension."""
    shown = visit().evaluate(
        """async (text) => {
          const { h } = await import("/static/dom.js");
          const { inline, marked } = await import("/static/text.js");
          const made = h("p", { title: text, href: text }, text, marked(text, [[0, 9]]), inline(`**${text}**`));
          return [made.textContent, made.title, made.getAttribute("href")];
        }""",
        "a\u202efdp\x1b\u2028b\u200f",
    )
    safe = "a\ufffdfdp\ufffd b\u200f"
    assert shown == [safe * 3, safe, "a\u202efdp\x1b\u2028b\u200f"]


def test_a_page_of_a_pdf_is_an_image_with_boxes(visit: Any) -> None:
    page = visit("/doc/club/docs/crane-safety.pdf?q=anemometer#page=1")
    page.wait_for_selector(".page.ready img")
    box = page.locator(".page .box").first.bounding_box()
    sheet = page.locator(".page .sheet").first.bounding_box()
    assert box
    assert sheet["x"] < box["x"] < sheet["x"] + sheet["width"]
    assert sheet["y"] < box["y"] < sheet["y"] + sheet["height"]
    assert 5 < box["height"] < 60
    page.click("text=Text")
    page.wait_for_selector(".doc >> text=The anemometer is on the roof")


def test_the_next_match_is_on_another_page(visit: Any) -> None:
    page = visit("/doc/club/mast.pdf?q=mast#page=1")
    page.wait_for_selector(".matches >> text=2 matches on 2 pages")
    page.focus(".reader-body")
    page.keyboard.press("n")
    page.wait_for_selector(".matches >> text=1 of 2")
    page.keyboard.press("n")
    page.wait_for_selector(".matches >> text=2 of 2")
    page.wait_for_selector(".page.ready[data-page='4'] .box")
    top = page.locator(".reader-body").bounding_box()["y"]
    until(lambda: -600 < page.locator("[data-page='4']").bounding_box()["y"] - top < 400)


def test_a_long_document_is_loaded_as_it_is_read(visit: Any) -> None:
    page = visit("/doc/club/long.md?q=keelhaul")
    page.wait_for_selector(".doc .target >> text=keelhaul knot")
    until(lambda: highlighted(page) == ["keelhaul"])
    assert page.locator(".doc >> text=Paragraph 1 of").count() == 0
    page.goto(page.url.partition("?")[0])
    page.wait_for_selector(".doc >> text=Paragraph 1 of")
    page.evaluate("document.querySelector('.reader-body').scrollTop = 1e9")
    page.wait_for_selector(".doc >> text=Paragraph 1199 of")


def test_matches_are_counted_that_are_not_loaded_yet(visit: Any) -> None:
    page = visit("/doc/club/long.md?q=paragraph")
    page.wait_for_selector(".matches >> text=1,198 matches")
    assert len(highlighted(page)) < 1000
    page.click("[aria-label='Next match']")
    page.wait_for_selector(".matches >> text=1 of 1,198")
    page.click("[aria-label='Previous match']")
    page.wait_for_selector(".matches >> text=1,198 of 1,198")
    page.wait_for_selector(".doc >> text=Paragraph 1199 of")
    page.click("[aria-label='Previous match']")
    page.wait_for_selector(".matches >> text=1,197 of 1,198")


def test_a_quote_leads_to_its_source(visit: Any) -> None:
    page = visit()
    page.fill("#query", "what does error F28 mean")
    page.keyboard.press("Alt+a")
    page.click(".quote a >> text=heating.md:6")
    page.wait_for_url(re.compile(r"/doc/club/household/heating\.md\?ask=what.*#L6$"))
    page.wait_for_selector(".doc .target >> text=it did not ignite")
    assert page.locator(".quote").count() >= 1  # the answer stays beside it


def test_a_saved_file_appears_in_the_open_list(visit: Any, site: Site) -> None:
    page = visit("/search?q=halyard")
    page.wait_for_selector("#nothing >> text=No document matches")
    note = site.machine.notes / "halyard.md"
    note.write_text("# Halyards\n\nThe halyard of the Albatros is worn.\n")
    page.wait_for_selector(f"{HITS} >> text=Halyards")
    page.click(HITS)
    page.wait_for_selector(".doc >> text=is worn")
    note.write_text("# Halyards\n\nThe halyard of the Albatros is new.\n")
    page.wait_for_selector(".changed >> text=This file has changed")
    assert "is worn" in page.inner_text(".doc")  # the text stays until the user requests the new version
    page.click(".changed button")
    page.wait_for_selector(".doc >> text=is new")


@pytest.mark.stress
def test_the_document_covers_the_list_on_a_phone(visit: Any) -> None:
    page = visit("/search?q=boats", viewport=PHONE, has_touch=True)
    page.wait_for_selector(HITS)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.is_visible("#reader")
    page.tap(f"{HITS} >> nth=0")
    page.wait_for_selector("#reader h1")
    assert page.locator("#reader").bounding_box()["width"] == PHONE["width"]
    page.tap("[aria-label='Close the document']")
    page.wait_for_url(re.compile(r"/search\?q=boats$"))
    assert page.is_visible(HITS)


def test_a_document_goes_to_other_programs(visit: Any, site: Site) -> None:
    vault = site.machine.notes / ".obsidian"
    vault.mkdir()
    page = visit("/doc/club/emoji.md#L3")
    obsidian = page.wait_for_selector("a[href^='obsidian://']")
    assert obsidian.get_attribute("href") == f"obsidian://open?vault={site.machine.notes.name}&file=emoji.md"
    page.click("text=Copy link")
    page.wait_for_selector('#toast:has-text("/doc/club/emoji.md#L")')
    raw = page.get_attribute("text=Raw", "href")
    assert "silver oar" in page.evaluate("(address) => fetch(address).then((answer) => answer.text())", raw)
    vault.rmdir()


def test_copying_and_similar_documents(visit: Any, site: Site) -> None:
    page = visit("/search?q=sourdough")
    page.wait_for_selector(HITS)
    page.focus("#query")
    page.keyboard.press("Control+Shift+Y")
    page.wait_for_selector("#toast.shown")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("Sourdough bread, line ")
    assert "gno://club/recipes/sourdough.md" in copied
    page.keyboard.press("Control+y")
    until(lambda: page.evaluate("navigator.clipboard.readText()") == str(site.machine.notes / "recipes/sourdough.md"))


@pytest.mark.stress
def test_model_servers_are_shown(visit: Any, site: Site) -> None:
    before = site.machine.config.read_text()
    server = '  answer: "http://10.1.2.3:8080/v1#m"'
    site.machine.config.write_text(before.replace("  preset: none", f"  preset: none\n{server}"))
    try:
        until(lambda: site.machine.call("index.status")["endpoints"])
        page = visit("/collections")
        card = page.locator("section.endpoints article")
        card.wait_for()
        text = card.inner_text()
        assert "http://10.1.2.3:8080/v1#m" in text
        assert "in the local network · for answer · nothing was sent yet" in text
        assert "Nothing of club is sent: egress in index.yml keeps it here" in text
    finally:
        site.machine.config.write_text(before)
    until(lambda: not site.machine.call("index.status")["endpoints"])
    page = visit("/collections")
    page.wait_for_selector("article.card")
    assert page.locator("section.endpoints article").count() == 0


def test_collections_say_what_failed_and_why(visit: Any, site: Site) -> None:
    page = visit("/collections")
    page.wait_for_selector(".card >> text=club")
    page.click(".failures a >> text=club/broken.pdf")
    page.wait_for_selector(".verdict >> text=failed")
    other = site.machine.folder / "other"
    other.mkdir(exist_ok=True)
    site.machine.call("collection.add", path=str(other))
    page.wait_for_selector(".card >> text=other")
    page.click(".card:has-text('other') >> text=Remove …")
    page.click(".card:has-text('other') >> text=Remove >> nth=-1")
    until(lambda: page.locator(".card").count() == 1)


def test_memories_are_searched_edited_and_forgotten(visit: Any, site: Site) -> None:
    site.machine.call("memory.unlock", passphrase="correct horse battery")
    site.machine.call("memory.store", text="The key of the shed hangs in the office", topics=["shed"])
    page = visit("/memories")
    page.wait_for_selector(".memory >> text=hangs in the office")
    page.click(".memory >> text=Edit")
    page.fill(".memory textarea", "The key of the shed is with Jonas")
    page.click(".memory >> text=Save")
    page.wait_for_selector(".memory-text >> text=is with Jonas")
    page.fill("#memories input[type=search]", "shed")
    page.wait_for_url(re.compile(r"/memories\?q=shed$"))
    page.wait_for_selector(".memory .score")
    page.click(".memory >> text=Forget …")
    page.click(".memory .danger")
    until(lambda: page.locator(".memory").count() == 0)
    page.click("#memories button:text-is('Lock')")
    page.wait_for_selector("#memories >> text=The memories are locked.")


def test_links_are_beside_the_document(visit: Any, site: Site) -> None:
    page = visit("/doc/club/web/hub.md")
    page.wait_for_selector(".links-toggle >> text=Links 272")
    assert not loaded(page) & {"links.js", "graph.js", "picture.js", "layout.js"}
    assert page.evaluate(BYTES) < 175_000
    page.click(".doc a >> text=a block")  # a wikilink leads to the block that it names
    page.wait_for_url(re.compile(r"/doc/club/web/rope\.md#L85$"))
    page.wait_for_selector(".doc .target >> text=The third strand")
    page.keyboard.press("Alt+l")
    page.wait_for_selector("#links .of-backlinks h3 >> text=Backlinks 2")
    assert page.locator("#links .of-backlinks li").all_inner_texts()[0].startswith("The hub\n2 ×")
    assert page.locator("#links .of-backlinks .snippet").count() == 2
    page.wait_for_selector("#links .of-links li a")
    until(lambda: page.evaluate("document.activeElement.matches('.of-links summary')"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/doc/club/web/hub\.md$"))
    links = page.locator("#links .of-links > ul > li")
    until(lambda: links.count() == 49)  # by document
    assert page.inner_text("#links .of-links h3") == "Links 67"
    shown = links.all_inner_texts()
    assert [" ".join(text.split()) for text in shown[:6]] == [
        "Rope 2 × club/web/rope.md :3 :4 #^third",
        "Sail club/web/sail.md :3 #Reefing",
        "gone.mdno such document :3",
        "twinambiguous :3 club/web/a/twin.md club/web/b/twin.md",
        "https://elsewhere.example/ :4",
        "javascript:alert(1)elsewhere :4",
    ]
    far = page.locator("#links a.external")
    assert (far.get_attribute("target"), far.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    page.click("#links .of-links >> text=Show 17 more of 67")
    until(lambda: links.count() == 66)
    new = site.machine.notes / "web" / "new.md"
    new.write_text("# A new one\n\nIt leads to [[hub]], too.\n")
    page.wait_for_selector("#links .of-backlinks h3 >> text=Backlinks 206")
    page.click("#links .of-mentions summary")
    page.wait_for_selector("#links .of-mentions h3 >> text=Mentions without a link 2")
    assert page.locator("#links .of-mentions mark").all_inner_texts() == ["The hub", "The hub"]
    new.unlink()
    page.wait_for_selector("#links .of-backlinks h3 >> text=Backlinks 205")
    page.keyboard.press("Alt+l")
    assert not page.is_visible("#links")


@pytest.mark.stress
def test_the_graph_around_a_document_is_walked_by_keys(visit: Any) -> None:
    page = visit("/doc/club/web/hub.md", reduced_motion="reduce")
    page.wait_for_selector(".doc h1")
    page.keyboard.press("Alt+g")
    page.wait_for_url(re.compile(r"hub\.md\?graph=1$"))
    page.wait_for_selector(".graph svg[data-stable]")
    assert (page.locator(".node").count(), page.title()) == (200, "The hub · gnod")
    assert focused(page) == "The hub, club/web/hub.md: 62 links, 205 backlinks"
    assert page.evaluate(SAME_PICTURE)
    labels = page.evaluate(OVERLAPPING)
    assert labels["named"] > 3
    assert labels["overlapping"] == 0
    width = page.evaluate(WIDTH)
    page.keyboard.press("+")
    assert page.evaluate(WIDTH) > width * 1.3
    page.keyboard.press("Shift+ArrowRight")
    until(lambda: page.evaluate("document.querySelector('.graph-canvas').scrollLeft") > 0)
    page.click("[aria-label=Smaller]")
    assert page.evaluate(WIDTH) == width
    page.focus(".node[tabindex='0']")
    labels = page.evaluate("[...document.querySelectorAll('.node')].map((each) => each.getAttribute('aria-label'))")
    assert max(map(len, labels)) < 300
    page.keyboard.press("ArrowRight")
    neighbour = focused(page)
    assert neighbour != "The hub, club/web/hub.md: 62 links, 205 backlinks"
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#reader h1 >> text={neighbour.partition(',')[0]}")
    assert page.is_visible(".doc")
    page.go_back()
    page.wait_for_selector(".graph svg[data-stable]")
    page.click("[aria-label='2 links away']")
    page.wait_for_url(re.compile(r"\?graph=2$"))
    page.wait_for_selector("[aria-label='2 links away'][aria-pressed=true]")
    assert focused(page) == "2 links away"
    page.click(".graph-bar >> text=List")
    page.wait_for_selector(".graph-list >> text=linked from Rope")
    assert page.locator(".graph-list li").count() == 200
    page.keyboard.press("Escape")
    page.wait_for_selector(".doc h1")


BYTES = """performance.getEntries()
  .filter((each) => each.entryType === "navigation" || each.name.includes("/static/"))
  .reduce((sum, each) => sum + each.decodedBodySize, 0)"""
WIDTH = "document.querySelector('.graph svg').clientWidth"
OVERLAPPING = """() => {
  const boxes = [...document.querySelectorAll(".label.named")].map((each) => each.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const overlapping = boxes.filter((a, at) => boxes.slice(0, at).some((b) => meet(a, b))).length;
  return { named: boxes.length, overlapping };
}"""
SAME_PICTURE = """async () => {
  const { Layout } = await import("/static/layout.js");
  const [once, inSteps] = [1, 2].map(() => new Layout([0, 1, 1, 2], [[0, 1], [0, 2], [2, 3]]));
  once.run();
  while (!inSteps.isStable) inSteps.run(0.01);
  return String(once.x) === String(inSteps.x) && once.y.every(Number.isFinite) && new Set(once.x).size === 4;
}"""


def loaded(page: Any) -> set[str]:
    """Return the names of the loaded files of the page itself."""
    names = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name.split('/').at(-1))")
    return set(names)


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label')"))


def test_a_hostile_document_is_text(visit: Any, site: Site) -> None:
    page = visit("/doc/club/hostile.md", expected="/api/picture?ref=")  # there is no picture `x`
    page.wait_for_selector(".doc h1 >> text=Barnacle")
    assert page.title() == "Barnacle · gnod"
    assert page.locator(".doc :is(script, iframe, style, object, [onerror], [onload])").count() == 0
    assert page.locator(".doc a[href^=javascript]").count() == 0
    for number in range(3):  # notes with odd titles, which the graph and its list show as text
        page.goto(f"{site.origin}/doc/club/web/odd{number}.md?graph=1")
        page.wait_for_selector(".graph svg[data-stable]")
        assert page.locator(".graph .node").count() == 2
        assert page.locator(".graph :is(script, img)").count() == 0
        assert len(page.get_attribute(".graph .node >> nth=0", "aria-label")) < 300
        assert len(page.text_content(".graph .label >> nth=0")) < 40
        page.click(".graph-bar >> text=List")
        page.wait_for_selector(".graph-list >> text=links to The hub")
        assert page.title() != "pwned"


def test_a_note_is_read_as_its_program_shows_it(visit: Any, site: Site) -> None:
    page = visit("/doc/club/vault/albatros.md?q=tiller", expected="/api/picture?")  # one of the pictures is too large
    page.wait_for_selector(".doc h1 >> text=The Albatros")
    until(lambda: page.evaluate(SHOWN_PICTURES) == [["mast.svg", 60], ["oar 1.png", 200]])
    page.wait_for_selector(".no-picture >> text=huge.png: The image has 400 megapixels; at most 120 are read.")
    page.wait_for_selector(".remote >> text=Picture of the web, not loaded: web https://elsewhere.example/pixel.png")
    assert page.title() == "The Albatros · gnod"  # no script of the SVG ran
    page.wait_for_selector(".callout.tip[open] >> text=The tiller.")  # a hit is unfolded
    assert highlighted(page) == ["tiller"]
    assert page.locator(".embed >> text=Of hemp.").count() == 1
    assert page.locator(".embed >> text=Of iron.").count() == 0
    assert page.locator(".base tbody tr").count() == 1
    page.click(".properties summary")
    page.click(".properties a >> text=1982-05-04")
    page.wait_for_url(re.compile(r"/search\?q=built"))
    page.wait_for_selector(f"{HITS} >> text=The Albatros")
    with page.context.new_page() as alone:  # the address of a picture cannot be opened as a page
        address = f"{site.origin}/api/picture?ref=gno://club/vault/albatros.md&target=mast.svg&kind=embed"
        assert alone.goto(address).status == 403


SHOWN_PICTURES = """[...document.querySelectorAll(".doc img")].filter((each) => each.naturalWidth)
  .map((each) => [each.alt, each.clientWidth])"""


def test_the_first_pictures_of_an_album_are_loaded_and_the_others_when_they_are_near(visit: Any) -> None:
    page = visit("/doc/club/vault/album.md")
    page.wait_for_selector(".doc h1 >> text=Album")
    until(lambda: len(page.evaluate(SHOWN_PICTURES)) >= 2)
    assert len(page.evaluate(SHOWN_PICTURES)) < 20
    page.evaluate("document.querySelector('.doc img[alt=\"photo 19.png\"]').scrollIntoView()")
    until(
        lambda: (
            ["photo 19.png", 900]
            in page.evaluate("[...document.querySelectorAll('.doc img')].map((each) => [each.alt, each.naturalWidth])")
        )
    )


READY = "#hits mark, .quote, .card, .trees a, #memories :is(.empty, .summary) p, .graph svg[data-stable], .no-picture"


@pytest.mark.stress
@pytest.mark.parametrize(
    ("scheme", "viewport"), [("light", WIDE), ("dark", WIDE), ("light", PHONE)], ids=["light", "dark", "phone"]
)
def test_all_views_are_accessible(visit: Any, site: Site, scheme: str, viewport: dict[str, int]) -> None:
    """All views obey the rules of axe: WCAG 2.2 AA and good practice."""
    rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
    options = {"color_scheme": scheme, "viewport": viewport, "expected": "/api/picture?"}
    page = visit("/doc/club/docs/how-we-deploy.md?q=deploy", **options)
    page.wait_for_selector(".doc h1")
    page.click(".links-toggle")
    page.wait_for_selector("#links .hint")
    for address in (
        None,
        "/search?q=boat&ext=md",
        "/doc/club/web/knot%2030.md?graph=1",
        "/doc/club/vault/albatros.md",
        "/ask?q=what+does+error+F28+mean",
        "/browse",
        "/collections",
        "/memories",
    ):
        if address:
            page.goto(site.origin + address)
            page.wait_for_selector(READY)
            page.evaluate("document.querySelectorAll('.doc details').forEach((each) => (each.open = true))")
        if address == "/search?q=boat&ext=md":
            page.keyboard.press("F2")
            page.wait_for_selector("#filters .value")
        assert not violations(page, **rules), address


def test_a_crashed_daemon_is_reported_and_comes_back(visit: Any, site: Site) -> None:
    page = visit("/search?q=sourdough", expected="status of 503")  # its request at that moment
    page.wait_for_selector(HITS)
    page.evaluate(
        "new MutationObserver(() => (window.saw = document.querySelector('#banner').textContent || window.saw))"
        ".observe(document.querySelector('#banner'), { childList: true })"
    )
    site.machine.kill()
    until(lambda: page.evaluate("window.saw"))
    until(lambda: not page.is_visible("#banner"))
    search(page, "kartoffelsuppe")
    page.wait_for_selector(f"{HITS} >> text=Kartoffelsuppe wie bei Oma")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_conversation_opens_at_its_message_with_the_tools_folded(visit: Any, scheme: str) -> None:
    page = visit("/search?q=sound+buoy17", color_scheme=scheme, viewport=PHONE)
    page.wait_for_selector("#hits .snippet:not(.code) >> text=buoy17")
    assert page.locator("#hits .about time").get_attribute("datetime").startswith("2026-03-04T10:22")
    page.click("#hits [role=option]")
    page.wait_for_selector("#reader .doc .target >> text=buoy17")
    assert page.locator("#reader .reader-about").inner_text().startswith("2026-03-04 ·")
    tool = page.locator(".doc .target ~ .tool >> nth=0")
    assert tool.locator("summary").inner_text() == "tool Bash"
    assert not tool.locator("pre").is_visible()
    tool.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "soundings --buoy 17" in tool.locator("pre").inner_text()
    page.evaluate("document.querySelectorAll('.tool').forEach((tool) => (tool.open = true))")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_a_hit_in_the_output_of_a_tool_is_unfolded(visit: Any) -> None:
    page = visit("/search?q=marl23")
    page.wait_for_selector("#hits [role=option]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#reader .tool[open] .target >> text=marl23")
    assert page.locator("#reader .tool[open]").count() == 1

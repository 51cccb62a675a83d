/** Shows a document, as text or as pages, at the place that is asked for, and what can be done with it. */

import { getDocument, isAbort, openFile, refOf, rpc } from "./api.js";
import { Article, CHUNK } from "./article.js";
import { button, fill, h, key, unfold } from "./dom.js";
import { paint } from "./highlight.js";
import { PageImages } from "./pages.js";
import { documentPath } from "./router.js";
import { citation, count, counted, day, inline, number, place, size, wordPattern } from "./text.js";

const BUSY_AFTER_MS = 300;

export class Reader {
  /**
   * `say(text)`: tell the user; `onClose()`, `onSimilar(document)`, `onLinks()`, `onGraph()`: what the user chose; `onShown(document)`:
   * another one, or null, is shown.
   */
  constructor(root, { say, onClose, onSimilar, onLinks, onGraph, onShown }) {
    Object.assign(this, { root, say, onClose, onSimilar, onLinks, onGraph, onShown });
    this.head = root.querySelector(".reader-head");
    this.body = root.querySelector(".reader-body");
    this.open = null;
    for (const event of ["wheel", "touchmove", "keydown", "pointerdown"]) this.body.addEventListener(event, () => this.pages?.release(), { passive: true });
    this.body.addEventListener("error", (event) => event.target.matches?.(".doc img") && whyNotShown(event.target), { capture: true });
  }

  /** Show a document at a fragment (`L12`, `page=3`), with the words of `query` highlighted. */
  async show(doc, query = "", { line = null } = {}) {
    const name = `${doc.collection}/${doc.path}`;
    if (this.open?.name === name && this.open.query === query) return this.#goto(doc.fragment, line);
    this.abort?.abort();
    const { signal } = (this.abort = new AbortController());
    const busy = setTimeout(() => this.root.classList.add("busy"), BUSY_AFTER_MS);
    const open = { name, query, ...doc, ref: refOf(doc.collection, doc.path) };
    try {
      const wanted = line ?? lineIn(doc.fragment);
      const [answer, hit] = await Promise.all([
        getDocument(open.ref, { from: wanted ?? 1, lines: CHUNK, signal }),
        query ? find(open, query, signal) : null,
      ]);
      const head = answer.from > 1 ? await getDocument(open.ref, { from: 1, lines: 1, signal }) : answer;
      if (signal.aborted) return;
      this.#draw(open, answer, head, hit, signal);
      await this.#goto(doc.fragment, line);
    } catch (error) {
      if (!isAbort(error)) this.#failed(open, error);
    } finally {
      clearTimeout(busy);
      if (this.abort?.signal === signal) this.root.classList.remove("busy");
    }
  }

  clear() {
    this.abort?.abort();
    this.open = null;
    this.#drop();
    fill(this.head);
    fill(this.body, welcome());
    this.onShown(null);
  }

  /** A file of this document changed: offer to load it again, and leave what is read as it is. */
  changed(isRemoved) {
    this.head.querySelector(".changed")?.remove();
    const again = button("Show the new version", () => this.reload(), { class: "link" });
    this.head.append(h("p.changed", { role: "status" }, isRemoved ? "This file is no longer in the index." : ["This file has changed. ", again]));
  }

  reload() {
    const { collection, path, query } = this.open;
    const line = this.line;
    this.open = null;
    return this.show({ collection, path, fragment: "" }, query, { line });
  }

  /** The first line that is visible. */
  get line() {
    return this.article?.line ?? null;
  }

  get fragment() {
    if (this.pages) return `page=${this.pages.current}`;
    return this.line ? `L${this.line}` : "";
  }

  get place() {
    return this.open ? { ...this.open.document, ...this.open.at, line: this.open.at?.line ?? this.line ?? 1 } : null;
  }

  /** Go to the next match, or to the previous one; among pages, to the next page with matches. */
  async step(by) {
    if (!this.pages) return this.#stepInText(by);
    const pages = this.matchedPages;
    if (!pages.length) return;
    this.match = ((this.match ?? pages.indexOf(this.pages.current)) + by + pages.length) % pages.length;
    this.pages.goto(pages[this.match]);
    this.counter.textContent = `${this.match + 1} / ${this.#upTo(pages.length)}`;
  }

  /** Where the loaded part of the text ends, load the part with the next match. */
  async #stepInText(by) {
    const { article } = this;
    const lines = this.open.hit?.matches?.lines ?? [];
    const from = this.ranges.indexOf(this.range);
    let next = this.ranges[from < 0 && by < 0 ? -1 : from + by];
    if (!next && !article.isWhole && lines.length) {
      const beyond = by > 0 ? lines.find((line) => line > article.to) : lines.findLast((line) => line < article.from);
      const line = beyond ?? lines.at(by > 0 ? 0 : -1);
      await article.goto(line, { isTarget: false });
      next = this.ranges[lines.filter((each) => article.from <= each && each < line).length];
    }
    this.range = next ?? this.ranges.at(by > 0 ? 0 : -1);
    if (!this.range) return;
    unfold(this.range.startContainer.parentElement);
    article.reveal(this.range.getBoundingClientRect());
    this.#countInText();
  }

  #upTo(total) {
    return `${number(total)}${this.open.hit.matches.exact ? "" : "+"}`;
  }

  /** Say how many matches there are, and which of them the user went to. */
  #countInText() {
    const { lines = [], count: total = 0, exact } = this.open.hit?.matches ?? {};
    const at = this.ranges.indexOf(this.range);
    if (at < 0) return this.#count(total ? counted(total, exact, "match", "matches") : "");
    const before = lines.filter((line) => line < this.article.from).length;
    this.#count(`${number(Math.min(before + at + 1, total))} / ${this.#upTo(total)}`);
  }

  // Drawing

  #draw(open, answer, head, hit, signal) {
    const { document: info } = answer;
    this.open = { ...open, document: info, hit, at: hit, outline: head.outline ?? [], pageLines: head.page_lines };
    this.pattern = hit ? wordPattern([hit, ...(hit.passages ?? [])]) : null;
    this.answer = answer;
    const isPaged = answer.kind === "pages" || answer.kind === "image";
    this.asText = false;
    this.signal = signal;
    this.#drop();
    this.#drawHead(isPaged);
    if (isPaged) this.#drawPages();
    else this.#drawText();
    this.onShown(this.open);
  }

  /** Forget what is drawn in the body. */
  #drop() {
    this.pages = null;
    this.article = null;
    this.ranges = [];
    this.range = null;
    this.match = null;
    paint([]);
  }

  #drawPages() {
    const { kind, pages } = this.answer;
    const { ref, query, document: info } = this.open;
    this.#drop();
    this.pages = new PageImages({ ref, query, title: info.title, count: kind === "pages" ? pages : null, root: this.body, signal: this.signal });
    this.matchedPages = this.#pagesWithMatches();
    fill(this.body, this.pages.element);
    const { length } = this.matchedPages;
    this.#count(length > 1 ? `on ${counted(length, this.open.hit.matches.exact, "page")}` : "");
  }

  #pagesWithMatches() {
    const { hit, pageLines } = this.open;
    if (!hit || !pageLines) return [];
    return [...new Set(hit.matches.lines.map((line) => pageAt(pageLines, line)))];
  }

  #drawText() {
    this.#drop();
    this.article = new Article({
      ref: this.open.ref,
      answer: this.answer,
      body: this.body,
      pattern: this.pattern,
      signal: this.signal,
      onMatches: (ranges) => this.#matched(ranges),
      say: this.say,
    });
  }

  /** More of the text is loaded: these are its matches now. */
  #matched(ranges) {
    this.ranges = ranges;
    this.#countInText();
  }

  #count(text) {
    this.head.querySelector(".matches").hidden = !text;
    this.counter.textContent = text;
  }

  #drawHead(isPaged) {
    const info = this.open.document;
    const tags = (info.tags ?? []).map((tag) => h("a.tag", { href: `/search?tag=${encodeURIComponent(tag)}` }, tag));
    const about = [info.modified && day(info.modified), info.language, info.size && size(info.size), this.answer.pages && count(this.answer.pages, "page")];
    this.counter = h("span.counter", { "aria-live": "polite" });
    fill(
      this.head,
      h(
        "div.reader-bar",
        {},
        h("div.reader-name", {}, h("h1", { dir: "auto", tabindex: "-1" }, info.title || info.path), h("p.reader-place", {}, `${info.collection}/${info.path}`)),
        button("×", this.onClose, { class: "button icon close", "aria-label": "Close the document", title: "Close (Esc)" }),
      ),
      h("div.reader-about", {}, h("span", {}, about.filter(Boolean).join(" · ")), tags),
      h("div.tools", { role: "toolbar", "aria-label": "Document" }, this.#tools(isPaged)),
      info.stale ? h("p.changed", {}, "The file has changed since it was indexed.") : null,
    );
    this.#offerObsidian();
  }

  #tools(isPaged) {
    const { outline } = this.open;
    return [
      button("Open", () => this.openFile(), { title: "Open in your editor or viewer" }),
      button("Copy path", () => this.copy("path"), { title: "Copy the path (Ctrl-Y)" }),
      button("Copy link", () => this.copyLink(), { title: "Copy the address of this place on the page" }),
      button("Cite", () => this.copy("citation"), { title: "Copy a citation (Ctrl-Shift-Y)" }),
      h("a.button", { href: `/api/raw?ref=${encodeURIComponent(this.open.ref)}`, target: "_blank", title: "The text as it is written" }, "Raw"),
      button("Folder", () => this.openFile("folder"), { title: "Show the file in the file manager" }),
      button("Similar", () => this.onSimilar(this.open), { title: "Similar documents (Ctrl-S)" }),
      button("Links", this.onLinks, { class: "button links-toggle", "aria-expanded": "false", "aria-controls": "links", title: "Links of this document (Alt-L)" }),
      button("Graph", this.onGraph, { class: "button graph-toggle", "aria-pressed": "false", title: "What is around it (Alt-G)" }),
      outline.length > 1 && !isPaged ? this.#outlineButton(outline) : null,
      isPaged && this.answer.kind === "pages" ? this.#textButton() : null,
      isPaged || this.answer.kind === "code" ? null : button("Lines", (event) => this.#toggleLines(event.currentTarget), { "aria-pressed": String(this.hasLines ?? false), title: "Line numbers" }),
      h("span.matches", {}, button("‹", () => this.step(-1), { class: "button icon", "aria-label": "Previous match" }), this.counter, button("›", () => this.step(1), { class: "button icon", "aria-label": "Next match" })),
    ];
  }

  #outlineButton(outline) {
    const list = h("nav.outline", { "aria-label": "Outline", hidden: true }, outline.map((each) => h("a", { href: `#L${each.line}`, class: `level-${Math.min(6, each.level)}` }, each.title)));
    const toggle = button("Outline", () => {
      list.hidden = !list.hidden;
      toggle.setAttribute("aria-expanded", String(!list.hidden));
    }, { "aria-expanded": "false" });
    list.addEventListener("click", () => toggle.click());
    return h("span.outline-box", {}, toggle, list);
  }

  #textButton() {
    const toggle = button("Text", () => {
      this.asText = !this.asText;
      toggle.setAttribute("aria-pressed", String(this.asText));
      this.#switch();
    }, { "aria-pressed": "false", title: "The text of the pages" });
    return toggle;
  }

  /** Between the images of pages and their text, at the same page. */
  async #switch() {
    const lines = this.open.pageLines ?? [];
    if (this.asText) {
      const page = this.pages.current;
      this.#drawText();
      await this.article.goto(lines[page - 1] ?? 1);
    } else {
      const line = this.line ?? 1;
      this.#drawPages();
      this.pages.goto(pageAt(lines, line));
    }
  }

  #toggleLines(toggle) {
    this.hasLines = !this.hasLines;
    toggle.setAttribute("aria-pressed", String(this.hasLines));
    this.root.classList.toggle("with-lines", this.hasLines);
  }

  #failed(open, error) {
    this.open = { ...open, document: { title: open.path, ...open } };
    this.#drop();
    this.onShown(null);
    fill(this.head, h("div.reader-bar", {}, h("div.reader-name", {}, h("h1", { tabindex: "-1" }, open.path), h("p.reader-place", {}, open.name)), button("×", this.onClose, { class: "button icon close", "aria-label": "Close the document" })));
    const why = h("a", { href: `/collections?why=${encodeURIComponent(open.name)}` }, "Why is this file not in the index?");
    fill(this.body, h("div.empty", { role: "alert" }, h("p.empty-title", {}, inline(error.message)), error.status === 404 ? h("p", {}, why) : null));
  }

  // Going to a place

  async #goto(fragment, line) {
    const page = /^page=(\d+)/.exec(fragment ?? "");
    this.open.fragment = fragment;
    if (this.pages) return this.pages.goto(page ? Number(page[1]) : (this.open.hit?.location?.page ?? 1));
    const anchor = fragment && !lineIn(fragment) && !page ? this.article?.lineOf(fragment, this.open.outline) : null;
    const wanted = line ?? lineIn(fragment) ?? anchor ?? (page && this.open.pageLines?.[page[1] - 1]) ?? this.open.hit?.line;
    await this.article?.goto(wanted, { isTarget: line === null });
  }

  // What the user does with the document

  async openFile(where = "open") {
    if (!this.open) return;
    try {
      const fragment = this.fragment;
      await openFile(fragment.startsWith("page=") ? `${this.open.ref}#${fragment}` : fragment ? `${this.open.ref}:${fragment.slice(1)}` : this.open.ref, where);
      this.say("Opened.");
    } catch (error) {
      this.say(error.message);
    }
  }

  copy(what) {
    return copyOf(this.place, what, this.say);
  }

  copyLink() {
    const { collection, path } = this.open;
    return copyText(`${location.origin}${documentPath(collection, path)}${this.fragment && `#${this.fragment}`}`, this.say);
  }

  /** A file in a vault also opens there. */
  async #offerObsidian() {
    const { open } = this;
    const { obsidian } = await rpc("document.locate", { ref: open.ref }).catch(() => ({}));
    if (obsidian && this.open === open) this.head.querySelector(".tools").append(h("a.button", { href: obsidian, title: "Open in Obsidian" }, "Obsidian"));
  }
}

/** Copy the path, or a citation, of a hit or of an open document. */
export async function copyOf(item, what, say) {
  if (!item) return;
  await copyText(what === "path" ? (item.source ?? place(item)) : citation(item), say);
}

async function copyText(text, say) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied: ${text}`);
  } catch {
    say(`The browser did not copy it: ${text}`);
  }
}

/** Put the reason in the place of a picture that is not shown. */
async function whyNotShown(image) {
  const note = h("span.no-picture", {}, image.alt || "Picture");
  image.replaceWith(note);
  const response = await fetch(image.src, { credentials: "same-origin" }).catch(() => null);
  const why = (await response?.json().catch(() => null))?.error?.message ?? "the file is not a picture that this browser can show";
  fill(note, `${image.alt || "Picture"}: ${why}`);
}

export function welcome() {
  const rows = [["↓ ↑", "choose a hit"], ["Enter", "open it"], ["/", "search"], ["Alt-A", "ask a question"], ["F2", "filters"], ["?", "all keys"]];
  return h("div.welcome", {}, h("dl.keys", {}, rows.map(([keys, what]) => h("div", {}, h("dt", {}, keys.split(" ").map(key)), h("dd", {}, what)))));
}

const pageAt = (pageLines, line) => Math.max(1, pageLines.findLastIndex((first) => first <= line) + 1);

function lineIn(fragment) {
  const found = /^L(\d+)/.exec(fragment ?? "");
  return found ? Number(found[1]) : null;
}

/** The passages of a document that match a query. */
async function find({ collection, path }, query, signal) {
  try {
    const result = await rpc("search.lexical", { query, collections: [collection], path_prefix: path, limit: 10, passages: 10 }, { signal });
    return result.hits.find((hit) => hit.path === path) ?? null;
  } catch (error) {
    if (isAbort(error)) throw error;
    return null;
  }
}

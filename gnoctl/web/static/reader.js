/** Shows a document, as text or as pages, at the requested place, with its actions. */

import { getDocument, isAbort, openFile, refOf, rpc } from "./api.js";
import { Article } from "./article.js";
import { button, fill, h, key } from "./dom.js";
import { paint } from "./highlight.js";
import { outline } from "./outline.js";
import { documentPath } from "./router.js";
import { citation, count, counted, day, inline, number, place, size } from "./text.js";

const BUSY_AFTER_MS = 300;

export class Reader {
  /**
   * `say(text)`: tell the user; `onClose()`, `onSimilar(document)`, `onLinks()`, `onGraph()`, `onMove(document)`, `onPlace(fragment)`: the
   * user's choices; `onShown(document)`: another document, or none (null), is shown.
   */
  constructor(root, { say, onClose, onSimilar, onLinks, onGraph, onMove, onPlace, onShown }) {
    Object.assign(this, { root, say, onClose, onSimilar, onLinks, onGraph, onMove, onShown });
    this.head = root.querySelector(".reader-head");
    this.body = root.querySelector(".reader-body");
    this.open = null;
    for (const event of ["wheel", "touchmove", "keydown", "pointerdown"]) this.body.addEventListener(event, () => this.pages?.release(), { passive: true });
    this.body.addEventListener("error", (event) => event.target.matches?.(".doc img") && whyNotShown(event.target), { capture: true });
    root.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#']");
      if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      onPlace(decodeURIComponent(link.getAttribute("href").slice(1)));
    });
  }

  /** Show a document at a fragment (`L12`, `page=3`, a heading), with the words of `query` highlighted. */
  async show(doc, query = "", { line = null } = {}) {
    const name = `${doc.collection}/${doc.path}`;
    if (this.open?.name === name && this.open.query === query) return this.#goto(doc.fragment, line);
    this.abort?.abort();
    const { signal } = (this.abort = new AbortController());
    const busy = setTimeout(() => this.root.classList.add("busy"), BUSY_AFTER_MS);
    const open = { name, query, ...doc, ref: refOf(doc.collection, doc.path) };
    const matches = query ? find(open.ref, query, signal) : null;
    try {
      const first = line ?? (doc.fragment ? lineIn(doc.fragment) : (await matches)?.lines[0]);
      const answer = await this.#load(open, first, pageIn(doc.fragment) ? "" : doc.fragment, signal);
      if (signal.aborted) return;
      await this.#draw(open, answer, signal);
      if (signal.aborted) return;
      await this.#goto(doc.fragment, first, { isTarget: line === null, answer });
      matches?.then((found) => found && !signal.aborted && this.#setMatches(found));
    } catch (error) {
      if (!isAbort(error)) this.#failed(open, error);
    } finally {
      clearTimeout(busy);
      if (this.abort?.signal === signal) this.root.classList.remove("busy");
    }
  }

  /** The part that contains a line, or the heading that a fragment names. */
  async #load({ ref }, line, fragment, signal) {
    const isNamed = fragment && !lineIn(fragment);
    try {
      return await getDocument(isNamed ? `${ref}#${encodedName(nameIn(fragment))}` : ref, { from: line, signal });
    } catch (error) {
      if (!isNamed || error.kind !== "invalid_reference") throw error;
      this.unknown = error.message;
      return getDocument(ref, { signal });
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

  /** When the file of this document changed, offer to load it again, without changing the text that the user reads. */
  changed(isRemoved) {
    this.head.querySelector(".changed")?.remove();
    const again = button("Show the new version", () => this.reload(), { class: "link" });
    this.head.append(h("p.changed", { role: "status" }, isRemoved ? "This file is no longer in the index." : ["This file has changed. ", again]));
  }

  /** Show a message above the document that is being opened. */
  tell(...text) {
    this.told = h("p.changed", { role: "status" }, text);
  }

  reload() {
    const { collection, path, query } = this.open;
    const line = this.line;
    this.open = null;
    return this.show({ collection, path, fragment: "" }, query, { line });
  }

  /** The first visible line. */
  get line() {
    return this.article?.line ?? null;
  }

  get fragment() {
    if (this.pages) return `page=${this.pages.current}`;
    return this.line ? `L${this.line}` : "";
  }

  /** The source for a citation: the document, and the place where the user is. */
  async place() {
    if (!this.open) return null;
    const info = { ...this.open.document, line: this.line ?? 1 };
    if (this.pages) return { ...info, location: { label: `p${this.pages.current}`, fragment: `page=${this.pages.current}` } };
    const { location } = await rpc("document.locate", { ref: `${this.open.ref}:${info.line}` }).catch(() => ({}));
    return { ...info, location };
  }

  /** Go to the next match, or to the previous one. */
  async step(by) {
    if (!this.shown?.matches) return;
    await this.shown.step(by);
    this.#countMatches();
  }

  /** The view of the document: its text, or its pages. */
  get shown() {
    return this.article ?? this.pages;
  }

  #setMatches(found) {
    this.found = found;
    this.shown?.setMatches(found, (line) => pageAt(this.open.pageLines ?? [1], line));
  }

  /** Show the number of matches, and the number of the current one. */
  #countMatches() {
    const { total = 0, number: at, places, isExact } = this.shown?.matches ?? {};
    const all = counted(total, isExact, "match", "matches");
    const text = at ? `${number(at)} of ${number(total)}${isExact ? "" : "+"}` : this.pages && places?.length > 1 ? `${all} on ${count(places.length, "page")}` : all;
    this.head.querySelector(".matches").hidden = !total;
    this.counter.textContent = total ? text : "";
  }

  // Drawing

  async #draw(open, answer, signal) {
    const { document: info } = answer;
    this.open = { ...open, document: info, outline: answer.outline ?? [], pageLines: answer.page_lines };
    this.answer = answer;
    const isPaged = answer.kind === "pages" || answer.kind === "image";
    this.signal = signal;
    this.found = null;
    this.#drop();
    this.#drawHead(isPaged);
    if (isPaged) await this.#drawPages();
    else this.#drawText(answer);
    this.onShown(this.open);
  }

  /** Drop the content of the body. */
  #drop() {
    this.drawing?.abort();
    this.drawing = new AbortController();
    this.pages = null;
    this.article = null;
    for (const name of ["match", "current", "place"]) paint([], name);
  }

  /** Aborts when the document is closed, or drawn in another form. */
  get #lifetime() {
    return AbortSignal.any([this.signal, this.drawing.signal]);
  }

  async #drawPages() {
    const { PageImages } = await import("./pages.js");
    const { kind, pages } = this.answer;
    const { ref, query, document: info } = this.open;
    this.#drop();
    this.pages = new PageImages({
      ref,
      query,
      title: info.title,
      count: kind === "pages" ? pages : null,
      root: this.body,
      signal: this.#lifetime,
      onMatches: () => this.#countMatches(),
      onPage: () => this.#showPage(),
      onOutline: (entries) => this.#addOutline(entries),
    });
    fill(this.body, this.pages.element);
    this.#drawn();
  }

  #drawText(answer) {
    this.#drop();
    this.article = new Article({ ref: this.open.ref, answer, body: this.body, signal: this.#lifetime, onMatches: () => this.#countMatches(), say: this.say });
    this.#drawn();
  }

  #drawn() {
    this.#countMatches();
    this.#showPage();
    if (this.found) this.#setMatches(this.found);
  }

  #showPage() {
    const field = this.head.querySelector(".page-number");
    if (!field) return;
    this.head.querySelector(".page-tools").hidden = !this.pages;
    if (!this.pages) return;
    this.head.querySelector(".page-count").textContent = `of ${number(this.pages.count)}`;
    if (field !== document.activeElement) field.value = this.pages.current;
  }

  #drawHead(isPaged) {
    const info = this.open.document;
    const tags = (info.tags ?? []).map((tag) => h("a.tag", { href: `/search?tag=${encodeURIComponent(tag)}` }, tag));
    const about = [dayOf(info), info.language, info.size && size(info.size), this.answer.pages && count(this.answer.pages, "page")];
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
      this.told,
    );
    this.told = null;
    this.#offerObsidian();
  }

  #tools(isPaged) {
    const { outline: entries } = this.open;
    return [
      button("Open", () => this.openFile(), { title: "Open in your editor or viewer" }),
      button("Copy path", () => this.copy("path"), { title: "Copy the path (Ctrl-Y)" }),
      button("Copy link", () => this.copyLink(), { title: "Copy the address of this place on the page" }),
      button("Cite", () => this.copy("citation"), { title: "Copy a citation (Ctrl-Shift-Y)" }),
      h("a.button", { href: `/api/raw?ref=${encodeURIComponent(this.open.ref)}`, target: "_blank", title: "The unchanged text" }, "Raw"),
      button("Folder", () => this.openFile("folder"), { title: "Show the file in the file manager" }),
      this.open.path.includes("!/") ? null : button("Move …", () => this.onMove(this.open), { title: "Rename or move the file; links to it follow" }),
      button("Similar", () => this.onSimilar(this.open), { title: "Similar documents (Ctrl-S)" }),
      button("Links", this.onLinks, { class: "button links-toggle", "aria-expanded": "false", "aria-controls": "links", title: "Links of this document (Alt-L)" }),
      button("Graph", this.onGraph, { class: "button graph-toggle", "aria-pressed": "false", title: "The graph around it (Alt-G)" }),
      h("span.outline-place", {}, entries.length > 1 && !isPaged ? outline(entries) : null),
      isPaged && this.answer.kind === "pages" ? [this.#pageTools(), this.#textButton()] : null,
      isPaged || this.answer.kind === "code" ? null : button("Lines", (event) => this.#toggleLines(event.currentTarget), { "aria-pressed": String(this.hasLines ?? false), title: "Line numbers" }),
      h("span.matches", {}, button("‹", () => this.step(-1), { class: "button icon", "aria-label": "Previous match" }), this.counter, button("›", () => this.step(1), { class: "button icon", "aria-label": "Next match" })),
    ];
  }

  #addOutline(entries) {
    fill(this.head.querySelector(".outline-place"), outline(entries.map(({ page, ...each }) => ({ ...each, fragment: `page=${page}` }))));
  }

  #pageTools() {
    const field = h("input.page-number", { type: "number", min: 1, "aria-label": "Page", onchange: () => this.pages?.goto(Number(field.value) || 1) });
    const zoom = (steps, sign, label) => button(sign, () => this.pages?.zoomBy(steps), { class: "button icon", "aria-label": label, title: label });
    return h("span.page-tools", {}, field, h("span.page-count"), zoom(-1, "−", "Smaller"), zoom(1, "+", "Larger"));
  }

  #textButton() {
    const toggle = button("Text", () => {
      toggle.setAttribute("aria-pressed", String(!this.article));
      this.#switch();
    }, { "aria-pressed": "false", title: "The text of the pages" });
    return toggle;
  }

  /** Switch between the images of pages and their text, at the same page. */
  async #switch() {
    const lines = this.open.pageLines ?? [];
    if (this.pages) {
      const line = lines[this.pages.current - 1] ?? 1;
      this.#drawText(await getDocument(this.open.ref, { from: line, signal: this.signal }));
      await this.article.goto(line);
    } else {
      const line = this.line ?? 1;
      await this.#drawPages();
      this.pages.goto(pageAt(lines, line));
    }
  }

  #toggleLines(toggle) {
    this.hasLines = !this.hasLines;
    toggle.setAttribute("aria-pressed", String(this.hasLines));
    this.root.classList.toggle("with-lines", this.hasLines);
  }

  #failed(open, error) {
    this.open = { ...open, error, document: { title: open.path, ...open } };
    this.#drop();
    this.onShown(null);
    fill(this.head, h("div.reader-bar", {}, h("div.reader-name", {}, h("h1", { tabindex: "-1" }, open.path), h("p.reader-place", {}, open.name)), button("×", this.onClose, { class: "button icon close", "aria-label": "Close the document" })), this.told);
    this.told = null;
    const why = h("a", { href: `/collections?why=${encodeURIComponent(open.name)}` }, "Why is this file not in the index?");
    fill(this.body, h("div.empty", { role: "alert" }, h("p.empty-title", {}, inline(error.message)), error.status === 404 ? h("p", {}, why) : null));
  }

  // Going to a place

  /** Go to a fragment, or else to a line. `answer`: the part that was loaded for the fragment. */
  async #goto(fragment, line, { isTarget = line === null, answer = null } = {}) {
    const name = nameIn(fragment ?? "");
    this.open.fragment = fragment;
    const wanted = line ?? lineIn(name) ?? this.open.pageLines?.[pageIn(name) - 1];
    if (this.pages) return this.pages.goto(pageIn(name) ?? pageAt(this.open.pageLines ?? [1], wanted ?? 1));
    if (wanted || !name) return this.article?.goto(wanted, { isTarget });
    if (this.article?.gotoName(name)) return;
    const { line: found } = answer ?? (await this.#load(this.open, null, fragment, this.signal));
    if (this.unknown) this.say(this.unknown);
    await this.article?.goto(this.unknown ? null : found);
    this.unknown = null;
  }

  // The user's actions on the document

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

  async copy(what) {
    return copyOf(await this.place(), what, this.say);
  }

  copyLink() {
    const { collection, path } = this.open;
    return copyText(`${location.origin}${documentPath(collection, path)}${this.fragment && `#${this.fragment}`}`, this.say);
  }

  /** Offer to open a file of a vault in Obsidian. */
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
    say(`The browser did not allow copying: ${text}`);
  }
}

/** Replace a picture that cannot be shown by the reason. */
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

/** The day when a file was changed; for a conversation, when its last message was written. */
const dayOf = (info) => (info.mime === "application/x-conversation" && info.metadata?.date?.slice(0, 10)) || (info.modified && day(info.modified));

const pageAt = (pageLines, line) => Math.max(1, pageLines.findLastIndex((first) => first <= line) + 1);

const numberIn = (pattern, fragment) => Number(pattern.exec(fragment ?? "")?.[1]) || null;
const lineIn = (fragment) => numberIn(/^L(\d+)/, fragment);
const pageIn = (fragment) => numberIn(/^(?:doc-)?page=(\d+)/, fragment);
/** A fragment without the prefix that the server adds to the names of a document. */
const nameIn = (fragment) => fragment.replace(/^doc-/, "");

/** A fragment as in a reference: `sheet=Costs&row=4`, or a heading. */
const encodedName = (name) => name.split(/([=&])/).map((part) => (/^[=&]$/.test(part) ? part : encodeURIComponent(part))).join("");

/** All matches of a query in a document; null for an invalid query. */
async function find(ref, query, signal) {
  try {
    return await rpc("document.matches", { ref, query }, { signal });
  } catch {
    return null;
  }
}

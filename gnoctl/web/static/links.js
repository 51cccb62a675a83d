/** The connections of the open document: its links, links and mentions in other documents, related documents. Loaded on first use. */

import { isAbort, rpc } from "./api.js";
import { button, fill, h } from "./dom.js";
import { addressOf, placeOf } from "./router.js";
import { count, inUtf16, marked, number } from "./text.js";

const PAGE = 50;
const MOST = 1000;
const RELATED = 12;
const QUIET_MS = 300;

/**
 * `isEager`: loaded with the document; other sections when they are opened. `load` returns the items and their total, null if it is unknown
 * before the last item. `row` draws the items of a document, those with the same `of`. */
const SECTIONS = [
  {
    name: "links",
    title: "Links",
    empty: "This document has no links.",
    isEager: true,
    of: ({ to, state, target }) => to ?? `${state} ${target}`,
    row: outgoing,
    async load(ref, offset, limit, signal) {
      const { links, total_links: total } = await rpc("document.links", { ref, direction: "out", offset, limit }, { signal });
      return { items: links, total };
    },
  },
  {
    name: "backlinks",
    title: "Backlinks",
    empty: "No document links to this one.",
    isEager: true,
    row: (links) => passagesIn(links, ({ passage }) => [passage, []]),
    async load(ref, offset, limit, signal) {
      const { backlinks, total_backlinks: total } = await rpc("document.links", { ref, direction: "in", offset, limit }, { signal });
      return { items: backlinks, total };
    },
  },
  {
    name: "mentions",
    title: "Mentions without a link",
    empty: "No other document mentions this one by its name.",
    row: (mentions) => passagesIn(mentions, ({ passage, marks }) => [passage, inUtf16(passage, marks)]),
    async load(ref, offset, limit, signal) {
      const { mentions, total, has_more: hasMore } = await rpc("links.mentions", { ref, offset, limit }, { signal });
      return { items: mentions, total: hasMore ? null : (total ?? offset + mentions.length) };
    },
  },
  {
    name: "related",
    title: "Related",
    empty: "No related document was found.",
    row: ([hit]) => related(hit),
    async load(ref, _offset, _limit, signal) {
      const { hits } = await rpc("search.similar", { ref, limit: RELATED }, { signal });
      return { items: hits, total: hits.length };
    },
  },
];

export class LinksPanel {
  /** `root`: the landmark; `onClose()`: the user closed it. */
  constructor(root, { onClose }) {
    this.sections = SECTIONS.map((each) => new Section(each));
    const close = button("×", onClose, { class: "button icon", "aria-label": "Close the links" });
    fill(root, h("div.links-head", {}, h("h2", {}, "Connections"), close), this.sections.map((each) => each.element));
  }

  show(ref, signal) {
    for (const section of this.sections) section.show(ref, signal);
  }

  /** Load the shown sections again after files changed, once per burst, because the links to this document may have changed. */
  changed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.sections.forEach((each) => each.refresh()), QUIET_MS);
  }
}

class Section {
  constructor(kind) {
    Object.assign(this, { of: ({ uri }) => uri }, kind);
    this.last = Promise.resolve();
    this.count = h("span.num");
    this.list = h("ul");
    this.foot = h("div.links-foot", { "aria-live": "polite" });
    this.element = h(`details.links-section.of-${kind.name}`, { open: kind.isEager }, h("summary", {}, h("h3", {}, kind.title, " ", this.count)), this.list, this.foot);
    this.element.addEventListener("toggle", () => this.element.open && !this.items && !this.isLoading && this.#load());
  }

  show(ref, signal) {
    Object.assign(this, { ref, signal, items: null, total: 0, isLoading: false });
    if (this.isEager || this.element.open) return void this.#load(); // keep the old items until then
    for (const each of [this.count, this.list, this.foot]) fill(each);
  }

  /** Load the shown items again. Unchanged items are not redrawn. */
  async refresh() {
    if (!this.items) return;
    await this.#guard(async () => {
      const before = JSON.stringify([this.items, this.total]);
      const { items, total } = await this.load(this.ref, 0, Math.min(MOST, Math.max(PAGE, this.items.length)), this.signal);
      if (JSON.stringify([items, total]) === before) return;
      Object.assign(this, { items, total });
      keepingFocus(this.list, () => this.#draw());
    });
  }

  #load() {
    return this.#guard(async () => {
      const { items, total } = await this.load(this.ref, this.items?.length ?? 0, PAGE, this.signal);
      this.items = [...(this.items ?? []), ...items];
      this.total = total;
      this.#draw();
    });
  }

  #draw() {
    fill(this.list, [...Map.groupBy(this.items, this.of).values()].map((items) => h("li", {}, this.row(items))));
    const shown = this.items.length;
    const rest = (this.total ?? Infinity) - shown;
    const of = this.total === null ? "" : ` of ${number(this.total)}`;
    this.count.textContent = this.total === null ? `${number(shown)}+` : number(this.total);
    const rows = this.list.children.length;
    const more = () => this.#load().then(() => this.list.children[rows]?.querySelector("a")?.focus());
    fill(this.foot, !shown ? h("p.hint", {}, this.empty) : rest > 0 ? button(`Show ${number(Math.min(PAGE, rest))} more${of}`, more, { class: "button link" }) : null);
  }

  /** Run one task at a time: loading a page and reloading one would mix their items. */
  #guard(work) {
    const { signal } = this;
    this.isLoading = true;
    const run = async () => {
      try {
        if (!signal.aborted) await work();
      } catch (error) {
        if (!isAbort(error) && this.signal === signal) fill(this.foot, h("p.hint", {}, error.message));
      } finally {
        if (this.signal === signal) this.isLoading = false;
      }
    };
    return (this.last = this.last.then(run));
  }
}

/** The links of this document to another one, to an address, or to nothing. */
function outgoing(links) {
  const [first] = links;
  return [
    h("div.links-row", {}, leading(first), amount(links)),
    h("p.links-place", { dir: "auto" }, first.to ? placeOf(first.to) : null, links.map(lineOf)),
    first.candidates.length ? candidates(first) : null,
  ];
}

const amount = (items) => (items.length > 1 ? h("span.num", { title: "How often" }, `${items.length} ×`) : null);

/** The line of a link, and the place that it names. */
function lineOf({ line, to, to_line: toLine, fragment, has_place: hasPlace }) {
  const place = fragment && to && hasPlace ? h("a", { href: addressOf(to, toLine ? `L${toLine}` : ""), dir: "auto" }, `#${fragment}`) : null;
  return h("span", {}, " ", h("a.links-line", { href: `#L${line}`, "aria-label": `line ${line} of this document` }, `:${line}`), " ", place, hasPlace ? null : h("span.muted", {}, `It has no “${fragment}”.`));
}

function leading({ to, to_title: title, state, target }) {
  if (to) return h("a", { href: addressOf(to), dir: "auto" }, title || placeOf(to));
  if (state === "external" && /^(https?:\/\/|mailto:)/i.test(target)) return h("a.external", { href: target, target: "_blank", rel: "noopener noreferrer", dir: "auto" }, target);
  const why = { ambiguous: "ambiguous", external: "elsewhere", outside: "outside the collection" }[state] ?? "no such document";
  return h("span", {}, h("span.unresolved", { dir: "auto" }, target), h("span.kind", {}, why));
}

const candidates = (link) => h("ul.candidates", {}, link.candidates.map((uri) => h("li", {}, h("a", { href: addressOf(uri), dir: "auto" }, placeOf(uri)))));

/** The passages of another document. Each opens the document there. */
function passagesIn(items, marksOf) {
  const [{ uri, title, line }] = items;
  const passage = (item) => h("p.snippet", { dir: "auto" }, marked(...marksOf(item)), " ", h("a.links-line", { href: addressOf(uri, `L${item.line}`), "aria-label": `line ${item.line}` }, `:${item.line}`));
  return [h("div.links-row", {}, h("a", { href: addressOf(uri, `L${line}`), dir: "auto" }, title || placeOf(uri)), amount(items)), h("p.links-place", {}, placeOf(uri)), items.map(passage)];
}

const REASONS = {
  links_to: (links) => `→ ${count(links, "link")}`,
  linked_from: (links) => `← ${count(links, "link")}`,
  cited_together: (documents) => `${count(documents, "document")} with links to both`,
  similar: (similarity) => `similarity ${similarity.toFixed(2)}`,
};

function related(hit) {
  const reasons = (hit.reasons ?? []).map((each) => h("span.kind", {}, REASONS[each.kind]?.(each.number) ?? each.kind));
  return [h("a", { href: addressOf(hit.uri), dir: "auto" }, hit.title || hit.path), h("p.links-place", {}, placeOf(hit.uri)), reasons.length ? h("p", {}, reasons) : null];
}

/** Draw a list again. The link with the focus keeps it. */
function keepingFocus(list, draw) {
  const links = () => [...list.querySelectorAll("a")];
  const href = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  draw();
  if (href) (links().find((each) => each.getAttribute("href") === href) ?? links()[0])?.focus({ preventScroll: true });
}

/** The list of hits: a listbox with a selected hit. Draws what the protocol returns; knows no requests. */

import { h, fill } from "./dom.js";
import { ago, compact, day, inUtf16, lines, marked } from "./text.js";

const VISIBLE_ROWS = 3;
const ROW = 48;
const PER_FRAME = 40;

export class HitList {
  /** `onOpen(hit, newTab)` and `onSelect(hit)`: actions of the user; `onEnd`: the end of the list is near. */
  constructor(list, input, { onOpen, onSelect, onEnd }) {
    this.list = list;
    this.input = input;
    this.onSelect = onSelect;
    this.hits = [];
    this.selected = -1;
    this.hasMoved = false;
    list.addEventListener("click", (event) => this.#clicked(event, onOpen));
    list.addEventListener("auxclick", (event) => event.button === 1 && this.#clicked(event, onOpen));
    this.end = h("li.end", { role: "presentation" });
    this.observer = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && onEnd(), {
      root: list.closest(".scroller"),
      rootMargin: "600px",
    });
  }

  /** Dim the hits, because they belong to another query. Return whether they were dimmed. */
  setStale(isStale) {
    const was = this.list.classList.contains("stale");
    this.list.classList.toggle("stale", isStale);
    this.list.setAttribute("aria-busy", String(isStale));
    return was;
  }

  /** Show these hits. `keep`: keep the selection and the scroll position; else begin at the top. */
  render(hits, { keep = false, hasScore = true } = {}) {
    const scroller = this.list.closest(".scroller");
    const anchor = keep ? this.#anchor(scroller) : null;
    const chosen = keep || this.hasMoved ? this.current?.docid : null;
    this.hits = hits;
    this.hasScore = hasScore;
    fill(this.list, hits.map((hit, index) => option(hit, index, hasScore)), this.end);
    const index = hits.findIndex((hit) => hit.docid === chosen);
    this.#mark(index >= 0 ? index : hits.length ? 0 : -1);
    if (index < 0) this.hasMoved = false;
    if (anchor) this.#restore(scroller, anchor);
    else if (scroller.scrollTop) scroller.scrollTop = 0;
    this.#watchEnd();
  }

  /** Add the hits that are not in the list, a few per frame. */
  async append(hits) {
    const shown = this.hits;
    const known = new Set(shown.map((hit) => hit.docid));
    const added = hits.filter((hit) => !known.has(hit.docid));
    for (let at = 0; at < added.length && this.hits === shown; at += PER_FRAME) {
      const some = added.slice(at, at + PER_FRAME);
      this.end.before(...some.map((hit, index) => option(hit, shown.length + index, this.hasScore)));
      shown.push(...some);
      await new Promise(requestAnimationFrame);
    }
    this.#watchEnd();
  }

  /** Show something below the last hit. */
  endWith(node) {
    fill(this.end, node);
  }

  /** Observe the end anew, so that it is reported again even if it is as near as before. */
  #watchEnd() {
    this.observer.unobserve(this.end);
    this.observer.observe(this.end);
  }

  get current() {
    return this.hits[this.selected] ?? null;
  }

  move(step) {
    if (!this.hits.length) return;
    this.select(Math.max(0, Math.min(this.hits.length - 1, this.selected + step)));
  }

  select(index) {
    this.hasMoved = true;
    this.#mark(index);
    this.list.children[index]?.scrollIntoView({ block: "nearest" });
    if (this.current) this.onSelect(this.current);
  }

  /** Mark the open document. It becomes the selected one, unless the user has selected another. */
  opened(doc) {
    for (const [index, hit] of this.hits.entries()) {
      const isOpen = Boolean(doc) && hit.collection === doc.collection && hit.path === doc.path;
      this.list.children[index].classList.toggle("open", isOpen);
      if (isOpen && !this.hasMoved) this.#mark(index);
    }
  }

  #mark(index) {
    this.list.children[this.selected]?.setAttribute("aria-selected", "false");
    this.list.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    this.selected = index;
    const item = index >= 0 ? this.list.children[index] : null;
    item?.setAttribute("aria-selected", "true");
    if (item) this.input.setAttribute("aria-activedescendant", item.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #clicked(event, onOpen) {
    const item = event.target.closest("[role=option]");
    const index = [...this.list.children].indexOf(item);
    if (index < 0 || (event.type === "click" && String(getSelection()))) return;
    this.hasMoved = true;
    this.#mark(index);
    onOpen(this.hits[index], event.ctrlKey || event.metaKey || event.button === 1);
  }

  /** The first visible hit and its position. Without scrolling, that is the top of the list. */
  #anchor(scroller) {
    const top = scroller.getBoundingClientRect().top;
    if (!scroller.scrollTop) return { docid: null, offset: 0, scrollTop: 0 };
    const index = this.hits.findIndex((_, at) => this.list.children[at].getBoundingClientRect().bottom > top);
    const item = this.list.children[index];
    return { docid: this.hits[index]?.docid, offset: item ? item.getBoundingClientRect().top - top : 0, scrollTop: scroller.scrollTop };
  }

  #restore(scroller, { docid, offset, scrollTop }) {
    const item = this.list.children[this.hits.findIndex((hit) => hit.docid === docid)];
    scroller.scrollTop = scrollTop;
    if (item) scroller.scrollTop += item.getBoundingClientRect().top - scroller.getBoundingClientRect().top - offset;
  }
}

function option(hit, index, hasScore) {
  const { texts, titleMarks } = textsOf(hit);
  return h(
    hit.loose ? "li.hit.loose" : "li.hit",
    { role: "option", id: `hit-${index}`, "aria-selected": "false" },
    h("div.hit-head", {}, h("span.hit-title", { dir: "auto" }, marked(hit.title || hit.path, titleMarks)), hasScore ? h("span.score", { title: "Score" }, hit.score.toFixed(2)) : null),
    h("div.hit-place", {}, placeOf(hit), about(hit)),
    hit.loose ? h("div.hit-also", {}, "only loosely similar") : null,
    texts.map((each) => h(isCode(hit) ? "div.snippet.code" : "div.snippet", { dir: "auto" }, marked(...clipped(...each)))),
    hit.also.length ? h("div.hit-also", {}, also(hit)) : null,
    hit.context ? h("div.hit-also", {}, hit.context) : null,
    hit.explain ? h("div.hit-explain", {}, components(hit.explain)) : null,
  );
}

function placeOf(hit) {
  const folders = hit.path.split("/");
  const file = folders.pop();
  const part = hit.definition?.label || hit.heading.split(" > ").pop();
  const within = part ? h("span", {}, " in ", h("b", {}, part)) : null;
  return h(
    "span.place",
    {},
    h("span.folder", {}, `${[hit.collection, ...folders].join("/")}/`),
    h("span.file", {}, `${file}:${lines(hit)}`),
    within,
  );
}

/** Show when a file was changed; for a conversation, when its last message was written. */
function about(hit) {
  const time = hit.mime === "application/x-conversation" && hit.dated_by ? hit.date : hit.modified;
  return h("span.about", {}, h("time", { datetime: time, title: time }, recent(time)));
}

/** Days for recent changes, otherwise the date. */
function recent(timestamp) {
  return Date.now() - Date.parse(timestamp) < 30 * 86400e3 ? ago(timestamp) : day(timestamp);
}

const isCode = (hit) => /^(text\/x-|application\/(json|yaml|toml|javascript))|script|\+json/.test(hit.mime) || Boolean(hit.definition);

/** The passages of a hit as [text, marks], and the marks of its title, if the first passage begins with the title. */
function textsOf(hit) {
  const shown = hit.passages?.length ? hit.passages : [hit];
  if (isCode(hit)) return { texts: shown.map(({ snippet, marks }) => [snippet, inUtf16(snippet, marks)]), titleMarks: [] };
  const texts = shown.map(({ snippet, marks }) => compact(snippet, marks));
  const [first, marks] = texts[0];
  const skip = hit.title.length + 1;
  if (!first.startsWith(`${hit.title}\n`) || first.length <= skip) return { texts, titleMarks: [] };
  texts[0] = [first.slice(skip), marks.map(([from, to]) => [from - skip, to - skip]).filter(([from]) => from >= 0)];
  return { texts, titleMarks: marks.filter(([, to]) => to < skip) };
}

/** Begin a long passage shortly before its first match, so that the match is among the lines that are shown. */
function clipped(shown, marks) {
  const first = marks.length ? Math.min(...marks.map(([start]) => start)) : 0;
  if (rows(shown.slice(0, first)) < VISIBLE_ROWS) return [shown, marks];
  const line = shown.lastIndexOf("\n", first);
  const start = first - line < 90 ? line + 1 : shown.indexOf(" ", first - 80) + 1 || first;
  return [`… ${shown.slice(start)}`, marks.map(([from, to]) => [from - start + 2, to - start + 2]).filter(([from]) => from >= 2)];
}

const rows = (text) => text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / ROW)), 0);

function also(hit) {
  const listed = hit.also.map((copy) => `${copy.collection}/${copy.path}`).join(", ");
  return `also: ${listed}${hit.also_left_out ? ` and ${hit.also_left_out} more` : ""}`;
}

function components(explain) {
  return Object.entries(explain).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`).join(" · ");
}

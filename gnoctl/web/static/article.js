/**
 * The text of a document, in parts that are loaded when the user scrolls to them. Until then, each has its estimated height. Knows the
 * rendered HTML, not the tools above it.
 */

import { getDocument, isAbort } from "./api.js";
import { fill, h, unfold } from "./dom.js";
import { matches, paint } from "./highlight.js";
import { Matches } from "./matches.js";
import { wordPattern } from "./text.js";

const NEAR_PX = 2500;
const MOVED_PX = 2;
// The text of these kinds has the lines of the file.
const WITH_LINES = "p, li, pre, h1, h2";

export class Article {
  /** `answer`: one part, and the whole head of the document; `body`: the scrolling element; `onMatches()`: the matches changed; `say(text)`: shows errors. */
  constructor({ ref, answer, body, signal, onMatches, say }) {
    Object.assign(this, { ref, body, signal, onMatches, say });
    this.docid = answer.document.docid;
    this.parts = answer.parts.map(([from, rows]) => ({ from, rows, element: h("div.chunk"), found: null }));
    for (const { element, rows } of this.parts) element.style.height = `calc(${rows} * var(--row))`;
    this.element = h(`article.doc.kind-${answer.kind}`, { lang: answer.document.language, dir: "auto" }, this.parts.map((part) => part.element));
    fill(body, this.element);
    this.#fill(this.#partOf(answer.from), answer);
    if (!answer.html.trim()) this.element.append(h("p.notice", {}, "This document has no text."));
    body.addEventListener("scroll", () => this.#scrolled(), { passive: true, signal });
    const observer = new ResizeObserver(() => this.#reveal());
    for (const element of [body, this.element]) observer.observe(element);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  /** The line to which the user went, or the first visible one. */
  get line() {
    if (this.wanted?.line) return this.wanted.line;
    const top = this.body.getBoundingClientRect().top + 8;
    const isVisible = (element) => element.getBoundingClientRect().bottom > top;
    const part = this.parts.find((each) => isVisible(each.element));
    const found = part && [...part.element.querySelectorAll("[data-line]")].find(isVisible);
    return found ? Number(found.dataset.line) : (part?.from ?? null);
  }

  /** Show a line, and keep it in place until the user scrolls. */
  async goto(line, { isTarget = true } = {}) {
    this.element.querySelector(".target")?.classList.remove("target");
    paint([], "place");
    const part = this.#partOf(line ?? 1);
    if (!(await this.#load(part))) return;
    const { element, range } = placeIn(part.element, line ?? 1);
    if (isTarget && line) element.classList.add("target");
    if (isTarget && range) paint([range], "place");
    this.#show(range ?? element, { line, share: isTarget ? 0.25 : 0 });
  }

  /** Show the element with the name from a link in the document; false if it is not loaded. */
  gotoName(name) {
    const element = this.element.querySelector(`#${CSS.escape(`doc-${name}`)}`);
    const line = Number(element?.closest("[data-line]")?.dataset.line);
    if (line) this.goto(line);
    return Boolean(line);
  }

  /** Highlight the matches that `document.matches` found. */
  setMatches({ words, lines, exact }) {
    this.pattern = wordPattern(words);
    this.matches = new Matches(this.parts, {
      lines,
      partOf: (line) => this.parts.indexOf(this.#partOf(line)),
      isExact: exact,
      load: (part) => this.#load(part),
    });
    for (const part of this.parts) this.#find(part);
    this.#paint();
  }

  /** Go to the next match, or to the previous one. */
  async step(by) {
    const range = await this.matches.step(by, this.#nearestMatch(by));
    if (!range) return;
    paint([range], "current");
    this.#show(range, { share: 0.3 });
  }

  /** The first match from the line to which the user went, or else from the first visible line; or the last one above. */
  #nearestMatch(by) {
    const { top } = (this.wanted?.place ?? this.body).getBoundingClientRect();
    const at = Math.max(0, this.parts.findIndex((part) => part.element.getBoundingClientRect().bottom > top));
    const below = (this.parts[at].found ?? []).findIndex((range) => range.getBoundingClientRect().top >= top);
    const first = below < 0 ? Infinity : below;
    if (by < 0) return { at, index: first === Infinity ? first : first - 1 };
    return first === Infinity ? { at: (at + 1) % this.parts.length, index: 0 } : { at, index: first };
  }

  // Places

  #show(place, { line = null, share }) {
    unfold(place.startContainer?.parentElement ?? place);
    this.wanted = { place, line, share };
    this.#reveal();
    this.#fetchNear();
  }

  /** Scroll to the target, a share of the height below the top. If it is visible on the first screen, do not scroll. */
  #reveal() {
    if (!this.wanted) return;
    const { place, share } = this.wanted;
    const [box, rectangle] = [this.body.getBoundingClientRect(), place.getBoundingClientRect()];
    const below = rectangle.top - box.top + this.body.scrollTop;
    const isOnFirst = share > 0 && below + Math.min(rectangle.height, 120) < box.height * 0.8;
    this.body.scrollTop = isOnFirst ? 0 : below - box.height * share;
    this.wanted.scrollTop = this.body.scrollTop;
  }

  #scrolled() {
    if (this.wanted && Math.abs(this.body.scrollTop - this.wanted.scrollTop) > MOVED_PX) this.wanted = null;
    this.#fetchNear();
  }

  // Parts

  #partOf(line) {
    return this.parts.findLast((part) => part.from <= line) ?? this.parts[0];
  }

  /** Load the parts to which the user scrolls, the nearest first. */
  async #fetchNear() {
    if (this.isFetching || !this.element.isConnected) return;
    this.isFetching = true;
    for (let part = this.#nearest(); part && (await this.#load(part)); ) part = this.#nearest();
    this.isFetching = false;
  }

  #nearest() {
    const edge = this.body.getBoundingClientRect();
    const far = ({ top, bottom }) => Math.max(edge.top - bottom, top - edge.bottom, 0);
    const near = this.parts.filter((part) => !part.isLoaded).map((part) => [far(part.element.getBoundingClientRect()), part]);
    const [distance, nearest] = near.reduce((least, each) => (each[0] < least[0] ? each : least), [Infinity, null]);
    return distance < NEAR_PX ? nearest : null;
  }

  /** Return whether the part is loaded. */
  #load(part) {
    part.loading ??= this.#fetch(part).catch((error) => {
      part.loading = null;
      if (!isAbort(error)) this.say(error.message);
      return false;
    });
    return part.loading;
  }

  async #fetch(part) {
    if (part.isLoaded) return true;
    const answer = await getDocument(this.ref, { from: part.from, isPart: true, signal: this.signal });
    if (answer.document.docid !== this.docid) throw new Error("The file has changed. Show the new version to read on.");
    this.#fill(part, answer);
    return true;
  }

  /** The only place that inserts HTML. The server has sanitised it. */
  #fill(part, { html }) {
    part.element.innerHTML = html;
    part.element.style.height = "";
    part.isLoaded = true;
    part.isCut = Boolean(part.element.querySelector(".cut"));
    if (!this.isMeasured) this.#measure(part);
    if (!this.pattern) return;
    this.#find(part);
    this.#paint();
  }

  /** Estimate the height of the other parts from the first part that is shown. */
  #measure({ element, rows }) {
    this.isMeasured = true;
    if (element.offsetHeight) this.element.style.setProperty("--row", `${element.offsetHeight / rows}px`);
  }

  #find(part) {
    if (part.isLoaded) part.found = this.pattern ? matches(this.pattern, part.element) : [];
  }

  #paint() {
    paint(this.parts.flatMap((part) => part.found ?? []));
    this.onMatches();
  }
}

/** The innermost element that begins at the line or before it. If its text has several lines, also the range of this line. */
function placeIn(part, line) {
  const all = [...part.querySelectorAll("[data-line]")];
  const element = all.findLast((each) => Number(each.dataset.line) <= line) ?? all[0] ?? part;
  const offset = line - Number(element.dataset.line);
  return { element, range: offset > 0 && element.matches(WITH_LINES) ? lineRange(element, offset) : null };
}

/** The range of a line in an element, counted from 0; null if the element has fewer lines. */
function lineRange(element, offset) {
  const range = document.createRange();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let line = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const { index } of node.data.matchAll(/\n/g)) {
      if (line === offset) return range.setEnd(node, index), range;
      line += 1;
      if (line === offset) range.setStart(node, index + 1);
    }
    if (line === offset) range.setEnd(node, node.length);
  }
  return line === offset && String(range).trim() ? range : null;
}

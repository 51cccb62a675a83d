/** The text of a document: loaded as it is scrolled to, with its lines and matches. Knows the rendered HTML, not the tools above it. */

import { getDocument, isAbort } from "./api.js";
import { fill, h, unfold } from "./dom.js";
import { matches, paint } from "./highlight.js";
import { slug } from "./text.js";

export const CHUNK = 500;
const NEAR_PX = 2500;

export class Article {
  /** `answer`: the first part; `body`: what scrolls; `pattern`: of the words to highlight; `onMatches(ranges)`; `say(text)`: errors. */
  constructor({ ref, answer, body, pattern, signal, onMatches, say }) {
    Object.assign(this, { ref, body, pattern, signal, onMatches, say });
    this.chunks = [];
    this.element = h(`article.doc.kind-${answer.kind}`, { lang: answer.document.language, dir: "auto" });
    this.before = h("div.more");
    this.after = h("div.more");
    fill(body, this.before, this.element, this.after);
    this.#add(answer);
    if (!answer.html.trim()) this.element.append(h("p.notice", {}, "This document has no text."));
    body.addEventListener("scroll", () => this.#fetchNear(), { passive: true, signal });
    this.#fetchNear();
  }

  /** The first line that is visible. */
  get line() {
    const top = this.body.getBoundingClientRect().top + 8;
    const isVisible = (element) => element.getBoundingClientRect().bottom > top;
    const chunk = this.chunks.find((each) => isVisible(each.element));
    const found = chunk && [...chunk.element.querySelectorAll("[data-line]")].find(isVisible);
    return found ? Number(found.dataset.line) : null;
  }

  /** The first and the last line that are loaded, and whether those are all. */
  get from() {
    return this.chunks[0].from;
  }

  get to() {
    return this.chunks.at(-1).to;
  }

  get isWhole() {
    return this.from <= 1 && !this.chunks.at(-1).next;
  }

  async goto(line, { isTarget = true } = {}) {
    this.element.querySelector(".target")?.classList.remove("target");
    if (!line || (line <= 1 && this.chunks[0]?.from === 1)) return void (this.body.scrollTop = 0);
    if (!this.chunks.some((chunk) => chunk.from <= line && line <= chunk.to)) await this.#jump(line);
    const found = this.#elementAt(line);
    if (!found) return;
    unfold(found.element);
    if (isTarget) found.element.classList.add("target");
    this.reveal((found.range ?? found.element).getBoundingClientRect(), isTarget ? 0.25 : 0);
  }

  /** The line of a heading that a link in a document names; null if it is not loaded. */
  lineOf(fragment, outline) {
    const name = fragment.replace(/^doc-/, "");
    const heading = this.element.querySelector(`#${CSS.escape(`doc-${name}`)}`);
    if (heading) return Number(heading.closest("[data-line]")?.dataset.line) || null;
    return outline.find((each) => slug(each.title) === slug(name))?.line ?? null;
  }

  /** Scroll so that something is a share of the height below the top; what is visible on the first screen stays there. */
  reveal(rectangle, share = 0.3) {
    const box = this.body.getBoundingClientRect();
    const below = rectangle.top - box.top + this.body.scrollTop;
    const isOnFirst = share > 0 && this.chunks[0]?.from === 1 && below + Math.min(rectangle.height, 120) < box.height * 0.8;
    this.body.scrollTop = isOnFirst ? 0 : below - box.height * share;
  }

  /** The one place where HTML is inserted: the server has sanitised it. What is visible stays where it is. */
  #add(answer, isBefore = false) {
    const element = h("div.chunk");
    element.innerHTML = answer.html;
    const chunk = { from: answer.from, to: answer.to, next: answer.next, element, ranges: [] };
    if (this.pattern) chunk.ranges = matches(this.pattern, element);
    if (isBefore) this.#prepend(element);
    else this.element.append(element);
    this.chunks[isBefore ? "unshift" : "push"](chunk);
    const ranges = this.chunks.flatMap((each) => each.ranges);
    paint(ranges);
    this.onMatches(ranges);
  }

  #prepend(element) {
    const first = this.chunks[0].element;
    const was = first.getBoundingClientRect().top;
    this.element.prepend(element);
    this.body.scrollTop += first.getBoundingClientRect().top - was;
  }

  /** Load the part of the text that contains a line, in place of what is loaded. */
  async #jump(line) {
    const answer = await getDocument(this.ref, { from: line, lines: CHUNK, signal: this.signal });
    this.element.replaceChildren();
    this.chunks = [];
    this.#add(answer);
  }

  /** The innermost element that begins at the line or before it; in a block of code, the range of the line itself. */
  #elementAt(line) {
    const chunk = this.chunks.findLast((each) => each.from <= line) ?? this.chunks[0];
    const all = [...(chunk?.element.querySelectorAll("[data-line]") ?? [])];
    const element = all.findLast((each) => Number(each.dataset.line) <= line) ?? all[0];
    return element ? { element, range: lineRange(element, line - Number(element.dataset.line)) } : null;
  }

  /** Load what the user scrolls to, below and above. */
  async #fetchNear() {
    if (this.isFetching || this.signal.aborted || !this.element.isConnected) return;
    const { from, lines, isBefore, beside } = this.#wanted() ?? {};
    if (!from) return;
    this.isFetching = true;
    try {
      const answer = await getDocument(this.ref, { from, lines, signal: this.signal });
      if (this.chunks.includes(beside)) this.#add(answer, isBefore);
    } catch (error) {
      if (!isAbort(error)) this.say(error.message);
      return;
    } finally {
      this.isFetching = false;
    }
    this.#fetchNear();
  }

  #wanted() {
    const [first, last] = [this.chunks[0], this.chunks.at(-1)];
    const edge = this.body.getBoundingClientRect();
    if (last.next && this.after.getBoundingClientRect().top < edge.bottom + NEAR_PX) return { from: last.next, lines: CHUNK, isBefore: false, beside: last };
    if (first.from <= 1 || this.before.getBoundingClientRect().bottom < edge.top - NEAR_PX) return null;
    const from = Math.max(1, first.from - CHUNK);
    return { from, lines: first.from - from, isBefore: true, beside: first };
  }
}

/** The range of a line in preformatted text, counted from its first line. */
function lineRange(element, offset) {
  const pre = offset > 0 ? (element.closest("pre") ?? element.querySelector("pre")) : null;
  if (!pre) return null;
  const walker = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  let left = offset;
  while (walker.nextNode()) {
    const text = walker.currentNode.data;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      left -= 1;
      if (left) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, at + 1);
      range.setEnd(walker.currentNode, Math.min(text.length, at + 2));
      return range;
    }
  }
  return null;
}

/**
 * Pages of a document, or a picture, as images; over them their selectable text, their links, and boxes around the matched words. Loads the
 * pages near the screen, then the text of the other pages, for the browser's own search.
 */

import { imageUrl, isAbort, rpc } from "./api.js";
import { h } from "./dom.js";
import { Matches } from "./matches.js";

const WIDTHS = [700, 1000, 1400, 2000, 2400];
const ZOOMS = [0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3];
const A4 = 210 / 297;
const AT_ONCE = 3;
// More text would make the page slow.
const MOST_SEARCHABLE = 300;

export class PageImages {
  /**
   * `ref`: of the document; `count`: its pages, null for a picture; `query`: its words are boxed, "" for none; `onMatches()`: the matches
   * changed; `onPage()`: another page is in the middle; `onOutline(entries)`: the outline is known.
   */
  constructor({ ref, title, count, query, root, signal, onMatches, onPage, onOutline }) {
    Object.assign(this, { ref, title, count, query, root, signal, onMatches, onPage, onOutline, zoom: 1 });
    this.element = h("div.pages");
    this.#proportion(A4);
    this.observer = new IntersectionObserver((entries) => entries.forEach((each) => each.isIntersecting && this.#load(this.pages[each.target.dataset.page - 1])), {
      root,
      rootMargin: "900px 0px",
    });
    // Units of a container would cost seconds with thousands of pages.
    const resized = new ResizeObserver(() => this.element.style.setProperty("--room", `${root.clientWidth}px`));
    resized.observe(root);
    this.element.style.setProperty("--room", `${root.clientWidth}px`);
    this.pages = [];
    for (let number = 1; number <= (count ?? 1); number += 1) this.#add(number);
    root.addEventListener("scroll", () => this.onPage(), { passive: true, signal });
    signal.addEventListener("abort", () => [this.observer, resized].forEach((each) => each.disconnect()));
  }

  /** Scroll to a page, and to its first box as soon as it is known. */
  goto(number) {
    this.wanted = this.pages[Math.max(0, Math.min(this.pages.length, number) - 1)];
    this.box = null;
    this.#load(this.wanted);
    this.#reveal(this.wanted);
  }

  /** The number of the page in the middle. */
  get current() {
    const middle = this.root.getBoundingClientRect().top + this.root.clientHeight / 2;
    return 1 + Math.max(0, this.pages.findLastIndex(({ figure }) => figure.getBoundingClientRect().top < middle));
  }

  setMatches({ lines, exact }, pageOf) {
    const partOf = (line) => Math.min(pageOf(line), this.pages.length) - 1;
    this.matches = new Matches(this.pages, { lines, partOf, isExact: exact, load: (page) => this.#box(page) });
    this.onMatches();
  }

  /** Go to the next match, or to the previous one. */
  async step(by) {
    const box = await this.matches.step(by, { at: this.current - 1, index: by > 0 ? 0 : Infinity });
    if (!box) return;
    this.goto(Number(box.closest(".page").dataset.page));
    this.element.querySelector(".box.current")?.classList.remove("current");
    box.classList.add("current");
    this.box = box;
    this.#reveal(this.wanted);
  }

  /** Make the pages larger or smaller. The middle stays in place. */
  zoomBy(steps) {
    const at = ZOOMS.indexOf(this.zoom) + steps;
    this.zoom = ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, at))];
    this.release();
    const { figure } = this.pages[this.current - 1];
    const root = this.root.getBoundingClientRect();
    const before = figure.getBoundingClientRect();
    this.element.style.setProperty("--zoom", String(this.zoom));
    const after = figure.getBoundingClientRect();
    const moved = (middle, start, size, newStart, newSize) => newStart + ((middle - start) * newSize) / size - middle;
    this.root.scrollTop += moved(root.top + root.height / 2, before.top, before.height, after.top, after.height);
    this.root.scrollLeft += moved(root.left + root.width / 2, before.left, before.width, after.left, after.width);
    for (const each of this.pages) {
      this.observer.unobserve(each.figure);
      this.observer.observe(each.figure); // a larger image may be needed
    }
  }

  /** Handle a file with more pages than the index says: the last pages have no text. */
  #extend(count) {
    this.count = count;
    while (this.pages.length < count) this.#add(this.pages.length + 1);
    this.onPage();
  }

  #add(number) {
    const page = { number, found: null };
    page.figure = this.#figure(page);
    this.pages.push(page);
    this.element.append(page.figure);
    this.observer.observe(page.figure);
  }

  #figure({ number }) {
    const caption = this.count ? h("figcaption", {}, `Page ${number}`) : null;
    const image = h("img", { alt: this.count ? `${this.title}, page ${number}` : this.title, decoding: "async", draggable: "false" });
    return h("figure.page", { "data-page": number }, h("div.sheet", {}, image, h("div.boxes", { "aria-hidden": "true" }), h("div.layer", { dir: "auto" })), caption);
  }

  #load(page) {
    const { figure, number } = page;
    this.observer.unobserve(figure);
    const wanted = (figure.clientWidth || 700) * Math.min(2, devicePixelRatio);
    const width = WIDTHS.find((each) => each >= wanted) ?? WIDTHS.at(-1);
    if (page.width >= width) return;
    const image = figure.querySelector("img");
    if (!page.width) {
      image.addEventListener("load", () => this.#loaded(page, image));
      image.addEventListener("error", () => this.#failed(page));
    }
    page.width = width;
    image.src = imageUrl(this.ref, this.count ? number : null, width);
    if (this.query) this.#box(page);
    this.#layer(number);
  }

  #loaded(page, image) {
    const ratio = image.naturalWidth / image.naturalHeight;
    if (!this.isSettled) this.#proportion(ratio);
    this.isSettled = true;
    this.#shape(page, ratio);
    page.figure.classList.add("ready");
    this.#reveal(page);
    this.#searchable();
  }

  #failed({ figure, number }) {
    figure.classList.add("ready");
    figure.querySelector("img").replaceWith(h("p.notice", {}, `${this.count ? `Page ${number}` : "The picture"} cannot be shown. Its text may be: choose Text above.`));
  }

  /** Box the matched words of a page, once. */
  #box(page) {
    page.boxing ??= this.#boxed(page);
    return page.boxing;
  }

  async #boxed(page) {
    const { figure, number } = page;
    try {
      const result = await rpc("document.boxes", { ref: this.ref, page: number, query: this.query }, { signal: this.signal });
      page.found = result.boxes.map((box) => over("div.box", box, result, { title: box.text }));
      figure.querySelector(".boxes").replaceChildren(...page.found);
      this.#shape(page, result.width / result.height);
      this.#reveal(page);
      this.onMatches();
    } catch (error) {
      if (!isAbort(error)) figure.title = error.message;
    }
  }

  // The text over the pages

  /** Load the text of pages, once; return whether that was possible. */
  async #layer(first, count = 1) {
    const wanted = this.pages.slice(first - 1, first - 1 + count).filter((page) => !page.hasLayer);
    if (!wanted.length) return true;
    for (const page of wanted) page.hasLayer = true;
    try {
      const { layers, outline, pages } = await rpc("document.layers", { ref: this.ref, page: wanted[0].number, count: wanted.at(-1).number - wanted[0].number + 1 }, { signal: this.signal });
      if (this.count && pages > this.count) this.#extend(pages);
      for (const layer of layers) if (this.pages[layer.page - 1]) drawLayer(this.pages[layer.page - 1].figure.querySelector(".layer"), layer);
      if (outline.length) this.onOutline(outline);
      return true;
    } catch {
      return false; // the images stay
    }
  }

  /** Load the text of all pages, so that the browser's own search finds it. */
  async #searchable() {
    if (this.isSearchable) return;
    this.isSearchable = true;
    for (let first = 1; first <= Math.min(this.pages.length, MOST_SEARCHABLE); first += AT_ONCE) if (!(await this.#layer(first, AT_ONCE))) return;
  }

  // Places

  /** Until the user scrolls, keep the requested page in view while pages above it get their size. */
  #reveal(page) {
    if (page !== this.wanted) return;
    const box = this.box ?? page.figure.querySelector(".box");
    if (box && (this.box || page.figure.clientHeight > this.root.clientHeight)) box.scrollIntoView({ block: "center" });
    else page.figure.scrollIntoView({ block: "start" });
  }

  #shape({ figure }, ratio) {
    figure.style.setProperty("--ratio", String(ratio));
  }

  #proportion(ratio) {
    this.element.style.setProperty("--ratio", String(ratio));
  }

  /** Once the user scrolls, stop automatic scrolling. */
  release() {
    this.wanted = null;
  }
}

const share = (value) => `${100 * value}%`;

/** An element over a part of a page. */
function over(spec, { x0, y0, x1, y1 }, { width, height }, properties, ...children) {
  const element = h(spec, properties, ...children);
  Object.assign(element.style, { left: share(x0 / width), top: share(y0 / height), width: share((x1 - x0) / width), height: share((y1 - y0) / height) });
  return element;
}

const pen = document.createElement("canvas").getContext("2d");
const PEN_PX = 100;
pen.font = `${PEN_PX}px sans-serif`;

/** Invisible text, as wide as on the page, and links. */
function drawLayer(root, layer) {
  const runs = layer.runs.map((run) => {
    const element = h("span", {}, run.text);
    const high = Math.min(run.y1 - run.y0, layer.height / 4);
    const natural = (pen.measureText(run.text.replace(/\n/g, "")).width * high) / PEN_PX || 1;
    Object.assign(element.style, { left: share(run.x0 / layer.width), top: share(run.y0 / layer.height), fontSize: `calc(var(--width) * ${high / layer.width})`, transform: `scaleX(${(run.x1 - run.x0) / natural})` });
    return element;
  });
  const links = layer.links.map(({ page, address, ...box }) => {
    const target = page ? { href: `#page=${page}`, "aria-label": `Page ${page}` } : { href: address, title: address, "aria-label": address, target: "_blank", rel: "noopener noreferrer" };
    return over("a", box, layer, target);
  });
  root.replaceChildren(...runs, ...links);
}

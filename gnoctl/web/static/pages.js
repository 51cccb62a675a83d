/** Pages of a document, or a picture, as images, with the matched words in boxes over them. Loads what comes near. */

import { imageUrl, isAbort, rpc } from "./api.js";
import { h } from "./dom.js";

const WIDTHS = [700, 1000, 1400, 2000];
const A4 = 210 / 297;

export class PageImages {
  /** `ref`: of the document; `count`: its pages, null for a picture; `query`: whose words are boxed, "" for none. */
  constructor({ ref, title, count, query, root, signal }) {
    Object.assign(this, { ref, title, count, query, root, signal });
    this.isSettled = false;
    this.figures = Array.from({ length: count ?? 1 }, (_, index) => this.#figure(index + 1));
    this.element = h("div.pages", {}, this.figures);
    this.#proportion(A4);
    this.observer = new IntersectionObserver((entries) => entries.forEach((each) => each.isIntersecting && this.#load(each.target)), {
      root,
      rootMargin: "900px 0px",
    });
    for (const figure of this.figures) this.observer.observe(figure);
    signal.addEventListener("abort", () => this.observer.disconnect());
  }

  /** Scroll to a page, and to its first box as soon as it is known. */
  goto(page) {
    const figure = this.figures[Math.max(0, Math.min(this.figures.length, page) - 1)];
    this.wanted = figure;
    this.#load(figure);
    this.#reveal(figure);
  }

  get current() {
    const middle = this.root.getBoundingClientRect().top + this.root.clientHeight / 2;
    return 1 + Math.max(0, this.figures.findLastIndex((figure) => figure.getBoundingClientRect().top < middle));
  }

  #figure(page) {
    const caption = this.count ? h("figcaption", {}, `Page ${page} of ${this.count}`) : null;
    const image = h("img", { alt: this.count ? `${this.title}, page ${page}` : this.title, decoding: "async", draggable: "false" });
    return h("figure.page", { "data-page": page }, h("div.sheet", {}, image, h("div.boxes", { "aria-hidden": "true" })), caption);
  }

  #load(figure) {
    this.observer.unobserve(figure);
    if (figure.dataset.loaded) return;
    figure.dataset.loaded = "1";
    const page = Number(figure.dataset.page);
    const image = figure.querySelector("img");
    const wanted = (figure.clientWidth || 700) * Math.min(2, devicePixelRatio);
    image.addEventListener("load", () => this.#loaded(figure, image));
    image.addEventListener("error", () => this.#failed(figure, page));
    image.src = imageUrl(this.ref, this.count ? page : null, WIDTHS.find((width) => width >= wanted) ?? WIDTHS.at(-1));
    if (this.query) this.#box(figure, page);
  }

  #loaded(figure, image) {
    const ratio = image.naturalWidth / image.naturalHeight;
    if (!this.isSettled) this.#proportion(ratio);
    this.isSettled = true;
    figure.querySelector(".sheet").style.aspectRatio = String(ratio);
    figure.classList.add("ready");
    this.#reveal(figure);
  }

  #failed(figure, page) {
    figure.classList.add("ready");
    figure.querySelector("img").replaceWith(h("p.notice", {}, `${this.count ? `Page ${page}` : "The picture"} cannot be shown. Its text may be: choose Text above.`));
  }

  async #box(figure, page) {
    const ref = this.count ? `${this.ref}#page=${page}` : this.ref;
    try {
      const result = await rpc("document.boxes", { ref, query: this.query }, { signal: this.signal });
      const boxes = result.boxes.map((box) => drawn(box, result));
      figure.querySelector(".boxes").replaceChildren(...boxes);
      figure.querySelector(".sheet").style.aspectRatio = String(result.width / result.height);
      this.#reveal(figure);
    } catch (error) {
      if (!isAbort(error)) figure.title = error.message;
    }
  }

  /** Until the user scrolls, the wanted page stays in view while pages above it get their size. */
  #reveal(figure) {
    if (figure !== this.wanted) return;
    const box = figure.querySelector(".box");
    if (box && figure.clientHeight > this.root.clientHeight) box.scrollIntoView({ block: "center" });
    else figure.scrollIntoView({ block: "start" });
  }

  #proportion(ratio) {
    this.element.style.setProperty("--ratio", String(ratio));
  }

  /** The user scrolls: nothing else does from now on. */
  release() {
    this.wanted = null;
  }
}

function drawn({ x0, y0, x1, y1, text }, { width, height }) {
  const box = h("div.box", { title: text });
  const percent = (value, of) => `${(100 * value) / of}%`;
  Object.assign(box.style, {
    left: percent(x0, width),
    top: percent(y0, height),
    width: percent(x1 - x0, width),
    height: percent(y1 - y0, height),
  });
  return box;
}

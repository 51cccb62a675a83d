/** The neighbourhood of a document, as a graph that the user can walk through with keys, or as a list. Loaded when it is first shown. */

import { isAbort, rpc } from "./api.js";
import { button, fill, h, visible } from "./dom.js";
import { Picture, clipped, counts, described } from "./picture.js";
import { DEEPEST, addressOf, placeOf } from "./router.js";
import { count, number } from "./text.js";

const LIMIT = 200;
const NAMED = 6;
const QUIET_MS = 300;

export class Graph {
  /** `onOpen(uri)`, `onDepth(depth)`: the user's choices. */
  constructor(root, { onOpen, onDepth }) {
    Object.assign(this, { root, onOpen, onDepth });
    this.canvas = h("div.graph-canvas");
    this.caption = h("p.graph-caption");
    this.bar = h("div.graph-bar");
    fill(root, this.bar, this.canvas, this.caption);
    this.isList = false;
    new ResizeObserver(() => this.picture?.fit()).observe(this.canvas);
  }

  async show(ref, depth, { hasFocus = false } = {}) {
    Object.assign(this, { ref, depth });
    this.abort?.abort();
    const { signal } = (this.abort = new AbortController());
    try {
      const data = await rpc("links.graph", { ref, depth, limit: LIMIT }, { signal });
      if (JSON.stringify(data) === JSON.stringify(this.data)) return this.#drawBar();
      this.data = data;
      this.#draw(hasFocus);
    } catch (error) {
      if (isAbort(error)) return;
      this.data = null;
      fill(this.canvas, h("p.notice", { role: "alert" }, error.message));
    }
  }

  hide() {
    this.abort?.abort();
    this.picture?.stop();
    this.data = null;
    fill(this.canvas);
  }

  /** Load the same again after files changed, once per burst. */
  changed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.data && this.show(this.ref, this.depth), QUIET_MS);
  }

  #draw(hasFocus = false) {
    const focused = hasFocus || this.canvas.contains(document.activeElement) ? (this.picture?.current?.uri ?? this.data.nodes[0].uri) : null;
    this.picture?.stop();
    this.picture = null;
    this.#drawBar();
    this.caption.textContent = "";
    if (this.isList) return void fill(this.canvas, list(this.data));
    this.picture = new Picture(this.canvas, this.data, { onOpen: this.onOpen, onCurrent: (node) => (this.caption.textContent = visible(described(node))) });
    if (focused) this.picture.focus(focused);
  }

  #drawBar() {
    const { nodes, total, is_cut: isCut } = this.data;
    const depths = Array.from({ length: DEEPEST }, (_, index) => index + 1);
    const focused = this.bar.contains(document.activeElement) ? document.activeElement.textContent : null;
    const found = isCut ? `${number(nodes.length)}${total > nodes.length ? ` of ${number(total)}` : ""} documents: the nearest` : count(nodes.length, "document");
    fill(
      this.bar,
      h("div.modes", { role: "group", "aria-label": "Links away" }, depths.map((depth) => button(String(depth), () => this.onDepth(depth), { class: "mode", "aria-pressed": String(depth === this.depth), "aria-label": count(depth, "link") + " away" }))),
      h("p", { role: "status" }, found),
      this.isList ? null : h("div.modes", { role: "group", "aria-label": "Zoom" }, button("−", () => this.picture.zoomBy(-1), { class: "mode", "aria-label": "Smaller", title: "Smaller (−)" }), button("+", () => this.picture.zoomBy(1), { class: "mode", "aria-label": "Larger", title: "Larger (+); Shift and arrow keys move the picture" })),
      button("List", () => this.#flip(), { "aria-pressed": String(this.isList), title: "The same as a list" }),
    );
    [...this.bar.querySelectorAll("button")].find((each) => each.textContent === focused)?.focus();
  }

  #flip() {
    this.isList = !this.isList;
    this.#draw();
  }
}

/** The same data as text: the nearest documents first, each with its links to others in the list. */
function list({ nodes, edges }) {
  const titles = new Map(nodes.map((node) => [node.uri, clipped(node.title, 60)]));
  const grouped = Map.groupBy(nodes.slice(1), (node) => node.distance);
  const named = (uris) => uris.slice(0, NAMED).map((uri) => titles.get(uri)).join(", ") + (uris.length > NAMED ? ` and ${number(uris.length - NAMED)} more` : "");
  const item = (node) => {
    const to = edges.filter((edge) => edge.source === node.uri).map((edge) => edge.target);
    const from = edges.filter((edge) => edge.target === node.uri).map((edge) => edge.source);
    return h(
      "li",
      {},
      h("a", { href: addressOf(node.uri), dir: "auto" }, clipped(node.title, 200)),
      h("p.links-place", { dir: "auto" }, `${placeOf(node.uri)} · ${counts(node)}`),
      to.length ? h("p.hint", { dir: "auto" }, `links to ${named(to)}`) : null,
      from.length ? h("p.hint", { dir: "auto" }, `linked from ${named(from)}`) : null,
    );
  };
  const groups = [...grouped].map(([distance, some]) => h("section", {}, h("h2", {}, `${count(distance, "link")} away`), h("ul", {}, some.map(item))));
  return h("div.graph-list", {}, h("h2", {}, "The document"), h("ul", {}, item(nodes[0])), groups);
}

/** What is around a document, as a graph that keys can walk through, or as a list. Loaded when it is first shown. */

import { isAbort, rpc } from "./api.js";
import { button, fill, h, svg } from "./dom.js";
import { Layout } from "./layout.js";
import { DEEPEST, addressOf, placeOf } from "./router.js";
import { count, number } from "./text.js";

const LIMIT = 200;
const FRAME_MS = 8;
const MARGIN = { across: 60, down: 28 };
const SPACE = 38; // for a node, on a screen that is too small for all
const LABEL = 26;
const FEW = 24; // nodes that all have a label
const NAMED = 6;
const CROWDED = 150; // links; of more, each is drawn faintly
const QUIET_MS = 300;
const DIRECTIONS = { ArrowRight: 0, ArrowDown: Math.PI / 2, ArrowLeft: Math.PI, ArrowUp: -Math.PI / 2 };

export class Graph {
  /** `onOpen(uri)`, `onDepth(depth)`: what the user chose. */
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
      if (JSON.stringify(data) === JSON.stringify(this.data)) return;
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

  /** Files changed: the same again, once for a burst. */
  changed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.data && this.show(this.ref, this.depth), QUIET_MS);
  }

  #draw(hasFocus = false) {
    const focused = hasFocus || this.root.contains(document.activeElement) ? (this.picture?.current?.uri ?? this.data.nodes[0].uri) : null;
    this.picture?.stop();
    this.picture = null;
    this.#drawBar();
    this.caption.textContent = "";
    if (this.isList) return void fill(this.canvas, list(this.data));
    this.picture = new Picture(this.canvas, this.data, { onOpen: this.onOpen, onCurrent: (node) => (this.caption.textContent = described(node)) });
    if (focused) this.picture.focus(focused);
  }

  #drawBar() {
    const { nodes, total, is_cut: isCut } = this.data;
    const depths = Array.from({ length: DEEPEST }, (_, index) => index + 1);
    const found = isCut ? `${number(nodes.length)}${total > nodes.length ? ` of ${number(total)}` : ""} documents: the nearest` : count(nodes.length, "document");
    fill(
      this.bar,
      h("div.modes", { role: "group", "aria-label": "Links away" }, depths.map((depth) => button(String(depth), () => this.onDepth(depth), { class: "mode", "aria-pressed": String(depth === this.depth), "aria-label": count(depth, "link") + " away" }))),
      h("p", { role: "status" }, found),
      button("List", () => this.#flip(), { "aria-pressed": String(this.isList), title: "The same as a list" }),
    );
  }

  #flip() {
    this.isList = !this.isList;
    this.#draw();
    this.bar.querySelector(".button:last-child").focus();
  }
}

/** The drawn graph. `onOpen(uri)`: a node was opened; `onCurrent(node)`: one has the focus or is pointed at. */
class Picture {
  constructor(canvas, { nodes, edges }, { onOpen, onCurrent }) {
    Object.assign(this, { canvas, nodes, onOpen, onCurrent });
    const at = new Map(nodes.map((node, index) => [node.uri, index]));
    this.pairs = edges.map(({ source, target }) => [at.get(source), at.get(target)]).filter(([from, to]) => from !== to);
    this.neighbours = nodes.map(() => new Set());
    for (const [from, to] of this.pairs) this.neighbours[from].add(to) && this.neighbours[to].add(from);
    this.layout = new Layout(nodes.map((node) => node.distance), this.pairs);
    this.lines = this.pairs.map(() => svg("line", { class: "edge" }));
    this.marks = nodes.map((node, index) => this.#mark(node, index));
    const crowded = this.pairs.length > CROWDED ? "crowded" : null;
    this.svg = svg("svg", { class: crowded, role: "application", "aria-label": `Documents around ${clipped(nodes[0].title, 80)}. Arrow keys go to neighbours, Enter opens.` }, svg("g", { "aria-hidden": "true" }, this.lines), this.marks);
    this.#listen();
    fill(canvas, this.svg);
    this.#choose(0);
    this.#settle();
  }

  get current() {
    return this.nodes[this.index];
  }

  focus(uri) {
    this.#choose(Math.max(0, this.nodes.findIndex((node) => node.uri === uri)));
    this.marks[this.index].focus({ preventScroll: true });
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }

  /** Scale the positions to the room there is; where it is too small for all nodes, the canvas scrolls. */
  fit() {
    const { x, y } = this.layout;
    const least = Math.sqrt(this.nodes.length) * SPACE;
    const box = { width: Math.max(this.canvas.clientWidth, least), height: Math.max(this.canvas.clientHeight - 4, Math.min(least, 900)) };
    this.svg.setAttribute("width", box.width);
    this.svg.setAttribute("height", box.height);
    const down = scaled(y, MARGIN.down, box.height);
    this.places = scaled(x, MARGIN.across, box.width).map((across, index) => [across, down[index]]);
    this.#place();
  }

  #settle() {
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const began = performance.now();
    const next = () => {
      this.layout.run(FRAME_MS);
      if (!isCalm || this.layout.isStable) this.fit();
      if (!this.layout.isStable) return void (this.frame = requestAnimationFrame(next));
      this.svg.dataset.stable = String(Math.round(performance.now() - began));
      if (this.svg.contains(document.activeElement)) document.activeElement.scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    next();
  }

  #place() {
    for (const [index, [x, y]] of this.places.entries()) this.marks[index].setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    for (const [index, [from, to]] of this.pairs.entries()) {
      const [[x1, y1], [x2, y2]] = [this.places[from], this.places[to]];
      for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) this.lines[index].setAttribute(name, value.toFixed(1));
    }
  }

  #mark(node, index) {
    const radius = Math.min(13, 4 + Math.sqrt(node.links + node.backlinks));
    const isNamed = index === 0 || this.nodes.length <= FEW;
    return svg(
      "a",
      { class: `node far-${Math.min(3, node.distance)}${isNamed ? " named" : ""}`, href: addressOf(node.uri), tabindex: "-1", role: "link", "aria-label": described(node), "data-index": index },
      svg("circle", { r: radius.toFixed(1) }),
      svg("text", { y: (radius + 11).toFixed(1) }, clipped(node.title, LABEL)),
    );
  }

  #listen() {
    const indexOf = (event) => Number(event.target.closest("[data-index]")?.dataset.index ?? -1);
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.svg.addEventListener("focusin", (event) => indexOf(event) >= 0 && this.#choose(indexOf(event)));
    this.svg.addEventListener("pointerover", (event) => indexOf(event) >= 0 && this.#show(indexOf(event)));
    this.svg.addEventListener("pointerout", () => this.#show(this.index));
    this.svg.addEventListener("click", (event) => {
      if (indexOf(event) < 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.onOpen(this.nodes[indexOf(event)].uri);
    });
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const to = this.#toward(event.key);
    if (to === null) return;
    event.preventDefault();
    this.marks[to].focus({ preventScroll: true });
    this.marks[to].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Arrows: the neighbour that is most in this direction; Page keys: all nodes in turn; Home: the centre. */
  #toward(key) {
    const all = this.nodes.length;
    if (key === "Home") return 0;
    if (key === "PageDown") return (this.index + 1) % all;
    if (key === "PageUp") return (this.index - 1 + all) % all;
    if (!(key in DIRECTIONS)) return null;
    const [x, y] = this.places[this.index];
    const turned = (to) => angle(Math.atan2(this.places[to][1] - y, this.places[to][0] - x) - DIRECTIONS[key]);
    const ahead = [...this.neighbours[this.index]].filter((to) => turned(to) <= Math.PI / 2);
    return ahead.sort((a, b) => turned(a) - turned(b))[0] ?? this.index;
  }

  /** One node is a stop of the Tab key: the current one. */
  #choose(index) {
    this.marks[this.index ?? 0].setAttribute("tabindex", "-1");
    this.index = index;
    this.marks[index].setAttribute("tabindex", "0");
    this.#show(index);
  }

  /** Name a node and its neighbours, and emphasise the links between them. */
  #show(index) {
    this.onCurrent(this.nodes[index]);
    for (const [at, mark] of this.marks.entries()) mark.classList.toggle("near", at === index || (this.neighbours[index].has(at) && this.neighbours[index].size <= FEW));
    for (const [at, pair] of this.pairs.entries()) this.lines[at].classList.toggle("near", pair.includes(index));
  }
}

/** The same data as text: the nearest documents first, each with its links to others of the list. */
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
  const groups = [...grouped].map(([distance, some]) => h("section", {}, h("h3", {}, `${count(distance, "link")} away`), h("ul", {}, some.map(item))));
  return h("div.graph-list", {}, h("h3", {}, "The document"), h("ul", {}, item(nodes[0])), groups);
}

const counts = (node) => `${count(node.links, "link")}, ${count(node.backlinks, "backlink")}`;

const described = (node) => `${clipped(node.title, 200)}, ${placeOf(node.uri)}: ${counts(node)}`;

const clipped = (text, most) => (text.length > most ? `${Array.from(text.slice(0, most * 2)).slice(0, most).join("")}…` : text);

const angle = (radians) => Math.abs(Math.atan2(Math.sin(radians), Math.cos(radians)));

function scaled(values, margin, size) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = size - 2 * margin;
  const scale = Math.min(room / (most - least || 1), 140);
  const start = (size - (most - least) * scale) / 2;
  return Array.from(values, (value) => start + (value - least) * scale);
}

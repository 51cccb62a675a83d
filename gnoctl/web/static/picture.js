/** Draws the graph around a document, and lets keys walk through it. Must not depend on requests. */

import { fill, svg } from "./dom.js";
import { Layout } from "./layout.js";
import { addressOf, placeOf } from "./router.js";
import { count } from "./text.js";

const FRAME_MS = 8;
const MARGIN = { across: 60, down: 28 };
const SPACE = 38; // for a node, on a screen that is too small for all
const LABEL = 26;
const FEW = 24; // nodes that all have a label
const CROWDED = 150; // links; of more, each is drawn faintly
const DIRECTIONS = { ArrowRight: 0, ArrowDown: Math.PI / 2, ArrowLeft: Math.PI, ArrowUp: -Math.PI / 2 };

/** `onOpen(uri)`: a node was opened; `onCurrent(node)`: one has the focus or is pointed at. */
export class Picture {
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
    if (!(key in DIRECTIONS) || !this.places) return null;
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

export const counts = (node) => `${count(node.links, "link")}, ${count(node.backlinks, "backlink")}`;

export const clipped = (text, most) => (text.length > most ? `${Array.from(text.slice(0, most * 2)).slice(0, most).join("")}…` : text);

export const described = (node) => `${clipped(node.title, 200)}, ${placeOf(node.uri)}: ${counts(node)}`;

const angle = (radians) => Math.abs(Math.atan2(Math.sin(radians), Math.cos(radians)));

function scaled(values, margin, size) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = size - 2 * margin;
  const scale = Math.min(room / (most - least || 1), 140);
  const start = (size - (most - least) * scale) / 2;
  return Array.from(values, (value) => start + (value - least) * scale);
}

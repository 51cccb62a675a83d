/** Draws the graph around a document, through which keys can walk. Must not depend on requests. */

import { fill, svg } from "./dom.js";
import { Layout } from "./layout.js";
import { addressOf, placeOf } from "./router.js";
import { count } from "./text.js";

const FRAME_MS = 8;
const MARGIN = { across: 60, down: 28 };
const SPACE = 38; // per node, on a screen that is too small for all nodes
const LABEL = 26;
const LINE = 15; // the height of a label
const STEP = 1.4; // of the zoom
const CLOSEST = 8;
const PAN = 80;
const CROWDED = 150; // links; more links are drawn faintly
const DIRECTIONS = { ArrowRight: 0, ArrowDown: Math.PI / 2, ArrowLeft: Math.PI, ArrowUp: -Math.PI / 2 };

/** `onOpen(uri)`: a node was opened; `onCurrent(node)`: a node has the focus or the pointer. */
export class Picture {
  constructor(canvas, { nodes, edges }, { onOpen, onCurrent }) {
    Object.assign(this, { canvas, nodes, onOpen, onCurrent });
    const at = new Map(nodes.map((node, index) => [node.uri, index]));
    this.pairs = edges.map(({ source, target }) => [at.get(source), at.get(target)]).filter(([from, to]) => from !== to);
    this.neighbours = nodes.map(() => new Set());
    for (const [from, to] of this.pairs) this.neighbours[from].add(to) && this.neighbours[to].add(from);
    this.zoom = 1;
    this.index = this.shown = 0;
    this.radii = nodes.map((node) => Math.min(13, 4 + Math.sqrt(node.links + node.backlinks)));
    this.widths = widthsOf(nodes.map((node) => clipped(node.title, LABEL)));
    this.byDegree = nodes.map((_, index) => index).sort((a, b) => this.neighbours[b].size - this.neighbours[a].size);
    this.layout = new Layout(nodes.map((node) => node.distance), this.pairs);
    this.lines = this.pairs.map(() => svg("line", { class: "edge" }));
    this.marks = nodes.map((node, index) => this.#mark(node, index));
    this.labels = nodes.map((node) => svg("text", { class: "label" }, clipped(node.title, LABEL)));
    const crowded = this.pairs.length > CROWDED ? "crowded" : null;
    this.svg = svg("svg", { class: crowded, role: "application", "aria-label": `Documents around ${clipped(nodes[0].title, 80)}. Arrow keys go to neighbours, Enter opens, plus and minus zoom.` }, svg("g", { "aria-hidden": "true" }, this.lines), this.marks, svg("g", { "aria-hidden": "true" }, this.labels));
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

  /** Scale the positions to the available room, times the zoom. If the room is too small for all nodes, the canvas scrolls. */
  fit() {
    const { x, y } = this.layout;
    const least = Math.sqrt(this.nodes.length) * SPACE;
    const { zoom } = this;
    this.box = { width: Math.max(this.canvas.clientWidth, least) * zoom, height: Math.max(this.canvas.clientHeight - 4, Math.min(least, 900)) * zoom };
    this.svg.setAttribute("width", this.box.width);
    this.svg.setAttribute("height", this.box.height);
    const down = scaled(y, MARGIN.down, this.box.height, zoom);
    this.places = scaled(x, MARGIN.across, this.box.width, zoom).map((across, index) => [across, down[index]]);
    this.#place();
    this.#label();
  }

  /** Zoom in or out. The point `at` of the canvas, by default the middle, stays in place. */
  zoomBy(steps, at = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]) {
    const { canvas, box } = this;
    const across = (canvas.scrollLeft + at[0]) / box.width;
    const down = (canvas.scrollTop + at[1]) / box.height;
    this.zoom = steps ? Math.max(0.5, Math.min(CLOSEST, this.zoom * STEP ** steps)) : 1;
    this.fit();
    canvas.scrollTo(across * this.box.width - at[0], down * this.box.height - at[1]);
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
    return svg(
      "a",
      { class: `node far-${Math.min(3, node.distance)}`, href: addressOf(node.uri), tabindex: "-1", role: "link", "aria-label": described(node), "data-index": index },
      svg("circle", { r: this.radii[index].toFixed(1) }),
    );
  }

  #listen() {
    const indexOf = (event) => Number(event.target.closest("[data-index]")?.dataset.index ?? -1);
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.svg.addEventListener("focusin", (event) => indexOf(event) >= 0 && this.#choose(indexOf(event)));
    this.svg.addEventListener("pointerover", (event) => indexOf(event) >= 0 && this.#show(indexOf(event)));
    this.svg.addEventListener("pointerout", () => this.#show(this.index));
    this.canvas.onwheel = (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const { left, top } = this.canvas.getBoundingClientRect();
      this.zoomBy(-Math.sign(event.deltaY) / 2, [event.clientX - left, event.clientY - top]);
    };
    this.svg.addEventListener("pointerdown", (event) => event.pointerType === "mouse" && !event.button && indexOf(event) < 0 && this.#drag(event));
    this.svg.addEventListener("click", (event) => {
      if (indexOf(event) < 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.onOpen(this.nodes[indexOf(event)].uri);
    });
  }

  /** Move the picture with the mouse. */
  #drag({ pointerId }) {
    const move = (event) => this.canvas.scrollBy(-event.movementX, -event.movementY);
    this.svg.setPointerCapture(pointerId);
    this.svg.addEventListener("pointermove", move);
    this.svg.addEventListener("lostpointercapture", () => this.svg.removeEventListener("pointermove", move), { once: true });
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = { "+": 1, "=": 1, "-": -1, 0: 0 }[event.key];
    const pan = event.shiftKey && event.key in DIRECTIONS ? DIRECTIONS[event.key] : null;
    if (steps === undefined && pan === null) return this.#walk(event);
    event.preventDefault();
    if (pan === null) this.zoomBy(steps);
    else this.canvas.scrollBy(Math.round(Math.cos(pan)) * PAN, Math.round(Math.sin(pan)) * PAN);
  }

  #walk(event) {
    const to = this.#toward(event.key);
    if (to === null) return;
    event.preventDefault();
    this.marks[to].focus({ preventScroll: true });
    this.marks[to].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Arrow keys go to the neighbour that is most in this direction, Page keys to all nodes in turn, Home to the centre. */
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

  /** Only the current node is a stop of the Tab key. */
  #choose(index) {
    this.marks[this.index].setAttribute("tabindex", "-1");
    this.index = index;
    this.marks[index].setAttribute("tabindex", "0");
    this.#show(index);
  }

  /** Label a node and its neighbours before others, and emphasise the links between them. */
  #show(index) {
    this.shown = index;
    this.onCurrent(this.nodes[index]);
    for (const [at, pair] of this.pairs.entries()) this.lines[at].classList.toggle("near", pair.includes(index));
    if (this.places) this.#label();
  }

  /** Label as many nodes as have room, below or above them: the current node, its neighbours, then nodes with many links. */
  #label() {
    const near = this.neighbours[this.shown];
    const order = new Set([this.shown, ...this.byDegree.filter((index) => near.has(index)), ...this.byDegree]);
    const circles = this.places.map(([x, y], index) => around(x, y - this.radii[index], this.radii[index] * 2, this.radii[index] * 2));
    const taken = [];
    const isFree = (label, index) => !taken.some((other) => overlap(label, other)) && (index === this.shown || !circles.some((circle, at) => at !== index && overlap(label, circle)));
    for (const index of order) {
      const [x, y] = this.places[index];
      const [radius, width] = [this.radii[index], this.widths[index]];
      const middle = Math.max(width / 2, Math.min(this.box.width - width / 2, x));
      const top = [radius, -radius - LINE].find((down) => isFree(around(middle, y + down, width, LINE), index));
      const label = this.labels[index];
      label.setAttribute("class", top === undefined ? "label" : index === this.shown ? "label named shown" : "label named");
      if (top === undefined) continue;
      taken.push(around(middle, y + top, width, LINE));
      label.setAttribute("x", middle.toFixed(1));
      label.setAttribute("y", (y + top + 11).toFixed(1));
    }
  }
}

/** The sides of a rectangle below a point. */
const around = (x, top, width, height) => [x - width / 2, top, x + width / 2, top + height];

const overlap = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

/** The width of labels in bold. */
function widthsOf(labels) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `600 11px ${getComputedStyle(document.body).fontFamily}`;
  return labels.map((label) => context.measureText(label).width + 6);
}

export const counts = (node) => `${count(node.links, "link")}, ${count(node.backlinks, "backlink")}`;

export const clipped = (text, most) => (text.length > most ? `${Array.from(text.slice(0, most * 2)).slice(0, most).join("")}…` : text);

export const described = (node) => `${clipped(node.title, 200)}, ${placeOf(node.uri)}: ${counts(node)}`;

const angle = (radians) => Math.abs(Math.atan2(Math.sin(radians), Math.cos(radians)));

function scaled(values, margin, size, zoom) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = size - 2 * margin;
  const scale = Math.min(room / (most - least || 1), 140 * zoom);
  const start = (size - (most - least) * scale) / 2;
  return Array.from(values, (value) => start + (value - least) * scale);
}

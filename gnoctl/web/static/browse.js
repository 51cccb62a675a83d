/** Folders and tags as trees, each with its number of documents. A click searches there. Loaded when it is first shown. */

import { rpc } from "./api.js";
import { button, fill, h } from "./dom.js";
import { address } from "./router.js";
import { inline, number } from "./text.js";

const MOST = 5000;
const AGAIN_MS = 1500;
const TREES = [
  ["folder", "Folders", "No folder is indexed yet."],
  ["tag", "Tags", "No document has a tag."],
];

export class Browse {
  constructor(root) {
    this.trees = h("div.trees");
    this.opened = new Set();
    fill(root, h("h1", { tabindex: "-1" }, "Browse"), this.trees);
  }

  show() {
    this.isShown = true;
    return this.#load();
  }

  hide() {
    this.isShown = false;
  }

  /** Count again after files changed, once per burst. */
  changed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.isShown && this.#load(), AGAIN_MS);
  }

  async #load() {
    try {
      const { facets } = await rpc("search.lexical", { query: "size:>=0", limit: 1, facets: TREES.map(([field]) => field), facet_values: MOST });
      const focused = this.trees.contains(document.activeElement) ? document.activeElement.dataset.node : null;
      fill(this.trees, TREES.map(([field, title, nothing]) => this.#tree(field, title, nothing, treeOf(facets[field]))));
      if (focused) this.trees.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    } catch (error) {
      fill(this.trees, h("p.error", { role: "alert" }, inline(error.message)));
    }
  }

  #tree(field, title, nothing, nodes) {
    const shown = nodes.length ? this.#branch(field, nodes, field === "folder" && nodes.length < 4) : h("p.hint", {}, nothing);
    return h("section", { "aria-label": title }, h("h2", {}, title), shown);
  }

  #branch(field, nodes, areOpen = false) {
    return h("ul", {}, nodes.map((node) => h("li", {}, this.#node(field, node, areOpen))));
  }

  /** Create the branch of a node when it is opened, because there may be thousands. */
  #node(field, { value, label, count, children }, isFirst) {
    const id = `${field}:${value}`;
    const link = h("a", { href: address({ view: "search", filters: { [field]: [value] } }), "data-node": id, dir: "auto" }, label);
    const row = [link, h("span.num", {}, number(count))];
    if (!children.length) return h("div.node-row", {}, h("span.twist"), row);
    const branch = h("div");
    const draw = (isOpen) => {
      twist.setAttribute("aria-expanded", String(isOpen));
      fill(branch, isOpen ? this.#branch(field, children) : null);
    };
    const flip = () => {
      if (!this.opened.delete(id)) this.opened.add(id);
      draw(this.opened.has(id) !== isFirst);
    };
    const twist = button("", flip, { class: "twist", "aria-label": `Below ${label}`, "data-node": `${id}/` });
    draw(this.opened.has(id) !== isFirst);
    return [h("div.node-row", {}, twist, row), branch];
  }
}

/** Nest the values at their slashes, by name. */
function treeOf(counts) {
  const top = [];
  const known = new Map();
  for (const { value, count } of counts.toSorted((a, b) => a.value.length - b.value.length)) {
    const slash = value.lastIndexOf("/");
    const node = { value, count, label: value.slice(slash + 1), children: [] };
    known.set(value.toLowerCase(), node);
    (known.get(value.slice(0, Math.max(0, slash)).toLowerCase())?.children ?? top).push(node);
  }
  for (const nodes of [top, ...[...known.values()].map((node) => node.children)]) nodes.sort((a, b) => a.label.localeCompare(b.label, "en", { numeric: true }));
  return top;
}

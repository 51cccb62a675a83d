/** Filters as chips with counts, from the facets of a result. Knows routes' filters; makes no requests. */

import { button, fill, h } from "./dom.js";
import { number } from "./text.js";

export const FACETS = ["collection", "tag", "type", "lang"];
const NAMES = { collection: "Collection", tag: "Tag", type: "Type", lang: "Language" };
const PARAMS = { collection: "collections", tag: "tags_all", type: "types", lang: "languages" };
const SORTS = [["", "Best first"], ["-modified", "Newest first"], ["modified", "Oldest first"], ["title", "Title"], ["path", "Path"]];
const FEW = 8;

/** The parameters of a search for a route's filters. */
export function filterParams(filters) {
  return Object.fromEntries(FACETS.filter((name) => filters[name]?.length).map((name) => [PARAMS[name], filters[name]]));
}

export const countFilters = (filters) => FACETS.reduce((sum, name) => sum + (filters[name]?.length ?? 0), 0);

export class Filters {
  /** `onChange(changes)`: parts of a route that the user changed. */
  constructor(root, toggle, { onChange }) {
    this.root = root;
    this.toggleButton = toggle;
    this.onChange = onChange;
    this.isOpen = false;
    this.all = new Set();
    toggle.addEventListener("click", () => this.toggle());
  }

  toggle() {
    this.isOpen = !this.isOpen;
    if (this.route) this.render(this.route, this.facets);
    if (this.isOpen) this.root.querySelector("button, select")?.focus();
  }

  /** Show the chosen filters, and in the open panel all values with their counts. */
  render(route, facets = {}) {
    this.route = route;
    this.facets = facets;
    const chosen = countFilters(route.filters);
    this.toggleButton.setAttribute("aria-expanded", String(this.isOpen));
    fill(this.toggleButton, "Filters", chosen ? h("span.badge", {}, String(chosen)) : null);
    this.root.hidden = !(this.isOpen || chosen || route.similar);
    if (this.root.hidden) return;
    const focused = document.activeElement?.dataset?.chip;
    fill(this.root, this.isOpen ? this.#panel(route, facets) : this.#chosen(route));
    if (focused) this.root.querySelector(`[data-chip="${CSS.escape(focused)}"]`)?.focus();
  }

  #chosen(route) {
    const chips = FACETS.flatMap((name) => route.filters[name].map((value) => this.#chip(name, value, null, true)));
    if (route.similar) chips.unshift(this.#similar(route));
    return h("div.chips", {}, chips);
  }

  #similar(route) {
    return button(`Similar to ${decodeURI(route.similar).replace(/^gno:\/\//, "")}`, () => this.onChange({ similar: "" }), {
      class: "chip on",
      "aria-label": "Similar documents: remove",
      "data-chip": "similar",
    });
  }

  #panel(route, facets) {
    const rows = FACETS.map((name) => this.#row(name, route.filters[name], facets[name] ?? [])).filter(Boolean);
    if (route.similar) rows.unshift(h("div.chips", {}, this.#similar(route)));
    return [...rows, this.#sort(route), this.#clear(route)];
  }

  #row(name, chosen, counts) {
    const missing = chosen.filter((value) => !counts.some((each) => each.value === value)).map((value) => ({ value, count: null }));
    const values = [...missing, ...counts];
    if (!values.length) return null;
    const shown = this.all.has(name) ? values : values.slice(0, Math.max(FEW, chosen.length));
    const rest = values.length - shown.length;
    return h(
      "div.facet",
      { role: "group", "aria-label": NAMES[name] },
      h("span.facet-name", {}, NAMES[name]),
      h(
        "div.chips",
        {},
        shown.map((each) => this.#chip(name, each.value, each.count, chosen.includes(each.value))),
        rest ? button(`${rest} more`, () => this.#showAll(name), { class: "chip more" }) : null,
      ),
    );
  }

  #showAll(name) {
    this.all.add(name);
    this.render(this.route, this.facets);
  }

  #chip(name, value, count, isOn) {
    return button(
      [value, count === null ? null : h("span.chip-count", {}, number(count))],
      () => this.#toggleValue(name, value, isOn),
      { class: isOn ? "chip on" : "chip", "aria-pressed": String(isOn), "data-chip": `${name}:${value}` },
    );
  }

  #toggleValue(name, value, isOn) {
    const old = this.route.filters[name];
    const values = isOn ? old.filter((each) => each !== value) : [...old, value];
    this.onChange({ filters: { ...this.route.filters, [name]: values } });
  }

  #sort(route) {
    const options = SORTS.map(([value, label]) => h("option", { value, selected: route.sort === value }, label));
    const select = h("select", { onchange: () => this.onChange({ sort: select.value }), "data-chip": "sort" }, options);
    const explain = h("input", {
      type: "checkbox",
      checked: route.explain,
      onchange: () => this.onChange({ explain: explain.checked }),
      "data-chip": "explain",
    });
    return h("div.facet", {}, h("label.inline", {}, h("span.facet-name", {}, "Order"), select), h("label.inline", {}, explain, "Explain scores"));
  }

  #clear(route) {
    if (!countFilters(route.filters)) return null;
    const none = Object.fromEntries(FACETS.map((name) => [name, []]));
    return button("Remove all filters", () => this.onChange({ filters: none }), { class: "link" });
  }
}

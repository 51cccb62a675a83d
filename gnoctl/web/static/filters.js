/** Filters beside the list: every field with its values and their counts. Knows the filters of routes; makes no requests. */

import { button, fill, h } from "./dom.js";
import { FIELDS } from "./router.js";
import { store, stored } from "./storage.js";
import { number } from "./text.js";

export const FACETS = [...FIELDS, "*"];
const NAMES = { collection: "Collection", folder: "Folder", ext: "File type", type: "Type", tag: "Tag", lang: "Language", author: "Author", date: "Year", after: "Newer than" };
const AGES = { "7d": "7 days", "30d": "30 days", "1y": "a year" };
const SORTS = [["", "Best first"], ["-modified", "Newest first"], ["modified", "Oldest first"], ["title", "Title"], ["path", "Path"]];
const STOPS = ".facet :is(summary, button)";
const FEW = 8;
const MOST = 50; // of a field's values, as the daemon returns them

/** The parameters of a search for a route's filters. */
export function filterParams({ collection = [], tag = [], ...fields }) {
  return { collections: collection, tags_all: tag, fields };
}

export const countFilters = (filters) => Object.values(filters).flat().length;

export class Filters {
  /** `root`: the values; `chosen`: the values that are filters. `onChange(changes)`: parts of a route; `onOpen()`: counts are needed. */
  constructor({ root, chosen, toggle }, { onChange, onOpen }) {
    Object.assign(this, { root, chosen, onChange, onOpen, toggleButton: toggle });
    this.beside = matchMedia("(min-width: 1180px)");
    this.all = new Set();
    this.folds = stored("folds") ?? {};
    this.isOpen = document.documentElement.classList.contains("filtering"); // theme.js sets it before the first paint
    this.beside.addEventListener("change", () => this.#open(this.beside.matches && stored("filters") !== "closed"));
    toggle.addEventListener("click", () => this.#open(!this.isOpen));
    root.addEventListener("keydown", (event) => this.#walk(event));
    root.addEventListener("focusin", (event) => event.target.matches(STOPS) && this.#rove(event.target));
  }

  /** Move the focus to the filters, or close them if they have it. */
  toggle() {
    const isThere = this.root.contains(document.activeElement);
    if (!this.isOpen || isThere) this.#open(!this.isOpen);
    if (this.isOpen) this.root.querySelector("select")?.focus();
    else this.toggleButton.focus();
  }

  /** Close the filters if they cover the list. Return whether they did. */
  leave() {
    const covers = this.isOpen && !this.beside.matches;
    if (covers) this.#open(false);
    return covers;
  }

  #open(isOpen) {
    this.isOpen = isOpen;
    if (this.beside.matches) store("filters", isOpen ? "open" : "closed");
    if (this.route) this.render(this.route);
    if (isOpen) this.onOpen();
  }

  /** Show the chosen filters, and in the open panel all values with their counts. */
  render(route, facets = this.facets) {
    Object.assign(this, { route, facets });
    const amount = countFilters(route.filters);
    document.documentElement.classList.toggle("filtering", this.isOpen);
    this.toggleButton.setAttribute("aria-expanded", String(this.isOpen));
    fill(this.toggleButton, "Filters", amount ? h("span.badge", {}, String(amount)) : null);
    keepingFocus(this.chosen, () => fill(this.chosen, this.#chips(route)), this.toggleButton);
    if (!this.isOpen) return;
    keepingFocus(this.root, () => fill(this.root, this.#head(route), route.similar ? h("p.hint", {}, "Similar documents are not counted.") : this.#facets(route, facets ?? {})));
    if (!this.root.querySelector(`:is(${STOPS})[tabindex="0"]`)) this.#rove(this.root.querySelector(STOPS));
  }

  /** The fields and their values are a single stop of the Tab key. Arrow keys move among them. */
  #walk(event) {
    const stops = [...this.root.querySelectorAll(STOPS)].filter((each) => each.checkVisibility());
    const at = stops.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1 }[event.key];
    if (at < 0 || !stops[to]) return;
    event.preventDefault();
    stops[to].focus();
  }

  #rove(stop) {
    for (const each of this.root.querySelectorAll(STOPS)) each.tabIndex = each === stop ? 0 : -1;
  }

  #chips({ similar, filters }) {
    const chips = Object.entries(filters).flatMap(([name, values]) => values.map((value) => this.#chip(name, value)));
    if (similar) chips.unshift(chip(`Similar to ${decodeURI(similar).replace(/^gno:\/\//, "")}`, () => this.onChange({ similar: "" })));
    if (chips.length > 1) chips.push(button("Remove all", () => this.onChange({ filters: {}, similar: "" }), { class: "link", "data-chip": "none" }));
    return chips;
  }

  #chip(name, value) {
    return chip(`${nameOf(name)}: ${shown(name, value)}`, () => this.#toggleValue(name, value));
  }

  #head(route) {
    const options = SORTS.map(([value, label]) => h("option", { value, selected: route.sort === value }, label));
    const select = h("select", { onchange: () => this.onChange({ sort: select.value }), "data-chip": "sort" }, options);
    const explain = h("input", { type: "checkbox", checked: route.explain, onchange: () => this.onChange({ explain: explain.checked }), "data-chip": "explain" });
    const close = button("×", () => this.toggle(), { class: "button icon", "aria-label": "Close the filters" });
    return h("div.facets-head", {}, h("label.inline", {}, "Order", select), close, h("label.inline", {}, explain, "Explain scores"));
  }

  #facets(route, facets) {
    const own = Object.keys({ ...facets, ...route.filters }).filter((name) => !FIELDS.includes(name));
    return [...FIELDS, ...new Set(own)].map((name) => this.#facet(name, facets[name] ?? [], route.filters[name] ?? []));
  }

  #facet(name, counts, chosen) {
    const known = new Set(counts.map((each) => each.value));
    const values = [...chosen.filter((value) => !known.has(value)).map((value) => ({ value, count: 0 })), ...counts];
    if (!values.length || (name === "collection" && values.length < 2 && !chosen.length)) return null;
    const list = h("ul");
    const draw = () => fill(list, this.#rows(name, values, chosen, draw));
    let isOpen = this.folds[name] ?? !isProse(name, values);
    const onfold = ({ target }) => {
      if (target.open === isOpen) return;
      this.folds[name] = isOpen = target.open;
      store("folds", this.folds);
      if (isOpen) draw();
    };
    if (isOpen) draw();
    return h("details.facet", { open: isOpen, ontoggle: onfold }, h("summary", { tabindex: "-1", "data-chip": `${name}:` }, nameOf(name), h("span.num", {}, values.length < MOST ? number(values.length) : `${MOST}+`)), list);
  }

  #rows(name, values, chosen, draw) {
    const few = this.all.has(name) ? values : values.slice(0, Math.max(FEW, chosen.length));
    const more = () => {
      this.all.add(name);
      draw();
      focusOn(this.root, `${name}:${values[few.length].value}`);
    };
    const rows = ordered(name, few).map((each) => h("li", {}, this.#row(name, each, chosen.includes(each.value))));
    return few.length < values.length ? [...rows, h("li", {}, button(`${number(values.length - few.length)} more`, more, { class: "link", tabindex: "-1", "data-chip": `${name}:more` }))] : rows;
  }

  #row(name, { value, count }, isOn) {
    const depth = name === "folder" ? value.split("/").length - 1 : 0;
    const label = depth ? value.slice(value.lastIndexOf("/") + 1) : shown(name, value);
    return h(
      "button.value",
      { type: "button", tabindex: "-1", class: depth ? `value in-${Math.min(4, depth)}` : "value", "aria-pressed": String(isOn), title: value, "data-chip": `${name}:${value}`, onclick: () => this.#toggleValue(name, value) },
      h("span", { dir: "auto" }, label),
      h("span.num", {}, number(count)),
    );
  }

  /** Only one age can be chosen, because each age includes the smaller ones. */
  #toggleValue(name, value) {
    const old = this.route.filters[name] ?? [];
    const values = old.includes(value) ? old.filter((each) => each !== value) : name === "after" ? [value] : [...old, value];
    const { [name]: _, ...others } = this.route.filters;
    this.onChange({ filters: values.length ? { ...others, [name]: values } : others });
  }
}

const nameOf = (name) => NAMES[name] ?? name;

/** A field of the frontmatter whose values hardly occur twice is folded at first. */
const isProse = (name, values) => !FIELDS.includes(name) && values.every((each) => each.count < 2);

const LANGUAGES = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

function shown(name, value) {
  if (name === "lang" && /^[a-z]{2,3}$/.test(value)) return LANGUAGES.of(value);
  return (name === "after" && AGES[value]) || value;
}

function ordered(name, values) {
  if (name === "folder") return values.toSorted((a, b) => (a.value.split("/").join("\0") < b.value.split("/").join("\0") ? -1 : 1));
  if (name === "after") return values.toReversed();
  return name === "date" ? values.toSorted((a, b) => b.value.localeCompare(a.value)) : values;
}

const chip = (label, onclick) => button(label, onclick, { class: "chip on", "aria-label": `${label}: remove`, "data-chip": label });

/** Draw again. The element with the focus keeps it; otherwise the element in its place gets it. */
function keepingFocus(root, draw, other = null) {
  const focused = root.contains(document.activeElement) ? document.activeElement.dataset.chip : null;
  draw();
  if (focused && !focusOn(root, focused)) (root.querySelector(".chip, select") ?? other)?.focus({ preventScroll: true });
}

function focusOn(root, chip) {
  const found = root.querySelector(`[data-chip="${CSS.escape(chip)}"]`);
  found?.focus({ preventScroll: true });
  return Boolean(found);
}

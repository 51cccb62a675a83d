/** Searches while the user types: by keyword at once, in the chosen mode when typing pauses. Drops outdated answers. */

import { isAbort, refOf, rpc } from "./api.js";
import { button, fill, h, key } from "./dom.js";
import { FACETS, countFilters, filterParams } from "./filters.js";
import { recentlyOpened } from "./recent.js";
import { rewrite } from "./router.js";
import { corrected, count, inline, missedBy, number } from "./text.js";

const PAUSE_MS = 250;
const LATE_MS = 500;
// As many hits as fit on a screen: each further hit takes time, because the daemon chooses its passage.
const WHILE_TYPING = 10;
const FIRST = 30;
const MOST = 1000;
/** A list of all documents, the latest changes first. An empty query shows it. */
const EVERYTHING = { query: "size:>=0", sort: "-modified" };

export class Search {
  /** `onSettled(hit, isNew)`: the final results of a query arrived. */
  constructor({ input, list, filters, status, notices, empty, onSettled }) {
    Object.assign(this, { input, list, filters, status, notices, empty, onSettled });
    this.route = null;
    this.limit = FIRST;
    this.showsLoose = false;
    this.request = null;
    this.shown = null;
    this.saved = [];
    input.addEventListener("input", () => this.#typed());
  }

  /** Show a route: search, unless its results are already shown. */
  show(route) {
    const isSame = this.route && keyOf(route) === keyOf(this.route);
    this.route = route;
    if (document.activeElement !== this.input || this.input.value.trim() !== route.q) this.input.value = route.q;
    this.filters.render(route); // at once, so that the next choice adds to this one
    if (isSame && this.shown) return;
    this.limit = FIRST;
    this.showsLoose = false;
    this.list.hasMoved = false;
    this.#run({ isFinal: true });
  }

  /** Search again, because files changed, without moving what the user reads. */
  refresh() {
    if (this.route && !this.pause) this.#run({ isFinal: true, keep: true });
  }

  settleNow() {
    if (this.pause) this.#settle();
  }

  /** When another view is shown, the typed query no longer becomes the address. */
  leave() {
    clearTimeout(this.pause);
    this.pause = null;
  }

  /** Load more hits, and keep those that are shown. */
  async more() {
    const result = this.shown;
    if (!result || this.isLoading || result.hits.length < this.limit || this.limit >= MOST || this.pause) return;
    this.isLoading = true;
    this.limit = Math.min(MOST, this.limit * 4);
    try {
      const answer = await this.#ask(this.route, { isFinal: true, signal: this.request?.signal });
      if (this.shown === result) {
        this.shown = answer;
        await this.list.append(answer.hits);
      }
    } catch (error) {
      if (!isAbort(error)) this.#failed(error);
    } finally {
      this.isLoading = false;
    }
  }

  #typed() {
    this.route = { ...this.route, q: this.input.value.trim(), similar: "" };
    this.limit = FIRST;
    this.showsLoose = false;
    this.list.hasMoved = false;
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.#settle(), PAUSE_MS);
    if (this.route.mode !== "vector" || !this.route.q) this.#run({ isFinal: false });
  }

  #settle() {
    clearTimeout(this.pause);
    this.pause = null;
    rewrite({ ...this.route, doc: null });
    document.title = titleOf(this.route);
    this.#run({ isFinal: true, isTyped: true });
  }

  async #run({ isFinal, keep = false, isTyped = false }) {
    this.request?.abort();
    const request = (this.request = new AbortController());
    const route = this.route;
    if (keyOf(route) !== this.shownKey) this.late ??= setTimeout(() => this.#showLate(true), LATE_MS);
    try {
      const result = await this.#ask(route, { isFinal, signal: request.signal });
      if (this.request !== request) return;
      this.#showLate(false);
      this.shownKey = keyOf(route);
      result.hits.sort((one, other) => one.loose - other.loose);
      this.shown = result;
      this.#draw(route, result, { isFinal, keep: keep || (isTyped && this.list.hasMoved) });
      if (!isFinal) return;
      this.onSettled(this.list.current, { isTyped, keep });
      this.countFilters();
    } catch (error) {
      if (this.request !== request || isAbort(error)) return;
      this.#showLate(false);
      this.#failed(error, isFinal);
    }
  }

  /** Show that the daemon has not answered yet, and that the list belongs to another query. */
  #showLate(isLate) {
    if (!isLate) {
      clearTimeout(this.late);
      this.late = null;
    }
    const was = this.list.setStale(isLate);
    if (isLate) fill(this.status, "Waiting for the daemon …", this.list.hits.length ? " The list shows the previous results." : "");
    else if (was) fill(this.status, "");
  }

  #ask(route, { isFinal, signal }) {
    const { method, params } = requestFor(route, isFinal, this.showsLoose);
    return rpc(method, { ...params, limit: isFinal ? this.limit : WHILE_TYPING, explain: isFinal && route.explain }, { signal });
  }

  /** Count the values of the filters separately, so that the list does not wait for them. */
  async countFilters() {
    const { route, shown, request } = this;
    if (!this.filters.isOpen || !shown) return;
    const { method, params } = requestFor(route, true, this.showsLoose);
    let { facets } = shown;
    try {
      if (method === "search.lexical") ({ facets } = await rpc(method, { ...params, facets: FACETS, limit: 1 }, { signal: request.signal }));
      if (this.shown === shown) this.filters.render(route, facets);
    } catch (error) {
      if (!isAbort(error)) this.#failed(error);
    }
  }

  #draw(route, result, { isFinal, keep }) {
    this.list.render(result.hits, { keep, hasScore: result.mode !== "list" });
    this.list.endWith(result.hits.length ? this.#fold(result) : null);
    if (isFinal) this.filters.render(route);
    this.#note(route, result);
    if (isFinal) fill(this.status, statusOf(route, result));
    const isEmpty = !result.hits.length && (isFinal || route.mode === "keyword");
    this.empty.hidden = !isEmpty;
    if (isEmpty) fill(this.empty, this.#nothing(route, result));
    this.input.setAttribute("aria-expanded", String(result.hits.length > 0));
  }

  /** The button that also shows loosely similar documents. */
  #fold({ loose }) {
    if (!loose || this.showsLoose) return null;
    const show = async () => {
      this.showsLoose = true;
      this.list.endWith(null);
      await this.#run({ isFinal: true, keep: true });
    };
    return button(`Show ${count(loose, "document")} that ${loose === 1 ? "is" : "are"} only loosely similar`, show, { class: "link" });
  }

  #note(route, result) {
    const missed = missedBy(result.freshness);
    fill(
      this.notices,
      result.corrections.map((each) => h("p.correction", {}, corrected(each).map((part) => (part.strong ? h("strong", {}, part.strong) : part)))),
      [...result.hints, ...result.notes.map((note) => `Left out: ${note}`)].map((text) => h("p.hint", {}, inline(text))),
      result.lexical_only_reason ? h("p.hint", {}, inline(`Keyword search only: ${result.lexical_only_reason}`), result.lexical_only_reason.includes("gnoctl models") ? [". ", h("a", { href: "/add" }, "Choose a model here")] : null) : null,
      missed && route.q ? h("p.hint.warn", {}, `${missed}.`) : null,
      isBlank(route) ? recentlyOpened() : null,
      route.q || route.similar ? null : this.#savedSearches(),
      result.explain ? stages(result.explain) : null,
    );
  }

  #savedSearches() {
    if (!this.saved.length) return null;
    const chips = this.saved.map((each) => h("a.chip", { href: `/search?q=${encodeURIComponent(`@${each.name}`)}`, title: each.query }, `@${each.name}`));
    return h("div.chips", { role: "group", "aria-label": "Saved searches" }, chips);
  }

  async loadSaved() {
    const { searches } = await rpc("search.list");
    this.saved = searches;
    if (this.shown && !this.route.q) this.#note(this.route, this.shown);
  }

  #nothing(route, result) {
    if (isBlank(route)) return noCollections(result);
    this.#unlessEmpty(result);
    return [
      h("p.empty-title", {}, route.q ? `No document ${result.loose ? "is clearly about" : "matches"} “${route.q}”.` : "No document matches."),
      h("ul", {}, this.#advice(route, result).map((each) => h("li", {}, each))),
    ];
  }

  /** For an empty index, do not blame the query. */
  async #unlessEmpty(result) {
    const { collections, attached } = await rpc("collection.list").catch(() => ({ collections: [{ documents: 1 }] }));
    const isEmpty = !attached?.length && !collections.some((each) => each.documents);
    if (isEmpty && this.shown === result) fill(this.empty, noCollections(result));
  }

  #advice(route, result) {
    const advice = [];
    if (result.loose) advice.push(this.#fold(result));
    const without = () => this.filters.onChange({ filters: {} });
    if (countFilters(route.filters)) advice.push(button("Remove the filters", without, { class: "link" }));
    if (route.mode === "keyword") advice.push(button("Use hybrid search", () => this.filters.onChange({ mode: "hybrid" }), { class: "link" }));
    advice.push(["Use fewer or other words; ", key("?"), " lists what a query can contain."]);
    if (result.freshness.pending) advice.push(`${result.freshness.state}: new results appear by themselves.`);
    advice.push(h("a", { href: "/collections" }, "See which files are indexed, and why others are not"));
    return advice;
  }

  #clear() {
    this.shown = null;
    this.list.render([]);
    this.filters.render(this.route, {});
    this.empty.hidden = true;
  }

  /** Keep the results while the query is incomplete, for example with an open quotation mark. */
  #failed(error, isFinal = true) {
    if (!isFinal) return;
    const isAway = error.status === 0 || error.kind === "daemon_unavailable";
    if (!isAway) this.#clear();
    fill(this.notices, h("p.error", { role: "alert" }, inline(error.message)));
    fill(this.status, "");
  }
}

/** The request for a route. Before typing pauses, it is always a keyword search with an unfinished last word. */
function requestFor(route, isFinal, loose) {
  const filters = filterParams(route.filters);
  const sort = route.sort ? { sort: route.sort } : {};
  if (route.similar) return { method: "search.similar", params: { ref: route.similar, ...filters } };
  if (!route.q) return { method: "search.lexical", params: { ...EVERYTHING, ...filters, ...sort } };
  const params = { query: route.q, ...filters, ...sort };
  if (!isFinal || route.mode === "keyword") return { method: "search.lexical", params: { ...params, prefix_last_term: true } };
  return { method: route.mode === "vector" ? "search.vector" : "search.query", params: { ...params, facets: FACETS, loose } };
}

const isBlank = ({ q, similar, filters }) => !q && !similar && !countFilters(filters);

function statusOf(route, result) {
  const time = `${Math.round(result.took_ms)} ms`;
  if (!result.hits.length) return `No document · ${time}`;
  if (!route.q && !route.similar) return count(result.total, "document") + (route.sort ? "" : ", changed last first");
  if (result.mode === "hybrid") return `The best ${number(result.hits.length)} of ${number(result.total)} · ${time}`;
  return `${count(result.total, "document")} · ${time}`;
}

function noCollections({ freshness }) {
  if (freshness.pending) return [h("p.empty-title", {}, "The first files are being indexed …"), h("p", {}, "They appear here by themselves.")];
  return [
    h("p.empty-title", {}, "No document is indexed yet."),
    h("p", {}, h("a.button.primary", { href: "/add" }, "Add a folder"), " or run ", h("code", {}, "gnoctl collection add FOLDER"), "."),
  ];
}

/** The stages of a search with their times, as `--explain` prints them. */
function stages(explain) {
  const rows = (explain.stages ?? []).map(({ stage, ran, ms, why, ...rest }) =>
    h("tr", {}, h("th", { scope: "row" }, stage), h("td.num", {}, ran ? `${ms.toFixed(1)} ms` : "–"), h("td", {}, inline([why, ...figures(rest)].filter(Boolean).join(" · ")))),
  );
  return h("details.stages", { open: true }, h("summary", {}, "Stages"), h("table", {}, h("tbody", {}, rows)));
}

function figures(rest) {
  return Object.entries(rest)
    .filter(([, value]) => value !== null && value !== undefined && !(typeof value === "object" && !Object.keys(value).length))
    .map(([name, value]) => `${name} ${shown(value)}`);
}

function shown(value) {
  if (typeof value === "number") return String(Number(value.toPrecision(4)));
  if (Array.isArray(value)) return value.map(shown).join(", ");
  if (value && typeof value === "object") return `(${Object.entries(value).map(([name, each]) => `${name} ${shown(each)}`).join(", ")})`;
  return String(value);
}

const keyOf = ({ q, mode, sort, similar, explain, filters }) => JSON.stringify([q, mode, sort, similar, explain, filters]);

export const titleOf = (route) => (route.similar ? "Similar documents · gnod" : route.q ? `${route.q} · gnod` : "gnod");

export const similarTo = (hit) => refOf(hit.collection, hit.path);

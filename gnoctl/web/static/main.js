/** Starts the page: creates the views, shows the view that the address names, and connects keys and changes to the views. */

import { refOf, rpc } from "./api.js";
import { Ask } from "./ask.js";
import { Beside } from "./beside.js";
import { $, button, fill, h, visible } from "./dom.js";
import { Filters } from "./filters.js";
import { showHelp } from "./help.js";
import { HitList } from "./hits.js";
import { actionOf } from "./keys.js";
import { follow } from "./live.js";
import { Reader, copyOf } from "./reader.js";
import { forget, opened } from "./recent.js";
import { MODES, address, addressOf as documentAddress, documentPath, fragmentOf, rewrite, start } from "./router.js";
import { Saving } from "./saving.js";
import { Search, similarTo, titleOf } from "./search.js";
import { count } from "./text.js";

const input = $("#query");
const wide = matchMedia("(min-width: 900px)");
const body = document.body;
let route = null;
let navigate = null;
let isPreview = false;

// Views

const reader = new Reader($("#reader"), {
  say,
  onClose: closeDocument,
  onSimilar: (doc) => similar(doc),
  onLinks: () => beside.flip(),
  onGraph: flipGraph,
  onMove: moveDocument,
  onPlace: (fragment) => {
    const { collection, path } = reader.open;
    navigate(address({ ...current(), graph: 0, doc: { collection, path, fragment } }));
  },
  onShown: (doc) => beside.show(doc?.ref ?? null),
});
const beside = new Beside($("#links"), {
  toggle: () => $("#reader .links-toggle"),
  onClosed: () => reader.body.focus({ preventScroll: true }),
});
const list = new HitList($("#hits"), input, {
  onOpen: (hit, isNewTab) => (isNewTab ? window.open(addressOf(hit)) : openHit(hit)),
  onSelect: (hit) => wide.matches && preview(hit),
  onEnd: () => search.more(),
});
const filters = new Filters({ root: $("#filters"), chosen: $("#chosen"), toggle: $("#filter-toggle") }, {
  onChange: (changes) => navigate(address({ ...current(), ...changes, view: "search", doc: null })),
  onOpen: () => search.countFilters(),
});
const search = new Search({
  input,
  list,
  filters,
  status: $("#count"),
  notices: $("#notices"),
  empty: $("#nothing"),
  onSettled: settled,
});
const saving = new Saving($("#save-toggle"), $("#save"), {
  onSaved: (name) => {
    say(`Saved: @${name} in a query runs it.`);
    search.loadSaved().catch(() => {});
  },
});
const ask = new Ask($("#answer"), $("#ask-status"), {
  onAnswer: (quote) => {
    if (route.doc || !wide.matches) return;
    if (quote) preview(quote, route.q);
    else reader.clear();
  },
});
/** Views that are loaded when they are first shown, as promises. */
const SHEETS = {
  browse: () => import("./browse.js").then(({ Browse }) => new Browse($("#browse"))),
  add: () => import("./adding.js").then(({ Adding }) => new Adding($("#add"), { say })),
  memories: () => import("./memories.js").then(({ Memories }) => new Memories($("#memories"), { say, onQuery: (q) => rewrite({ ...route, q }) })),
  collections: () => import("./collections.js").then(({ Collections }) => new Collections($("#collections"), { say })),
};
const sheets = {};

function show(next, state) {
  const before = route;
  route = next;
  body.dataset.view = next.view;
  body.classList.toggle("reading", Boolean(next.doc));
  drawModes();
  for (const link of document.querySelectorAll("nav.views a")) {
    const isHere = link.pathname === `/${next.view}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (next.view === "search") search.show(next);
  else search.leave();
  if (next.view === "ask") showAsk(next);
  const isOther = before && before.view !== next.view;
  showSheet(next, isOther);
  showDocument(next, state, before);
  for (const covered of [$("#left"), $(".top")]) covered.inert = Boolean(next.doc) && !wide.matches;
  setTitle(next);
}

async function showSheet(next, hasFocus) {
  for (const [view, loaded] of Object.entries(sheets)) if (view !== next.view) loaded.then((sheet) => sheet.hide?.());
  if (!SHEETS[next.view]) return;
  const sheet = await (sheets[next.view] ??= SHEETS[next.view]());
  if (route !== next) return;
  sheet.show(next);
  if (hasFocus) $(`#${next.view} h1`).focus();
}

function showAsk(next) {
  input.value = next.q;
  ask.show(next);
  if (!next.doc && !next.q) input.focus();
}

function showDocument(next, state, before) {
  list.opened(next.doc);
  if (!next.doc || !next.graph) drawGraph(false);
  if (!next.doc) {
    // After going back from a document to its list, the document stays beside it on a wide screen.
    if (before?.doc && before.view === next.view && wide.matches) isPreview = true;
    else if (!before || !isPreview) reader.clear();
    return;
  }
  isPreview = false;
  const line = state.line ?? null;
  reader.show(next.doc, next.q, { line }).then(() => {
    if (route !== next) return;
    setTitle(next);
    const { document, error } = reader.open ?? {};
    if (error?.status === 404) forget(next.doc);
    else if (document && !error) opened({ ...next.doc, title: document.title });
    if (!wide.matches) $("#reader h1")?.focus({ preventScroll: true });
    showGraph(next, next.graph > 0 && !before?.graph);
  });
}

function setTitle(next) {
  const name = { ask: "Ask", add: "Add a folder", browse: "Browse", collections: "Collections", memories: "Memories" }[next.view];
  if (next.doc) document.title = visible(`${(reader.open?.path === next.doc.path && reader.open.document?.title) || next.doc.path} · gnod`);
  else document.title = next.view === "search" ? titleOf(next) : next.view === "ask" && next.q ? `${next.q} · gnod` : `${name} · gnod`;
}

/** The current search. While the user types, it is ahead of the address. */
const current = () => (route.view === "search" && search.route ? { ...search.route, doc: route.doc } : route);

const addressOf = (hit) => address({ ...current(), view: "search", graph: 0, doc: { collection: hit.collection, path: hit.path, fragment: fragmentOf(hit) } });

function openHit(hit) {
  if (!hit) return;
  search.settleNow();
  navigate(addressOf(hit));
  if (wide.matches) reader.body.focus({ preventScroll: true });
}

/** Show a hit in the reader without leaving the list: the address of the search stays. */
function preview(hit, q = search.route.q) {
  isPreview = true;
  body.classList.remove("reading");
  drawGraph(false);
  reader.show({ collection: hit.collection, path: hit.path, fragment: fragmentOf(hit) }, q);
}

/** On a wide screen, show the first of new results beside them, unless the user reads something. */
function settled(hit, { isTyped, keep }) {
  list.opened(route.doc);
  saving.offer(search.route);
  if (keep || route.view !== "search" || !wide.matches) return;
  if (isTyped) route = { ...search.route, doc: null };
  if (route.doc) return;
  if (hit && (search.route.q || search.route.similar)) preview(hit);
  else reader.clear();
}

function closeDocument() {
  if (route.doc) navigate(address({ ...route, doc: null }));
  isPreview = false;
  reader.clear();
  if (wide.matches) input.focus({ preventScroll: true });
}

const similar = (doc) => doc && navigate(address({ ...current(), view: "search", q: "", doc: null, similar: similarTo(doc) }));

// The graph of a document. It has an address, so the user can go back to it.

let graph = null;

async function showGraph(next, hasFocus) {
  const isShown = drawGraph(Boolean(next.doc && next.graph));
  if (!isShown) return;
  const { Graph } = await import("./graph.js");
  graph ??= new Graph($("#graph"), { onOpen: (uri) => navigate(documentAddress(uri)), onDepth: (depth) => navigate(address({ ...route, graph: depth }), { replace: true }) });
  if (route === next) graph.show(refOf(next.doc.collection, next.doc.path), next.graph, { hasFocus });
}

/** Show the graph instead of the text, or the text again. */
function drawGraph(isShown) {
  $("#graph").hidden = !isShown;
  reader.body.hidden = isShown;
  $("#reader .graph-toggle")?.setAttribute("aria-pressed", String(isShown));
  if (!isShown) graph?.hide();
  return isShown;
}

function flipGraph() {
  const doc = route.doc ?? reader.open;
  if (!doc) return;
  const { collection, path, fragment } = doc;
  navigate(address({ ...current(), doc: { collection, path, fragment }, graph: route.doc && route.graph ? 0 : 1 }));
  if (!route.graph) reader.body.focus({ preventScroll: true });
}

// Modes and theme

function drawModes() {
  const chosen = route.view === "ask" ? "ask" : current().mode;
  const tabs = [...Object.entries(MODES), ["ask", "Ask"]];
  const buttons = tabs.map(([mode, label]) => button(label, () => setMode(mode), { class: "mode", "aria-pressed": String(mode === chosen) }));
  fill($("#modes"), buttons);
  input.placeholder = chosen === "ask" ? "Ask a question" : "Search your documents";
}

function setMode(mode) {
  const q = input.value.trim();
  if (route.view === "search") search.settleNow(); // so that going back restores the typed query
  if (mode === "ask") navigate(address({ ...current(), view: "ask", q, doc: null }));
  else navigate(address({ ...current(), view: "search", q, mode, doc: null }));
  input.focus();
}

function nextMode() {
  const modes = Object.keys(MODES);
  setMode(modes[(modes.indexOf(current().mode) + 1) % modes.length]);
}

const THEMES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

function drawTheme() {
  const chosen = document.documentElement.dataset.theme ?? "";
  $("#theme").title = THEMES[chosen];
  $("#theme").setAttribute("aria-label", THEMES[chosen]);
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const chosen = names[(names.indexOf(document.documentElement.dataset.theme ?? "") + 1) % names.length];
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  try {
    localStorage.setItem("theme", chosen);
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
  drawTheme();
  say(THEMES[chosen]);
}

// Messages

let saidUntil = null;

function say(text) {
  const toast = $("#toast");
  toast.textContent = visible(text);
  toast.classList.add("shown");
  clearTimeout(saidUntil);
  saidUntil = setTimeout(() => toast.classList.remove("shown"), 4000);
}

function drawState({ freshness, embedding }) {
  const unreadable = freshness.failed ? `${count(freshness.failed, "file")} could not be read` : null;
  const model = embedding?.model ? `model: ${embedding.model}` : null;
  fill($("#state"), h("span.dot"), h("span", {}, freshness.state));
  $("#state").dataset.state = freshness.current ? "current" : "behind";
  $("#state").title = [freshness.state, unreadable, model].filter(Boolean).join("; ");
}

function daemon({ available, message }) {
  const wasAway = !$("#banner").hidden;
  $("#banner").hidden = available;
  fill($("#banner"), available ? "" : message || "The daemon does not answer. The page tries again by itself.");
  if (available && wasAway) again();
}

/** Load the shown view again when the daemon is back. */
function again() {
  say("Connected again.");
  search.refresh();
  beside.changed();
  graph?.changed();
  for (const loaded of Object.values(sheets)) loaded.then((sheet) => sheet.changed?.());
}

function changed({ indexed, removed, failed, freshness, embedding }) {
  drawState({ freshness, embedding });
  if (indexed.length || removed.length || failed.length) {
    search.refresh();
    const isOpen = (each) => reader.open && each.collection === reader.open.collection && each.path === reader.open.path;
    if (indexed.some(isOpen)) reader.changed(false);
    else if (removed.some(isOpen)) reader.changed(true);
    beside.changed();
    graph?.changed();
  }
  for (const loaded of Object.values(sheets)) loaded.then((sheet) => sheet.changed?.());
}

// Keys

const focusInput = () => {
  input.focus();
  input.select();
};

/** The object of the keys for copying and opening: the open document, else the selected hit. */
const chosen = () => (route.doc || route.view !== "search" ? reader.place() : (list.current ?? reader.place()));

const ACTIONS = {
  focus: focusInput,
  down: () => list.move(1),
  up: () => list.move(-1),
  pageDown: () => list.move(8),
  pageUp: () => list.move(-8),
  enter,
  escape,
  help: showHelp,
  filters: () => route.view === "search" && filters.toggle(),
  mode: nextMode,
  ask: () => setMode("ask"),
  explain: () => filters.onChange({ explain: !current().explain }),
  similar: () => similar(route.doc ?? list.current ?? reader.open),
  copy: async () => copyOf(await chosen(), "path", say),
  cite: async () => copyOf(await chosen(), "citation", say),
  openFile: () => reader.openFile(),
  nextMatch: () => reader.step(1),
  previousMatch: () => reader.step(-1),
  links: () => $("#reader .links-toggle")?.click(),
  graph: () => $("#reader .graph-toggle")?.click(),
  capture: writeNote,
};

async function writeNote() {
  const { showCapture } = await import("./capture.js");
  showCapture({ say, preferred: (route.doc ?? reader.open)?.collection });
}

/** Rename or move the open document, then show it at its new place, with a button to undo. */
async function moveDocument({ collection, path }) {
  const { showMove } = await import("./moving.js");
  const show = (now) => navigate(documentPath(collection, now), { replace: true });
  const undo = async () => {
    try {
      await rpc("document.unmove");
      show(path);
      say("The document and the links are as before.");
    } catch (error) {
      say(error.message);
    }
  };
  showMove({ collection, path }, {
    onMoved(now) {
      show(now);
      reader.tell(`Moved here from ${path}. `, button("Undo", undo, { class: "link" }));
    },
  });
}

function enter() {
  const q = input.value.trim();
  if (route.view === "ask") {
    if (q) navigate(address({ ...route, q, doc: null }));
  } else if (route.view === "search") openHit(list.current);
  else navigate(address({ ...route, view: "search", q, why: "", doc: null }));
}

function escape() {
  if (filters.leave()) return;
  if ($("#links").contains(document.activeElement)) beside.flip();
  else if (route.doc && route.graph) flipGraph();
  else if (route.doc) closeDocument();
  else if (document.activeElement !== input) input.focus();
  else if (input.value) {
    input.value = "";
    input.dispatchEvent(new Event("input"));
  }
}

document.addEventListener("keydown", (event) => {
  if ($("dialog[open]")) {
    if (event.key !== "F1") return;
    event.preventDefault();
    return $("dialog[open]").close();
  }
  const isWriting = event.target.matches?.("input, textarea, select");
  const action = actionOf(event, { isWriting, isSearching: event.target === input });
  if (!action || action === "none") return;
  if (action === "escape" && isWriting && event.target !== input) return event.target.blur();
  event.preventDefault();
  ACTIONS[action]();
});

// This runs before the search sees the typed text: a question is not searched, typing in another view leads to the search, and the open
// document becomes a preview like any other.
input.addEventListener("input", (event) => {
  if (route.view !== "search") event.stopImmediatePropagation();
  if (["add", "browse", "collections", "memories"].includes(route.view)) navigate(address({ ...route, view: "search", q: input.value.trim(), why: "", doc: null }));
  else if (route.view === "search" && route.doc) {
    isPreview = true;
    route = { ...route, doc: null };
    body.classList.remove("reading");
  }
}, { capture: true });

// Store the reading position with the entry of the history, for going back.
let remembered = null;
$("#reader .reader-body").addEventListener("scroll", () => {
  clearTimeout(remembered);
  remembered = setTimeout(() => route.doc && reader.line && history.replaceState({ ...history.state, line: reader.line }, ""), 250);
}, { passive: true });

$("#theme").addEventListener("click", nextTheme);
$("#help-button").addEventListener("click", showHelp);
$("#capture-button").addEventListener("click", writeNote);
wide.addEventListener("change", () => show(route, history.state ?? {}));

drawTheme();
navigate = start(show);
search.loadSaved().catch(() => {});
follow({ state: (state) => drawState(state), changed, daemon });
if (!route.doc && ["search", "ask"].includes(route.view)) input.focus();
if (location.pathname === "/") beginIfEmpty().catch(() => {});

/** Without any folder, the only thing to do is to add one. */
async function beginIfEmpty() {
  const { collections, attached } = await rpc("collection.list");
  if (!collections.length && !attached.length && location.pathname === "/") navigate("/add", { replace: true });
}

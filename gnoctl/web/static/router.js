/** Converts addresses to routes and back. A route describes everything that is shown. */

const SCHEME = /^gno:\/\//;
/** The built-in fields that are filters. Fields of the documents' frontmatter have a prefix in addresses. */
export const FIELDS = ["collection", "folder", "ext", "type", "tag", "lang", "author", "date", "after"];
const OWN = "f.";
export const DEEPEST = 3;
export const MODES = { hybrid: "Hybrid", keyword: "Keyword", vector: "Vector" };

/**
 * Return the route of a location: `view` (search, ask, add, browse, collections, memories), the query, and `doc`, the open document, with
 * its `fragment` (`L10`, `page=3`), and `graph`: the depth of the graph around it, 0 for its text.
 */
export function parse(location) {
  const params = new URLSearchParams(location.search);
  const route = {
    view: "search",
    q: params.get("q") ?? "",
    mode: MODES[params.get("mode")] ? params.get("mode") : "hybrid",
    sort: params.get("sort") ?? "",
    similar: params.get("similar") ?? "",
    explain: params.has("explain"),
    filters: filtersOf(params),
    doc: null,
    why: params.get("why") ?? "",
    graph: 0,
  };
  const [first, ...rest] = location.pathname.split("/").filter(Boolean).map(decoded);
  if (first === "doc" && rest.length > 1) {
    route.doc = { collection: rest[0], path: rest.slice(1).join("/"), fragment: decoded(location.hash.slice(1)) };
    route.graph = Math.min(DEEPEST, Number.parseInt(params.get("graph") ?? "", 10) || 0);
    if (params.has("ask")) return { ...route, view: "ask", q: params.get("ask") };
  } else if (["ask", "add", "browse", "collections", "memories"].includes(first)) {
    route.view = first;
  }
  return route;
}

function filtersOf(params) {
  const filters = Object.create(null);
  for (const [name, value] of params) {
    const field = FIELDS.includes(name) ? name : name.startsWith(OWN) ? name.slice(OWN.length).toLowerCase() : "";
    if (field) (filters[field] ??= []).push(value);
  }
  return filters;
}

/** Return the address of a route. */
export function address(route) {
  const params = new URLSearchParams();
  const isAsk = route.view === "ask";
  if (route.q && !["add", "browse", "collections"].includes(route.view)) params.set(isAsk && route.doc ? "ask" : "q", route.q);
  else if (isAsk && route.doc) params.set("ask", "");
  if (route.view === "search") {
    if (route.mode && route.mode !== "hybrid") params.set("mode", route.mode);
    for (const name of ["sort", "similar"]) if (route[name]) params.set(name, route[name]);
    for (const [name, values] of Object.entries(route.filters ?? {})) for (const value of values) params.append(FIELDS.includes(name) ? name : OWN + name, value);
    if (route.explain) params.set("explain", "1");
  }
  if (route.doc && route.graph > 0) params.set("graph", route.graph);
  if (route.why) params.set("why", route.why);
  const query = params.toString();
  return `${path(route)}${query ? `?${query}` : ""}${route.doc?.fragment ? `#${encodeURI(route.doc.fragment)}` : ""}`;
}

export function documentPath(collection, name) {
  return `/doc/${[collection, ...name.split("/")].map(encodeURIComponent).join("/")}`;
}

/** The address on this page for a `gno://` address. */
export const addressOf = (uri, fragment = "") => `/doc/${uri.replace(SCHEME, "")}${fragment ? `#${encodeURI(fragment)}` : ""}`;

/** `collection/path` of a `gno://` address, to show. */
export const placeOf = (uri) => uri.replace(SCHEME, "").split("/").map(decoded).join("/");

/** The part after `#` for a hit, a quote or a source: its page, or its line. */
export function fragmentOf(item) {
  if (item.location?.page) return `page=${item.location.page}`;
  return item.line ? `L${item.line}` : "";
}

/** Report each change of the address, and each click on a link of this page, to `onRoute(route, state)`. */
export function start(onRoute) {
  history.scrollRestoration = "manual";
  const show = () => onRoute(parse(location), history.state ?? {});
  window.addEventListener("popstate", show);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || link.target || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const url = new URL(link.href, location.href);
    if (url.origin !== location.origin) return Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
    if (/^\/(api|static)\//.test(url.pathname)) return;
    event.preventDefault();
    navigate(url.pathname + url.search + url.hash);
  });
  show();
  function navigate(to, { replace = false } = {}) {
    if (to === location.pathname + location.search + location.hash) replace = true;
    history[replace ? "replaceState" : "pushState"]({}, "", to);
    show();
  }
  return navigate;
}

/** Change the address without a new view. */
export function rewrite(route) {
  history.replaceState(history.state, "", address(route));
}

function path(route) {
  if (route.doc) return documentPath(route.doc.collection, route.doc.path);
  return { search: route.q || route.similar || Object.keys(route.filters ?? {}).length ? "/search" : "/", ask: "/ask", add: "/add", browse: "/browse", collections: "/collections", memories: "/memories" }[route.view];
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The documents that were opened last in this browser. An empty query shows them above the list. */

import { h } from "./dom.js";
import { documentPath } from "./router.js";
import { store, stored } from "./storage.js";

const MOST = 6;
const KEY = "opened";

export function opened({ collection, path, title }) {
  store(KEY, [{ collection, path, title }, ...others(collection, path)].slice(0, MOST));
}

export function forget({ collection, path }) {
  store(KEY, others(collection, path));
}

export function recentlyOpened() {
  const links = list().map(({ collection, path, title }) => h("li", {}, h("a", { href: documentPath(collection, path), title: `${collection}/${path}`, dir: "auto" }, title || path)));
  return links.length ? h("section.recent", { "aria-labelledby": "recent" }, h("h2", { id: "recent" }, "Opened last"), h("ul", {}, links)) : null;
}

const list = () => (Array.isArray(stored(KEY)) ? stored(KEY) : []);

const others = (collection, path) => list().filter((each) => each.collection !== collection || each.path !== path);

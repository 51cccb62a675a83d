/** The help: keys, and what a query can contain. */

import { showDialog } from "./dialog.js";
import { h, key } from "./dom.js";
import { KEYS } from "./keys.js";

const QUERIES = [
  ["blue green", "documents with all words first"],
  ['"blue green"', "this phrase"],
  ["deploy -kubernetes", "without a word"],
  ["back*", "words with this beginning; also *up, *ck*"],
  ["tag:work -status:done", "fields of the document; also of its frontmatter"],
  ["after:2026-01 ext:pdf", "dates and file types"],
  ["symbol:backoff", "a function or class, by its name"],
  ["@todo", "a saved search"],
];

export function showHelp() {
  const dialog = showDialog("Keys and queries", content());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

const content = () =>
  h("div.columns", {}, h("dl.keys", {}, KEYS.map(([keys, what]) => h("div", {}, h("dt", {}, keys.split(" ").map(key)), h("dd", {}, what)))), h("dl.keys.queries", {}, QUERIES.map(([query, what]) => h("div", {}, h("dt", {}, h("code", {}, query)), h("dd", {}, what)))));

/** Texts: marks, words to highlight, places, citations, numbers in words. Pure, except that `marked` creates nodes. */

import { visible } from "./dom.js";

/** Turn ranges of code points, as the protocol counts them, into ranges of UTF-16, as JavaScript does. */
export function inUtf16(text, marks) {
  if (!/[\ud800-\udbff]/.test(text)) return marks;
  const at = [];
  let index = 0;
  for (const character of text) {
    at.push(index);
    index += character.length;
  }
  at.push(index);
  return marks.map(([start, end]) => [at[start] ?? index, at[end] ?? index]);
}

/** Return the nodes of a text with its marked ranges, in UTF-16, in `<mark>`. */
export function marked(text, marks) {
  const nodes = [];
  let at = 0;
  for (const [start, end] of marks.toSorted((a, b) => a[0] - b[0])) {
    if (start < at || end <= start || start >= text.length) continue;
    if (start > at) nodes.push(text.slice(at, start));
    const mark = document.createElement("mark");
    mark.textContent = visible(text.slice(start, end));
    nodes.push(mark);
    at = end;
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

/** Return a passage, with its marks, without blank lines and with its broken paragraphs joined. */
export function compact(text, marks) {
  const at = inUtf16(text, marks);
  // Join the lines of a paragraph; lists, headings and tables keep their lines.
  const joined = text.replace(/([^\n]{60})\n(?=[\p{L}"“(])/gu, "$1 ");
  const blank = [...joined.matchAll(/^\s*\n/gm)].map((found) => [found.index, found[0].length]);
  const moved = (place) => place - blank.reduce((sum, [start, length]) => sum + Math.min(Math.max(place - start, 0), length), 0);
  return [joined.replace(/^\s*\n/gm, ""), at.map((range) => range.map(moved))];
}

/** Return a pattern for the words of `document.matches`, or null if there are none. */
export function wordPattern(words) {
  const longestFirst = words.toSorted((a, b) => b.length - a.length).map((word) => {
    const [, before, inside, after] = /^(\*?)(.*?)(\*?)$/s.exec(word);
    const escaped = inside.replace(/[\\^$.*+?()[\]{}|\/-]/g, "\\$&").replace(/ /g, "[\\s|*_`\\\\]+");
    return `${before ? "" : "(?<![\\p{L}\\p{N}])"}${escaped}${after ? "" : "(?![\\p{L}\\p{N}])"}`;
  });
  return longestFirst.length ? new RegExp(longestFirst.join("|"), "giu") : null;
}

/** Return the nodes of a message, or of a quote, in which `code` and **emphasis** are marked as in Markdown. */
export function inline(text) {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((part) => {
    const name = /^\*\*.+\*\*$/s.test(part) ? "strong" : /^`.+`$/s.test(part) ? "code" : null;
    if (!name) return part;
    const element = document.createElement(name);
    element.textContent = visible(part.replace(/^(\*\*|`)|(\*\*|`)$/g, ""));
    return element;
  });
}

/** `notes/a.md:12`, or with a page instead of the line: the reference that `gnoctl open` takes. */
export function place(hit) {
  return `${hit.collection}/${hit.path}:${hit.location?.label || hit.line}`;
}

export function citation(hit) {
  const fragment = hit.location?.fragment;
  const at = hit.location?.label || (hit.line ? `line ${hit.line}` : "");
  return `${hit.title}${at ? `, ${at}` : ""}. ${hit.uri}${fragment ? `#${fragment}` : hit.line && !hit.location ? `:${hit.line}` : ""}`;
}

export function lines(item) {
  if (item.location?.label) return item.location.label;
  return item.line === item.end_line ? `${item.line}` : `${item.line}–${item.end_line}`;
}

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);

export const count = (value, noun, plural = `${noun}s`) => `${number(value)} ${value === 1 ? noun : plural}`;

/** The number of matches in a document. If counting stopped early, it is a lower bound. */
export const counted = (value, isExact, noun, plural) => count(value, noun, plural).replace(" ", isExact ? " " : "+ ");

export function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < 4) [value, unit] = [value / 1000, unit + 1];
  return `${unit ? value.toFixed(1) : value} ${units[unit]}`;
}

const STEPS = [[60, "s"], [60, "min"], [24, "h"], [365, "d"], [Infinity, "y"]];

export function ago(timestamp, now = Date.now()) {
  if (!timestamp) return "never";
  const then = Date.parse(timestamp);
  if (Number.isNaN(then)) return timestamp;
  let amount = Math.max(0, (now - then) / 1000);
  for (const [step, unit] of STEPS) {
    if (amount < step) return unit === "s" && amount < 5 ? "now" : `${Math.floor(amount)} ${unit} ago`;
    amount /= step;
  }
  return timestamp;
}

export function day(timestamp) {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 10);
}

export function corrected({ written, searched }) {
  return searched.startsWith("*")
    ? ["Showing results for longer words with ", { strong: written }]
    : ["Showing results for ", { strong: searched }, ` (you wrote “${written}”)`];
}

/** What a search may have missed, in the daemon's words, or null if the index is current. */
export const missedBy = ({ current, state }) => (current ? null : state);

// Links of a file: which one holds the cursor, and how the places that lead to a file are listed. Must not depend on VS Code.
"use strict";

const { visible } = require("./words");

/** Return the link of a line that holds the column, or the next one, or the last. */
function linkAt(links, text, column) {
  let from = 0;
  for (const link of links) {
    const start = text.indexOf(link.target, from);
    if (start < 0) {
      continue;
    }
    // The brackets that close a link follow its target, after the words that are shown.
    const end = start + link.target.length;
    const closing = /[\])]+/g;
    closing.lastIndex = end;
    from = closing.test(text) ? closing.lastIndex : end;
    if (column < from) {
      return link;
    }
  }
  return links.at(-1);
}

/** Return the line that a place of a fragment is at, from 1: a heading, else the text itself; 1 if it is not there. */
function lineOf(text, fragment) {
  const name = fragment.replace(/^\^/, "").toLowerCase();
  const lines = text.toLowerCase().split("\n");
  const heading = lines.findIndex((line) => /^\s*[#=*]+\s/.test(line) && line.replace(/^\s*[#=*]+\s+/, "").startsWith(name));
  return 1 + Math.max(heading >= 0 ? heading : lines.findIndex((line) => line.includes(name)), 0);
}

/** Tell whether a text may make the browser open an address. */
const isWeb = (target) => /^(https?:\/\/|mailto:)/.test(target);

/** Return a place for a list to choose from. */
const item = (place) => ({
  label: `${place.uri.replace(/^gno:\/\//, "")}:${place.line}`,
  detail: visible(place.passage),
  place,
});

module.exports = { isWeb, item, lineOf, linkAt };

// Links of a file: find the link at the cursor, and list the places that link to a file. Must not depend on VS Code.
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

/** Return the line of a fragment, from 1: of the heading, else of the text itself; 1 if it is missing. */
function lineOf(text, fragment) {
  const name = fragment.replace(/^\^/, "").toLowerCase();
  const lines = text.toLowerCase().split("\n");
  const heading = lines.findIndex((line) => /^\s*[#=*]+\s/.test(line) && line.replace(/^\s*[#=*]+\s+/, "").startsWith(name));
  return 1 + Math.max(heading >= 0 ? heading : lines.findIndex((line) => line.includes(name)), 0);
}

/** Return whether a text may make the browser open an address. */
const isWeb = (target) => /^(https?:\/\/|mailto:)/.test(target);

/** Return a place for a list to choose from. */
const item = (place) => ({
  label: `${place.uri.replace(/^gno:\/\//, "")}:${place.line}`,
  detail: visible(place.passage),
  place,
});

module.exports = { isWeb, item, lineOf, linkAt };

// The daemon's results in words. Pure: must not depend on VS Code or the wire.
"use strict";

const CONVERTED = new Set(["text/html", "text/csv", "text/tab-separated-values"]);
const DATA = new Set(["application/json", "application/yaml", "application/toml"]);

/** Return a text without control characters and changes of direction, which would change how the rest reads. */
function visible(text) {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (found) => (/\s/.test(found) ? " " : "\ufffd"));
}

/** Return the line of the snippet that has the first match. Marks count characters, JavaScript counts UTF-16 units. */
function preview(hit) {
  const first = hit.marks.length ? hit.marks[0][0] : 0;
  const characters = Array.from(hit.snippet);
  const start = first ? characters.lastIndexOf("\n", first - 1) + 1 : 0;
  const end = characters.indexOf("\n", first);
  return visible(characters.slice(start, end < 0 ? undefined : end).join(""));
}

function place(hit) {
  const within = hit.definition ? ` in ${hit.definition.label}` : "";
  return visible(`${hit.collection}/${hit.path}:${hit.location?.label ?? hit.line}${within}${also(hit)}`);
}

/** Return the other paths of the same file; "" without copies. */
function also({ also: copies = [], also_left_out: more = 0 }) {
  const paths = copies.map((copy) => `${copy.collection}/${copy.path}`).join(", ");
  return paths && `  also: ${paths}${more ? ` and ${more} more` : ""}`;
}

/** Return whether the file itself is text with the same lines as the hit. */
function isText(hit) {
  return DATA.has(hit.mime) || (hit.mime.startsWith("text/") && !CONVERTED.has(hit.mime));
}

function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Return the note beside the hits of a search: whether the index is behind, and what was left out; "" if there is none. */
function remarks(result) {
  const { current, state } = result?.freshness ?? { current: true };
  return [...(current ? [] : [state]), ...(result?.notes ?? [])].join("; ");
}

/** Return the result of `index.status` as lines. */
function status(answer) {
  const head = [count(answer.documents, "document"), count(answer.chunks, "chunk")].join(", ");
  const lines = [`Index ${answer.index}: ${head}; ${answer.freshness.state}`];
  for (const each of answer.collections) {
    const state = each.available ? `${each.indexed} of ${each.on_disk ?? each.indexed} indexed` : (each.reason ?? "not there");
    const failed = each.failed ? `, ${count(each.failed, "file")} could not be read (gnoctl status --errors)` : "";
    lines.push(`${each.name}: ${state}${failed}  ${visible(each.path)}`);
  }
  const { state, pending, reason } = answer.embedding;
  if (state === "embedding") {
    lines.push(`embedding: ${count(pending, "chunk")} left`);
  } else if (reason) {
    lines.push(`embedding is ${state}: ${reason}`);
  }
  return lines;
}

module.exports = { visible, preview, place, isText, remarks, status };

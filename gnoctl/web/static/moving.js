/** Renames or moves the open document: first shows the changes to links in other notes. Can undo the last move. */

import { isAbort, refOf, rpc } from "./api.js";
import { fill, h } from "./dom.js";
import { showDialog } from "./dialog.js";
import { Field, wordsOf } from "./fields.js";
import { placeOf } from "./router.js";
import { count, number } from "./text.js";

const PAUSE_MS = 300;
const MOST_LINES = 400;

/** `onMoved(path)`: the new path of the document. */
export function showMove({ collection, path }, { onMoved }) {
  const old = refOf(collection, path);
  const to = new Field(`New path in ${collection}`, { name: "new-path", required: true, value: path, maxlength: 1024, dir: "auto" });
  const changes = h("div.changes", { "aria-live": "polite", tabindex: "0", role: "region", "aria-label": "What changes" });
  const move = h("button.button.primary", { type: "submit", disabled: true }, "Move");
  const form = h("form.dialog-form", {}, to.element, changes, h("p.tools", {}, move, h("span.about", {}, "Links in other notes are rewritten. You can undo it.")));
  const dialog = showDialog("Rename or move", form);
  let [pause, abort, shown] = [null, null, null];

  const look = async () => {
    abort?.abort();
    const { signal } = (abort = new AbortController());
    try {
      const found = await rpc("document.move", { old, new: refOf(collection, to.value), dry_run: true }, { signal });
      shown = { path: to.value, digest: found.digest };
      fill(changes, what(found));
      move.disabled = false;
    } catch (error) {
      if (!isAbort(error)) to.fail(wordsOf(error));
    }
  };
  to.input.addEventListener("input", () => {
    clearTimeout(pause);
    abort?.abort();
    move.disabled = true;
    fill(changes);
    if (to.value && to.value !== path) pause = setTimeout(look, PAUSE_MS);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (move.disabled) return;
    move.disabled = true;
    try {
      const { source, destination } = await rpc("document.move", { old, new: refOf(collection, shown.path), digest: shown.digest });
      dialog.close();
      onMoved(destination.slice(source.length - path.length));
    } catch (error) {
      await look(); // files have changed, so the shown changes may be wrong
      to.refuse(wordsOf(error));
    }
  });
  to.input.setSelectionRange(path.lastIndexOf("/") + 1, path.length - (/\.\w+$/.exec(path)?.[0].length ?? 0));
  to.input.focus();
}

function what({ links, files, diff, left }) {
  const lines = diff.split("\n");
  return [
    h("p", {}, links ? `${count(links, "link")} in ${count(files, "file")} will be rewritten:` : "No link needs to be rewritten."),
    left.length ? h("p.hint.warn", {}, `${count(left.length, "link")} cannot be rewritten:`) : null,
    left.length ? h("ul.left", {}, left.slice(0, MOST_LINES).map((each) => h("li", {}, `${placeOf(each.uri)}:${each.line} ${each.target}: ${each.problem}`))) : null,
    diff ? h("pre.diff", {}, lines.slice(0, MOST_LINES).map((line) => h(`span${line.startsWith("+") ? ".added" : line.startsWith("-") ? ".gone" : ""}`, {}, `${line}\n`))) : null,
    lines.length > MOST_LINES ? h("p.about", {}, `and ${number(lines.length - MOST_LINES)} more lines`) : null,
  ];
}

/** Writes a note to the inbox of a collection. The dialog keeps the typed text when it is closed. */

import { rpc } from "./api.js";
import { fill, h } from "./dom.js";
import { showDialog } from "./dialog.js";
import { Field, wordsOf } from "./fields.js";
import { placeOf } from "./router.js";

let draft = "";
let last = null;

/** `preferred`: the collection of the open document. */
export async function showCapture({ say, preferred }) {
  const form = h("form.dialog-form", {}, h("p.about", {}, "…"));
  const dialog = showDialog("New note", form);
  try {
    const { collections } = await rpc("collection.list");
    if (!collections.length) fill(form, h("p", {}, "There is no folder to write to yet."), h("p.tools", {}, h("a.button.primary", { href: "/add", onclick: () => dialog.close() }, "Add a folder")));
    else draw(form, collections.map((each) => each.name), { preferred, dialog, say });
  } catch (error) {
    fill(form, h("p.error", { role: "alert" }, wordsOf(error)));
  }
}

function draw(form, names, { preferred, dialog, say }) {
  const text = new Field("Note, in Markdown", { rows: 9, required: true, maxlength: 1_000_000, dir: "auto", placeholder: "Its first line becomes its name." }, "textarea");
  const where = new Field("Collection", {}, "select");
  const chosen = names.find((name) => name === last) ?? names.find((name) => name === preferred) ?? names[0];
  fill(where.input, names.map((name) => h("option", { value: name, selected: name === chosen }, name)));
  where.element.hidden = names.length < 2;
  text.input.value = draft;
  text.input.addEventListener("input", () => (draft = text.input.value));
  const save = h("button.button.primary", { type: "submit" }, "Save");
  text.input.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.requestSubmit());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      last = where.value;
      const { uri } = await rpc("document.capture", { text: text.input.value, collection: last });
      draft = "";
      dialog.close();
      say(`Saved: ${placeOf(uri)}`);
    } catch (error) {
      text.refuse(wordsOf(error));
    } finally {
      save.disabled = false;
    }
  });
  fill(form, text.element, where.element, h("p.tools", {}, save, h("span.about", {}, "Ctrl-Enter saves. Searches find the note at once.")));
  text.input.focus();
}

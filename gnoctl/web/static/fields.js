/** Form fields with their errors below, in the page's own words. Must not depend on methods of the daemon. */

import { fill, h } from "./dom.js";
import { inline } from "./text.js";

let made = 0;

export class Field {
  /** `properties`: of the input; `kind`: another element instead of `input`. */
  constructor(label, properties = {}, kind = "input") {
    const id = `field-${++made}`;
    this.input = h(kind, { id, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-error`, ...properties });
    this.error = h("p.error", { id: `${id}-error`, role: "alert" });
    this.element = h("div.field", {}, h("label", { for: id }, label), this.input, this.error);
    this.input.addEventListener("input", () => this.fail(""));
  }

  get value() {
    return this.input.value.trim();
  }

  /** Show an error; "" removes it. */
  fail(text) {
    fill(this.error, inline(text));
    this.input.setAttribute("aria-invalid", String(Boolean(text)));
  }

  /** Show why the input was refused, and let the user correct it. */
  refuse(text) {
    this.fail(text);
    this.input.focus();
  }
}

const WORDS = {
  folder_not_found: "There is no such folder. Correct the path, or choose a folder below.",
  folder_unreadable: "This folder cannot be opened. Is it a folder, and do you have permission to read it?",
  collection_exists: "Another collection has this name. Choose another name.",
  invalid_name: "Choose a name of small letters, digits, - and _ that begins with a letter or digit (at most 64).",
  collection_not_found: "There is no such collection.",
};

/** An error in words for the page. The daemon's own message may name commands of the terminal. */
export const wordsOf = (error) => WORDS[error.kind] ?? error.message;

/** Saves the current search under a name, for `@name` in any query. */

import { isAbort, rpc } from "./api.js";
import { button, fill, h } from "./dom.js";
import { countFilters, filterParams } from "./filters.js";
import { inline } from "./text.js";

export class Saving {
  /** `toggle` opens `form`; `onSaved(name)`. */
  constructor(toggle, form, { onSaved }) {
    Object.assign(this, { toggle, form, onSaved });
    this.name = h("input", { name: "name", required: true, maxlength: "64", pattern: "[a-z0-9_\\-]+", autocomplete: "off", "aria-label": "Name of the search", placeholder: "name" });
    this.error = h("p.error", { role: "alert" });
    fill(form, h("span", { "aria-hidden": "true" }, "@"), this.name, h("button.button.primary", { type: "submit" }, "Save"), button("Cancel", () => this.#open(false)), this.error);
    toggle.addEventListener("click", () => this.#open(form.hidden));
    form.addEventListener("submit", (event) => this.#save(event));
    form.addEventListener("keydown", (event) => event.key === "Escape" && this.#open(false));
  }

  /** Offer to save the search of the shown results, unless it is empty or already saved. */
  offer(route) {
    this.route = route;
    const isSearch = (route.q || countFilters(route.filters) > 0) && !route.similar && !/^@[\w-]+$/.test(route.q);
    this.toggle.hidden = !isSearch;
    if (!isSearch) this.#open(false);
  }

  #open(isOpen) {
    const hadFocus = this.form.contains(document.activeElement);
    this.form.hidden = !isOpen;
    this.toggle.setAttribute("aria-expanded", String(isOpen));
    this.error.textContent = "";
    if (isOpen) this.name.focus();
    else if (hadFocus) this.toggle.focus();
  }

  async #save(event) {
    event.preventDefault();
    const name = this.name.value.trim();
    try {
      await rpc("search.save", { name, query: this.route.q, ...filterParams(this.route.filters) });
    } catch (error) {
      if (!isAbort(error)) fill(this.error, inline(error.message));
      return;
    }
    this.name.value = "";
    this.#open(false);
    this.onSaved(name);
  }
}

/** The panel of links beside the document: whether it is open, and for which document. Loads its module when it is first opened. */

import { isAbort, rpc } from "./api.js";
import { store, stored } from "./storage.js";
import { number } from "./text.js";

const SETTLED_MS = 150;

export class Beside {
  /** `root`: the panel; `toggle()` returns the button of the document that opens it, or null; `onClosed()` moves the focus. */
  constructor(root, { toggle, onClosed }) {
    Object.assign(this, { root, toggle, onClosed });
    this.isOpen = stored("links") === "open";
    this.ref = null;
  }

  /** Another document is shown, or none. The request waits, so that it does not delay a user who skims a list. */
  show(ref) {
    Object.assign(this, { ref, shown: null });
    this.abort?.abort();
    this.abort = new AbortController();
    clearTimeout(this.pause);
    this.#draw();
    if (ref) this.pause = setTimeout(() => this.#load(), SETTLED_MS);
  }

  changed() {
    if (!this.ref) return;
    this.panel?.changed();
    this.#count();
  }

  /** Open the panel, with the focus in it, or close it. */
  async flip() {
    this.isOpen = !this.isOpen;
    store("links", this.isOpen ? "open" : "closed");
    this.#draw();
    if (!this.isOpen) return this.onClosed();
    await this.#load();
    this.root.querySelector("summary")?.focus({ preventScroll: true });
  }

  #draw() {
    this.root.hidden = !(this.isOpen && this.ref);
    this.toggle()?.setAttribute("aria-expanded", String(this.isOpen));
  }

  async #load() {
    const { ref, abort } = this;
    if (!ref) return;
    this.#count();
    if (!this.isOpen) return;
    const { LinksPanel } = await import("./links.js");
    this.panel ??= new LinksPanel(this.root, { onClose: () => this.flip() });
    if (this.ref !== ref || this.shown === ref) return;
    this.shown = ref;
    this.panel.show(ref, abort.signal);
  }

  async #count() {
    const { ref, abort } = this;
    try {
      const { total_links: links, total_backlinks: backlinks } = await rpc("document.links", { ref, limit: 1 }, { signal: abort.signal });
      const button = this.toggle();
      if (button && this.ref === ref) button.textContent = links + backlinks ? `Links ${number(links + backlinks)}` : "Links";
    } catch (error) {
      if (!isAbort(error)) this.toggle()?.setAttribute("title", error.message);
    }
  }
}

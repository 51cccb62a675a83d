/** Adds a folder, at the first run or later: choose it, see its files, and watch the indexing. */

import { isAbort, rpc } from "./api.js";
import { button, fill, h, nextLook } from "./dom.js";
import { Field, wordsOf } from "./fields.js";
import { ModelOffer } from "./offer.js";
import { count, inline, number } from "./text.js";

const PAUSE_MS = 200;
const POLL_MS = 1000;
// The offer depends on the documents that are indexed by then.
const OFFER_AFTER_MS = 15_000;
const MOST_KINDS = 8;
const ABOUT_THE_NAME = ["collection_exists", "invalid_name"];

export class Adding {
  constructor(root, { say }) {
    Object.assign(this, { root, say });
    this.offer = new ModelOffer();
    this.progress = h("section.progress", { "aria-live": "polite" });
    this.form = this.#form();
    fill(root, h("h1", { tabindex: "-1" }, "Add a folder"), this.form, this.progress, this.offer.element);
  }

  show() {
    if (!this.tree.firstChild) this.#openHome();
    if (!this.added) this.offer.show();
  }

  #form() {
    this.folder = new Field("Folder", { name: "path", required: true, list: "subfolders", placeholder: "/home/you/notes", oninput: () => this.#typed(), onchange: () => this.#look({ isChosen: true }) });
    this.name = new Field("Name of the collection", { name: "name", maxlength: 64 });
    this.names = h("datalist", { id: "subfolders" });
    this.tree = h("ul.tree");
    this.found = h("div.found", { "aria-live": "polite" });
    this.submit = h("button.button.primary", { type: "submit" }, "Add this folder");
    const about = h("p.about", {}, "Its files are neither moved nor changed. Nothing leaves this machine.");
    const choice = h("div.choice", {}, h("nav.tree-box", { "aria-label": "Your folders" }, this.tree), h("div", {}, this.name.element, this.submit, this.found));
    return h("form.adding", { onsubmit: (event) => this.#add(event) }, about, this.folder.element, this.names, choice);
  }

  // Choosing

  async #openHome() {
    try {
      const { path, folders } = await rpc("collection.folders");
      this.home = path;
      fill(this.tree, folders.map((name) => this.#node(`${path}/${name}`, name)));
    } catch (error) {
      fill(this.tree, h("li", {}, inline(error.message)));
    }
  }

  /** A folder of the tree. Opening it chooses it. */
  #node(path, name) {
    const below = h("ul");
    const open = async (event) => {
      if (!event.currentTarget.open || below.firstChild) return;
      const { folders, has_more: hasMore } = await rpc("collection.folders", { path }).catch(() => ({ folders: [] }));
      fill(below, folders.length ? folders.map((each) => this.#node(`${path}/${each}`, each)) : h("li.about", {}, "no folder inside"), hasMore ? h("li.about", {}, "and more: write the path above") : null);
    };
    const choose = (event) => {
      for (const each of this.tree.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
      event.currentTarget.setAttribute("aria-current", "true");
      this.folder.input.value = path;
      this.#look({ isChosen: true });
    };
    return h("li", {}, h("details", { ontoggle: open }, h("summary", { dir: "auto", onclick: choose }, name), below));
  }

  #typed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.#complete();
      this.#look();
    }, PAUSE_MS);
  }

  /** Offer the folders that begin with the typed text. */
  async #complete() {
    const parent = this.folder.value.slice(0, this.folder.value.lastIndexOf("/") + 1);
    if (!parent || parent === this.completed) return;
    this.completed = parent;
    const { folders } = await rpc("collection.folders", { path: parent }).catch(() => ({ folders: [] }));
    if (parent === this.completed) fill(this.names, folders.map((name) => h("option", { value: parent + name })));
  }

  /** Show the contents of the folder. While the user types its path, it need not exist. */
  async #look({ isChosen = false } = {}) {
    clearTimeout(this.pause);
    const path = this.folder.value;
    if (isChosen && path === this.looked) return;
    this.looked = path;
    this.abort?.abort();
    const { signal } = (this.abort = new AbortController());
    this.folder.fail("");
    fill(this.found, path ? h("p.about", {}, "Counting its files …") : null);
    if (!path) return;
    try {
      const found = await rpc("collection.preview", { path }, { signal });
      fill(this.found, contents(found));
      if (document.activeElement === this.name.input) return; // keep what the user types
      this.previewed = path;
      if (this.name.value === (this.proposed ?? "")) this.name.input.value = this.proposed = found.name;
    } catch (error) {
      if (isAbort(error)) return;
      this.looked = null;
      fill(this.found);
      if (isChosen) this.folder.fail(wordsOf(error));
    }
  }

  // Adding

  async #add(event) {
    event.preventDefault();
    this.submit.disabled = true;
    const path = this.folder.value;
    // The proposed name may still belong to another folder.
    const name = path !== this.previewed && this.name.value === this.proposed ? "" : this.name.value;
    try {
      const { collection } = await rpc("collection.add", { path, ...(name && { name }) });
      this.#reset();
      await this.#follow(collection.name);
    } catch (error) {
      (ABOUT_THE_NAME.includes(error.kind) ? this.name : this.folder).refuse(wordsOf(error));
    } finally {
      this.submit.disabled = false;
    }
  }

  /** Make room for the progress of the new collection. */
  #reset() {
    this.form.hidden = true;
    this.folder.input.value = this.name.input.value = this.proposed = "";
    this.looked = null;
    fill(this.found);
    for (const each of this.tree.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
  }

  /** Show the progress of a new collection until all its files are indexed. */
  async #follow(name) {
    this.added = name;
    this.addedAt = Date.now();
    while (this.added === name) {
      const status = await rpc("index.status").catch(() => null);
      const each = status?.collections.find((other) => other.name === name);
      if (status && !each) break; // it was removed
      const isDone = each && !each.pending && !status.syncing && each.last_sync;
      if (each) fill(this.progress, indexed(each, isDone, button("Add another folder", () => this.#another())));
      if (isDone || (each?.indexed && Date.now() - this.addedAt > OFFER_AFTER_MS)) this.offer.show();
      if (isDone || each?.available === false) break;
      await nextLook(this.root, POLL_MS);
    }
    if (this.added === name) this.added = null;
  }

  #another() {
    this.form.hidden = false;
    this.folder.input.focus();
  }
}

/** The files of a folder that would be read, and those that would not, by kind. */
function contents({ kinds, excluded, is_complete: isComplete, collections }) {
  const read = kinds.filter((each) => each.is_read);
  const unread = kinds.filter((each) => !each.is_read);
  const total = read.reduce((sum, each) => sum + each.files, 0);
  const left = [...unread.map(({ kind, files }) => `${kind} ${number(files)}`), excluded && `left out by rules ${number(excluded)}`].filter(Boolean);
  return [
    h("p", {}, h("strong", {}, `${isComplete ? "" : "At least "}${count(total, "file")}`), " to read"),
    h("p.chips", {}, read.slice(0, MOST_KINDS).map(({ kind, files }) => h("span.tag", {}, `${kind} ${number(files)}`)), read.length > MOST_KINDS ? h("span.tag", {}, `of other kinds ${number(read.slice(MOST_KINDS).reduce((sum, each) => sum + each.files, 0))}`) : null),
    left.length ? h("p.about", {}, `Not read: ${left.join(", ")}`) : null,
    h("p.about", {}, "Hidden folders and folders of programs, such as .git and node_modules, are left out."),
    collections.length ? h("p.hint.warn", {}, `Already in the index, whole or in part: ${collections.join(", ")}. Its files would be found twice.`) : null,
  ];
}

function indexed({ name, on_disk: onDisk, indexed: documents, pending, failed, available }, isDone, another) {
  if (!available) return [h("p.error", { role: "alert" }, `The folder of ${name} cannot be read now.`), h("p.tools", {}, another)];
  const total = onDisk ?? documents + pending;
  const done = Math.max(0, total - pending);
  const search = h("a.button.primary", { href: `/search?collection=${encodeURIComponent(name)}` }, isDone ? "Search it" : "Search what is indexed");
  const problems = failed ? h("a", { href: "/collections" }, `${count(failed, "file")} could not be read`) : null;
  return [
    h("h2", {}, isDone ? `${name} is indexed` : `${name} is being indexed`),
    h("p.embedded", {}, isDone ? null : h("progress", { max: total || 1, value: done, "aria-label": `Files of ${name} that are indexed` }), h("span", {}, isDone ? `${count(documents, "document")} can be searched. ` : `${number(done)} of ${count(total, "file")}`), problems),
    h("p.tools", {}, search, another),
  ];
}

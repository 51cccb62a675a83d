/** Memories: add, search, edit, forget, lock and unlock. */

import { isAbort, rpc } from "./api.js";
import { button, fill, h } from "./dom.js";
import { Field } from "./fields.js";
import { ago, count, inline } from "./text.js";

const PAUSE_MS = 200;
const TYPES = ["fact", "preference", "summary", "result", "decision", "task"];

export class Memories {
  constructor(root, { say, onQuery }) {
    Object.assign(this, { root, say, onQuery });
    this.input = h("input.wide", { type: "search", placeholder: "Search memories", "aria-label": "Search memories", autocomplete: "off", oninput: () => this.#typed() });
    this.head = h("div.summary");
    this.list = h("div.memories");
    this.adding = h("div.adding-memory");
    fill(root, h("h1", { tabindex: "-1" }, "Memories"), this.head, this.adding, this.input, this.list);
  }

  async show(route) {
    if (document.activeElement !== this.input) this.input.value = route.q;
    try {
      const status = await rpc("memory.status");
      this.#draw(status);
      if (status.unlocked || (status.opens_by_itself && status.key)) await this.#load();
    } catch (error) {
      fill(this.head, h("p.error", { role: "alert" }, inline(error.message)));
    }
  }

  #draw(status) {
    const isLocked = !status.unlocked && !status.opens_by_itself;
    const isEmpty = !status.key;
    this.input.hidden = isLocked || isEmpty;
    if (isLocked) fill(this.adding);
    else if (!this.adding.firstChild) this.#offerToAdd({ isOpen: isEmpty });
    if (isEmpty) fill(this.list, isLocked ? null : nothing());
    if (isEmpty && isLocked) return this.#protect(status);
    if (isLocked) return this.#locked(status);
    if (isEmpty) return fill(this.head);
    const known = status.memories === null || status.memories === undefined ? "" : `${count(status.memories, "memory", "memories")} · `;
    fill(this.head, h("p", { role: "status" }, `${known}encrypted, ${status.unlocked ? "unlocked" : "opened when they are used"}`), h("div.tools", {}, button("Lock", () => this.#lock())));
  }

  #offerToAdd({ isOpen = false } = {}) {
    const open = button("Add a memory", () => this.#add(), { class: "button primary" });
    if (isOpen) this.#add({ hasFocus: false });
    else fill(this.adding, h("p.tools", {}, open));
  }

  #add({ hasFocus = true } = {}) {
    const text = new Field("Memory", { rows: 3, required: true, dir: "auto", placeholder: "Staging runs on Postgres 16" }, "textarea");
    const type = new Field("Type", { value: "fact", list: "memory-types" });
    const topics = new Field("Topics", { placeholder: "staging, database" });
    const save = async (event) => {
      event.preventDefault();
      try {
        const stored = await rpc("memory.store", { text: text.value, type: type.value || "fact", topics: listOf(topics.value) });
        this.say(stored.existed ? "This memory already exists." : "Stored.");
      } catch (error) {
        return text.refuse(error.message);
      }
      fill(this.adding);
      this.input.value = "";
      await this.show({ q: "" });
    };
    const tools = h("div.tools", {}, h("button.button.primary", { type: "submit" }, "Store"), hasFocus ? button("Cancel", () => this.#offerToAdd()) : null);
    fill(this.adding, h("form.card.edit", { onsubmit: save }, text.element, h("div.row", {}, type.element, topics.element), types(), tools));
    if (hasFocus) text.input.focus();
  }

  /** No memory is stored yet, and no keyring can hold the key: say so, and take a passphrase. */
  #protect({ keyring_problem: problem }) {
    const first = new Field("New passphrase", { type: "password", autocomplete: "new-password", required: true });
    const again = new Field("Once more", { type: "password", autocomplete: "new-password", required: true });
    const save = async (event) => {
      event.preventDefault();
      if (first.input.value !== again.input.value) return again.refuse("This is not the same passphrase.");
      try {
        await rpc("memory.unlock", { passphrase: first.input.value });
      } catch (error) {
        return first.refuse(error.kind === "wrong_passphrase" ? error.message : `The passphrase could not be set: ${error.message}`);
      }
      await this.show({ q: "" });
    };
    fill(
      this.head,
      h("div", {}, h("p.empty-title", {}, "Choose a passphrase for your memories."), h("p", {}, "Memories are encrypted. Their key would be in the keyring of the system, but ", inline(problem ?? "it cannot be used"), ". So a passphrase protects them: you type it once after each start of gnod. Nobody can recover it.")),
      h("form.edit.passphrase", { onsubmit: save }, h("div.row", {}, first.element, again.element, h("button.button.primary", { type: "submit" }, "Set it"))),
    );
  }

  #locked(status) {
    const isPassphrase = status.key === "passphrase";
    const passphrase = new Field("Passphrase", { type: "password", autocomplete: "current-password" });
    passphrase.element.hidden = !isPassphrase;
    const unlock = async (event) => {
      event.preventDefault();
      try {
        await rpc("memory.unlock", passphrase.input.value ? { passphrase: passphrase.input.value } : {});
      } catch (error) {
        return isPassphrase ? passphrase.refuse(error.kind === "wrong_passphrase" ? "This is not the passphrase." : error.message) : this.say(error.message);
      }
      this.say("Unlocked.");
      await this.show({ q: this.input.value.trim() });
    };
    const where = isPassphrase ? null : h("span", {}, status.key === "file" ? "Their key is in a file beside them." : "Their key is in the keyring of the system.");
    const problem = status.keyring_problem && status.key === "keyring" ? h("p.hint.warn", {}, "It cannot be read now: ", inline(status.keyring_problem), ". Start or unlock the keyring of your desktop, then unlock the memories.") : null;
    fill(this.list);
    fill(this.head, h("p.empty-title", {}, "The memories are locked."), h("form.row", { onsubmit: unlock }, passphrase.element, where, h("button.button.primary", { type: "submit" }, "Unlock")), problem);
  }

  async #lock() {
    this.request?.abort();
    await this.#do("Locked.", "memory.lock");
  }

  #typed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.onQuery(this.input.value.trim());
      this.#load();
    }, PAUSE_MS);
  }

  async #load() {
    this.request?.abort();
    const { signal } = (this.request = new AbortController());
    const query = this.input.value.trim();
    try {
      const found = query ? await rpc("memory.search", { query }, { signal }) : await rpc("memory.list", { whole: true }, { signal });
      if (signal.aborted) return;
      const memories = found.results ?? found.memories;
      fill(this.list, found.notes.map((note) => h("p.hint", {}, inline(note))), memories.length ? memories.map((each) => this.#memory(each)) : none(query));
    } catch (error) {
      if (!isAbort(error)) fill(this.list, h("p.error", { role: "alert" }, inline(error.message)));
    }
  }

  #memory(memory) {
    const card = h("article.card.memory");
    return this.#view(card, memory);
  }

  #view(card, memory) {
    const topics = [...memory.topics, ...(memory.suggested ?? []).map((topic) => `~${topic}`)];
    const score = memory.rerank === undefined ? null : h("span.score", { title: "Score" }, memory.rerank.toFixed(2));
    card.className = memory.type.endsWith("_done") || memory.validity === "ended" ? "card memory done" : "card memory";
    return fill(
      card,
      h("p.memory-text", { dir: "auto" }, memory.text, memory.complete ? null : " …"),
      h("div.memory-about", {}, score, h("span.kind", {}, memory.type), topics.map((topic) => h("span.tag", {}, topic)), h("span.about", {}, `${memory.namespace && memory.namespace !== "personal" ? `${memory.namespace} · ` : ""}${ago(memory.when ?? memory.time ?? memory.updated)}`)),
      held(memory) ? h("p.about", {}, held(memory)) : null,
      h("div.tools", {}, button("Edit", () => this.#edit(card, memory)), button("Forget …", () => this.#confirm(card, memory))),
    );
  }

  async #edit(card, found) {
    const [memory] = await this.#records(found);
    if (!memory) return;
    const text = h("textarea", { rows: 4, "aria-label": "Text" }, memory.text);
    const type = h("input", { value: memory.type, list: "memory-types", "aria-label": "Type" });
    const topics = h("input", { value: memory.topics.join(", "), "aria-label": "Topics" });
    const save = async (event) => {
      event.preventDefault();
      const changes = { id: memory.id, text: text.value, type: type.value.trim(), topics: listOf(topics.value) };
      const updated = await this.#try("memory.update", changes);
      if (!updated) return;
      this.say("Saved.");
      this.#view(card, updated).querySelector("button")?.focus();
    };
    const cancel = () => this.#view(card, found).querySelector("button")?.focus();
    fill(card, h("form.edit", { onsubmit: save }, text, h("div.row", {}, h("label", {}, "Type", type), h("label", {}, "Topics", topics)), types(), h("div.tools", {}, h("button.button.primary", { type: "submit" }, "Save"), button("Cancel", cancel))));
    text.focus();
  }

  #confirm(card, memory) {
    const tools = card.querySelector(".tools");
    const forget = async () => {
      if (!(await this.#try("memory.forget", { ids: [memory.id] }))) return;
      card.remove();
      this.say("Forgotten.");
    };
    const keep = button("Keep it", () => this.#view(card, memory).querySelector("button")?.focus());
    fill(tools, h("span", {}, "Forget this memory for good? "), button("Forget", forget, { class: "button danger" }), keep);
    keep.focus();
  }

  async #records({ id }) {
    return (await this.#try("memory.retrieve", { ids: [id] }))?.memories ?? [];
  }

  async #try(method, params) {
    try {
      return await rpc(method, params);
    } catch (error) {
      this.say(error.message);
      return null;
    }
  }

  async #do(done, method, params = {}) {
    if (!(await this.#try(method, params))) return;
    this.say(done);
    fill(this.list);
    await this.show({ q: this.input.value.trim() });
  }
}

/** The time in which a memory is true, in words; "" if it is unknown. */
const held = ({ valid_from: from, valid_until: until, superseded_at: superseded, superseded_by: newer }) => {
  const [end] = [until, superseded].filter(Boolean).sort();
  const times = [from ? `From ${from.slice(0, 10)}` : "", end ? `until ${end.slice(0, 10)}` : ""].filter(Boolean).join(" ");
  return [times, newer ? "superseded by a newer memory" : ""].filter(Boolean).join(", ").replace(/^./, (first) => first.toUpperCase());
};

const listOf = (written) => written.split(",").map((each) => each.trim()).filter(Boolean);

const types = () => h("datalist", { id: "memory-types" }, TYPES.map((value) => h("option", { value })));

const nothing = () => h("div.empty", {}, h("p.empty-title", {}, "No memory is stored yet."), h("p", {}, "Memories are facts, decisions and preferences. They are encrypted, and AI agents that you connect can also use them."));

const none = (query) => (query ? h("div.empty", {}, h("p.empty-title", {}, `No memory matches “${query}”.`)) : nothing());

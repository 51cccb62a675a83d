/** Memories: search, edit, forget, lock and unlock. */

import { isAbort, rpc } from "./api.js";
import { button, fill, h } from "./dom.js";
import { ago, count, inline } from "./text.js";

const PAUSE_MS = 200;
const TYPES = ["fact", "preference", "summary", "result", "decision", "task"];

export class Memories {
  constructor(root, { say, onQuery }) {
    Object.assign(this, { root, say, onQuery });
    this.input = h("input.wide", { type: "search", placeholder: "Search memories", "aria-label": "Search memories", autocomplete: "off", oninput: () => this.#typed() });
    this.head = h("div.summary");
    this.list = h("div.memories");
    fill(root, h("h1", { tabindex: "-1" }, "Memories"), this.head, this.input, this.list);
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
    this.input.hidden = isLocked || !status.key;
    if (!status.key) return this.#nothing();
    if (isLocked) return this.#locked(status);
    const known = status.memories === null || status.memories === undefined ? "" : `${count(status.memories, "memory", "memories")} · `;
    fill(this.head, h("p", { role: "status" }, `${known}encrypted, ${status.unlocked ? "unlocked" : "opened by the keyring"}`), h("div.tools", {}, button("Lock", () => this.#lock())));
  }

  #nothing() {
    fill(this.head);
    fill(this.list, h("div.empty", {}, h("p.empty-title", {}, "No memory is stored yet."), h("p", {}, "Store one in a terminal: ", h("code", {}, "gnoctl remember 'Staging runs on Postgres 16'"), ". Memories are encrypted, and agents can use them, too.")));
  }

  #locked(status) {
    const passphrase = h("input", { type: "password", autocomplete: "off", "aria-label": "Passphrase" });
    const unlock = async (event) => {
      event.preventDefault();
      await this.#do("Unlocked.", "memory.unlock", passphrase.value ? { passphrase: passphrase.value } : {});
    };
    fill(this.list);
    fill(
      this.head,
      h("p.empty-title", {}, "The memories are locked."),
      h("form.row", { onsubmit: unlock }, status.key === "passphrase" ? h("label", {}, "Passphrase", passphrase) : h("span", {}, "Their key is in the keyring of the system."), h("button.button.primary", { type: "submit" }, "Unlock")),
      status.keyring_problem && status.key === "keyring" ? h("p.hint", {}, inline(status.keyring_problem)) : null,
    );
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
    card.className = memory.type.endsWith("_done") ? "card memory done" : "card memory";
    return fill(
      card,
      h("p.memory-text", { dir: "auto" }, memory.text, memory.complete ? null : " …"),
      h("div.memory-about", {}, score, h("span.kind", {}, memory.type), topics.map((topic) => h("span.tag", {}, topic)), h("span.about", {}, `${memory.namespace && memory.namespace !== "personal" ? `${memory.namespace} · ` : ""}${ago(memory.when ?? memory.time ?? memory.updated)}`)),
      memory.superseded_by ? h("p.about", {}, "Superseded by a newer memory") : null,
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
      const changes = { id: memory.id, text: text.value, type: type.value.trim(), topics: topics.value.split(",").map((each) => each.trim()).filter(Boolean) };
      const updated = await this.#try("memory.update", changes);
      if (!updated) return;
      this.say("Saved.");
      this.#view(card, updated).querySelector("button")?.focus();
    };
    const cancel = () => this.#view(card, found).querySelector("button")?.focus();
    const known = h("datalist", { id: "memory-types" }, TYPES.map((value) => h("option", { value })));
    fill(card, h("form.edit", { onsubmit: save }, text, h("div.row", {}, h("label", {}, "Type", type), h("label", {}, "Topics", topics)), known, h("div.tools", {}, h("button.button.primary", { type: "submit" }, "Save"), button("Cancel", cancel))));
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

function none(query) {
  if (!query) return h("div.empty", {}, h("p.empty-title", {}, "No memory is stored yet."), h("p", {}, "Store one in a terminal: ", h("code", {}, "gnoctl remember TEXT")));
  return h("div.empty", {}, h("p.empty-title", {}, `No memory matches “${query}”.`));
}

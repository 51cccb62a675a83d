/** Offers the models that fit the machine and the documents, with their sizes; downloads them; shows the progress of embedding. */

import { isAbort, pull, rpc } from "./api.js";
import { button, fill, h, nextLook } from "./dom.js";
import { wordsOf } from "./fields.js";
import { count, inline, number, size } from "./text.js";

const POLL_MS = 1000;
// Search needs these. The other models write answers, and are larger.
const FOR_SEARCH = ["embed", "rerank"];

export class ModelOffer {
  constructor() {
    this.element = h("section.offer", { "aria-live": "polite" });
  }

  /** Offer a model, unless a model is in use, no document is indexed, or an offer is shown. */
  async show() {
    if (this.isBusy || this.element.firstChild) return;
    this.isBusy = true;
    try {
      await this.#find();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.isBusy = false;
    }
  }

  async #find() {
    const [status, listed] = await Promise.all([rpc("index.status"), rpc("models.list")]);
    if (!status.documents) return;
    const embedder = listed.models.find((each) => each.uses.some((use) => use.role === "embed") && (each.installed || each.remote));
    if (embedder) return this.#follow(embedder.name);
    const chosen = await rpc("models.recommend");
    const memory = listed.presets.find((each) => each.name === chosen.preset)?.memory_bytes;
    fill(this.element, title(), chosen.preset ? this.#draw(chosen, memory) : unreadable(chosen));
  }

  #draw(chosen, memory) {
    const missing = chosen.models.filter((each) => !each.installed && each.roles.some((role) => FOR_SEARCH.includes(role)));
    const bytes = missing.reduce((sum, each) => sum + (each.download_bytes ?? 0), 0);
    const machine = `${count(chosen.cores, "core")} and ${size(chosen.free_memory_bytes)} of free memory`;
    const facts = [
      ["Download", bytes ? `about ${size(bytes)}` : "nothing"],
      ["Memory while you search", memory ? size(memory) : null],
      ["Time for your documents", chosen.embed_s === null ? null : `about ${duration(chosen.embed_s)}`],
    ];
    const accept = button(bytes ? `Download ${size(bytes)}` : "Use it", () => this.#pull(chosen, missing), { class: "button primary" });
    return [
      h("p", {}, "Keyword search works now. A model also finds documents that say the same in other words. It runs on this machine, so your texts stay here."),
      h("p", {}, "For ", count(chosen.documents, "document"), chosen.languages.length ? ` (${chosen.languages.join(", ")})` : "", ` on ${machine}: `, h("strong", {}, chosen.preset), ` (${missing.map((each) => each.name).join(" and ") || "installed"})`),
      h("dl.facts", {}, facts.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      h("p.tools", {}, accept, button("Not now", () => this.#later())),
    ];
  }

  #later() {
    fill(this.element, h("p.tools", {}, button("Search by meaning …", () => this.#again())));
  }

  #again() {
    fill(this.element);
    return this.show();
  }

  /** Download first: if that fails, the settings are unchanged, and keyword search continues to work. */
  async #pull(chosen, missing) {
    const abort = new AbortController();
    const bar = h("progress", { "aria-label": "Download" });
    const said = h("span", {}, "Starting the download …");
    fill(this.element, title(), h("p.embedded", {}, bar, said), h("p.about", {}, "You can search meanwhile. If you close the page, the download stops, and continues from there the next time."), h("p.tools", {}, h("a.button", { href: "/" }, "Search"), button("Stop", () => abort.abort())));
    try {
      if (missing.length) await this.#download(missing.map((each) => each.uri), { bar, said, signal: abort.signal });
      await rpc("models.use", { preset: chosen.preset });
      await this.#follow(missing[0]?.name ?? chosen.preset);
    } catch (error) {
      if (isAbort(error)) return this.#again();
      this.#failed(error, { ofDownload: true });
    }
  }

  async #download(models, { bar, said, signal }) {
    for await (const { progress } of pull({ models }, { signal })) {
      if (!progress) continue;
      const { stage, label, done, total } = progress;
      if (total) Object.assign(bar, { max: total, value: done });
      fill(said, stage === "download" ? `${label}: ${size(done)}${total ? ` of ${size(total)}` : ""}` : `${label} is being checked and prepared …`);
    }
  }

  /** Show how many texts have a vector, until all have one. */
  async #follow(model) {
    for (;;) {
      const { embedding, collections } = await rpc("index.status");
      const chunks = collections.reduce((sum, each) => sum + each.chunks - each.wordless, 0);
      const done = collections.reduce((sum, each) => sum + (each.next_model ? 0 : each.embedded), 0);
      const isDone = !embedding.pending && embedding.state !== "embedding" && (done > 0 || !chunks);
      fill(this.element, title(), isDone ? ready(model) : embedded(embedding, done, chunks));
      if (isDone || ["paused", "failing"].includes(embedding.state)) return;
      await nextLook(this.element, POLL_MS);
    }
  }

  #failed(error, { ofDownload = false } = {}) {
    const said = ofDownload ? ["The download failed: ", inline(error.message)] : inline(wordsOf(error));
    fill(this.element, title(), h("p.error", { role: "alert" }, said), h("p", {}, "Keyword search works as before."), h("p.tools", {}, button("Try again", () => this.#again())));
  }
}

const title = () => h("h2", {}, "Search by meaning");

const ready = (model) => [h("p", {}, `Your documents are read by ${model}: a search also finds other words with the same meaning.`), h("p.tools", {}, h("a.button.primary", { href: "/" }, "Search"))];

function embedded({ state, reason }, done, chunks) {
  const bar = h("progress", { max: chunks || 1, value: done, "aria-label": "Texts that are found by meaning" });
  return [
    h("p.embedded", {}, bar, h("span", {}, done ? `${number(done)} of ${count(chunks, "piece")} of text are found by meaning` : "The model is being prepared …")),
    reason ? h("p.hint.warn", {}, inline(reason)) : null,
    state === "paused" ? h("p.hint.warn", {}, "Background work is paused: resume it under Collections.") : null,
    h("p.tools", {}, h("a.button", { href: "/" }, "Search meanwhile")),
  ];
}

function unreadable({ languages, scripts }) {
  const written = [...languages, ...scripts.map((each) => each.toLowerCase())].join(", ");
  return h("p", {}, `No model that gnod offers reads these documents (${written}). Keyword search finds them.`);
}

function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Collections: numbers of files on disk, indexed, pending and failed, live; adding, syncing, pausing; why a file is or is not indexed. */

import { rpc } from "./api.js";
import { $, button, fill, h, svg } from "./dom.js";
import { failure, failures } from "./failures.js";
import { documentPath } from "./router.js";
import { ago, count, inline, number, size } from "./text.js";

const AGAIN_MS = 1500;
const MOST_SKIPPED = 200;
const SKIPPED = { needs_ocr: "need OCR", unsupported: "of an unknown kind", binary: "binary", empty: "without text", too_large: "too large", not_downloaded: "not downloaded" };
const IN_PART = { needs_ocr: "with pages that need OCR", corrupt: "damaged", bad_head: "with unreadable frontmatter", members: "with files inside that are not read" };

export class Collections {
  constructor(root, { say }) {
    this.root = root;
    this.say = say;
    this.isShown = false;
    this.parts = this.#skeleton();
    fill(root, Object.values(this.parts));
  }

  async show(route) {
    this.isShown = true;
    if (route.why) {
      $("input", this.parts.why).value = route.why;
      this.#why(route.why);
    }
    await this.refresh();
  }

  hide() {
    this.isShown = false;
  }

  /** Request the status again after a change, but not too often, because it walks the folders. */
  changed() {
    if (!this.isShown || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.refresh();
    }, AGAIN_MS);
  }

  async refresh() {
    try {
      const [status, activity] = await Promise.all([rpc("index.status", { errors: true }), rpc("index.activity", { hours: 24 }).catch(() => null)]);
      fill(this.parts.summary, this.#summary(status));
      fill(this.parts.list, status.collections.length ? status.collections.map((each) => this.#collection(each)) : nothing());
      fill(this.parts.endpoints, endpoints(status.endpoints));
      fill(this.parts.activity, activity?.buckets?.length ? chart(activity.buckets) : null);
      fill(this.parts.errors, failures(status, (...call) => this.#do(...call)));
    } catch (error) {
      fill(this.parts.summary, h("p.error", { role: "alert" }, inline(error.message)));
    }
  }

  #skeleton() {
    return {
      title: h("h1", { tabindex: "-1" }, "Collections"),
      summary: h("div.summary"),
      list: h("div.cards"),
      add: h("p.tools", {}, h("a.button.primary", { href: "/add" }, "Add a folder")),
      endpoints: h("section.endpoints"),
      activity: h("section.activity"),
      errors: h("section.errors"),
      why: this.#whyForm(),
      doctor: this.#doctor(),
    };
  }

  #summary(status) {
    const { embedding, ocr } = status;
    const isPaused = embedding.state === "paused";
    const parts = [count(status.documents, "document"), size(status.database_bytes)];
    if (status.syncing) parts.push("syncing");
    if (embedding.model) parts.push(`embedding: ${embedding.state}${embedding.pending ? `, ${count(embedding.pending, "chunk")} left` : ""}`);
    if (embedding.state === "embedding") parts.push(byMeaning(status));
    if (ocr?.pending) parts.push(`recognition: ${count(ocr.pending, "page")} left`);
    const problems = [status.config_error, embedding.state === "failing" ? embedding.reason : null, ...status.config_warnings, ...status.storage_problems, ...status.storage_notes];
    return [
      h("p", { role: "status" }, parts.join(" · ")),
      h("div.tools", {}, button("Sync all", () => this.#do("Synced.", "index.sync", {})), isPaused ? button("Resume", () => this.#do("Background work continues.", "index.resume")) : button("Pause", () => this.#do("Background work is paused. Searching works as before.", "index.pause"))),
      problems.filter(Boolean).map((text) => h("p.hint.warn", {}, inline(text))),
    ];
  }

  #collection(each) {
    const failed = Object.entries(each.failed_by_kind).map(([kind, amount]) => `${kind} ${amount}`).join(", ");
    const facts = [
      each.verified ? ["On disk", each.on_disk] : null,
      ["Indexed", each.indexed],
      ["Pending", each.pending],
      ["Failed", each.failed, failed],
      each.verified ? ["Excluded", each.excluded] : null,
    ].filter(Boolean);
    return h(
      "article.card",
      { "aria-label": each.name },
      h("div.card-head", {}, h("h2", {}, h("a", { href: `/search?collection=${encodeURIComponent(each.name)}` }, each.name)), h("span.place", {}, each.path)),
      h("dl.facts", {}, facts.map(([name, value, title]) => h(value && name === "Failed" ? "div.bad" : value && name === "Pending" ? "div.busy-fact" : "div", { title }, h("dt", {}, name), h("dd", {}, number(value))))),
      this.#skipped(each),
      embedded(each),
      unused(each),
      h("p.about", {}, [each.available ? null : `The folder is missing: ${each.reason}`, watched(each), `synced ${ago(each.last_sync)}`, each.egress === "local" ? null : `texts may go to ${each.egress}`].filter(Boolean).join(" · ")),
      h("div.tools", {}, button("Sync", () => this.#do(`${each.name} is in sync.`, "index.sync", { collections: [each.name] })), this.#remover(each)),
    );
  }

  /** How many files are not documents, or only in part, and why. When opened, it lists the first ones. */
  #skipped(each) {
    const summary = [reasons("Skipped", each.skipped_by_kind, SKIPPED), reasons("Read in part", each.partial_by_kind, IN_PART)].filter(Boolean).join(" · ");
    if (!summary) return null;
    const list = h("ul.failures");
    const open = async (event) => {
      if (!event.target.open) return;
      const { files, total } = await rpc("index.skipped", { collection: each.name, limit: MOST_SKIPPED }).catch((error) => ({ files: [], total: 0, error }));
      fill(list, files.map((file) => failure(file)), total > files.length ? h("li", {}, `and ${number(total - files.length)} more`) : null);
    };
    return h("details.skipped", { ontoggle: open }, h("summary", {}, summary), list);
  }

  #remover(each) {
    const box = h("span.confirm");
    const ask = button("Remove …", () => fill(box, h("span", {}, `Remove ${each.name} from the index? Its files stay. `), button("Remove", () => this.#do(`Removed ${each.name}.`, "collection.remove", { name: each.name }), { class: "button danger" }), button("Keep", () => fill(box, ask))));
    return fill(box, ask);
  }

  #whyForm() {
    const path = h("input", { name: "why", required: true, placeholder: "notes/plan.md", autocomplete: "off", spellcheck: "false" });
    const submit = (event) => {
      event.preventDefault();
      this.#why(path.value.trim());
    };
    return h("section", {}, h("h2", {}, "Why is a file in the index, or not?"), h("form.row", { onsubmit: submit }, h("label", {}, "Path", path), h("button.button", { type: "submit" }, "Explain")), h("div.verdict", { "aria-live": "polite" }));
  }

  async #why(path) {
    const shown = $(".verdict", this.parts.why);
    try {
      fill(shown, verdict(await rpc("index.why", { path })));
    } catch (error) {
      fill(shown, h("p.error", {}, inline(error.message)));
    }
  }

  #doctor() {
    const shown = h("div.checks", { "aria-live": "polite" });
    const run = async () => {
      fill(shown, h("p", {}, "Checking …"));
      try {
        fill(shown, checks(await rpc("doctor.run", {})));
      } catch (error) {
        fill(shown, h("p.error", {}, inline(error.message)));
      }
    };
    return h("section", {}, h("h2", {}, "Check everything"), button("Run the checks", run), shown);
  }

  async #do(done, method, params = {}) {
    try {
      await rpc(method, params);
      this.say(done);
      await this.refresh();
      return true;
    } catch (error) {
      this.say(error.message);
      return false;
    }
  }
}

function nothing() {
  return h("div.empty", {}, h("p.empty-title", {}, "No folder is indexed yet."), h("p", {}, "Add one: its files stay where they are, and nothing leaves this machine."));
}

function watched({ watch, watch_reason: reason }) {
  const how = { events: "changes are noticed at once", polling: "looked at regularly", off: "changes are not noticed" }[watch] ?? watch;
  return reason ? `${how} (${reason})` : how;
}

/** How many documents can be found by meaning so far. The beginnings of documents are embedded first. */
function byMeaning({ collections, documents }) {
  const sum = (name) => collections.reduce((total, each) => total + each[name], 0);
  const briefly = sum("in_brief") < documents ? number(sum("in_brief")) : "all";
  return `by meaning: ${number(sum("in_full"))} of ${count(documents, "document")} in full, ${briefly} by their beginning`;
}

/** A bar of the chunks that have a vector. */
function embedded({ chunks: all, wordless, embedded: done, unembeddable, model, next_model: next }) {
  if (!model && !next) return h("p.about", {}, "Keyword search only: no model is chosen. ", h("a", { href: "/add" }, "Choose one"));
  const chunks = all - wordless;
  const bar = h("progress", { max: chunks || 1, value: done, "aria-label": "Chunks with a vector" });
  const left = unembeddable ? `, ${number(unembeddable)} failed` : "";
  const without = wordless ? `, ${number(wordless)} of numbers or encoded data are not` : "";
  const choose = model ? null : h("a", { href: "/add" }, "Choose a model");
  return h("p.embedded", {}, bar, h("span", {}, `${number(done)} of ${count(chunks, "chunk")} embedded${left}${without}`), choose);
}

function reasons(what, amounts, words) {
  const found = Object.entries(amounts).map(([kind, amount]) => `${number(amount)} ${words[kind] ?? kind}`);
  return found.length ? `${what}: ${found.join(", ")}` : null;
}

function verdict(result) {
  const found = result.collections.map((each) =>
    h("li", {}, h("b.kind", {}, each.verdict), " ", each.docid ? h("a", { href: documentPath(each.collection, each.path) }, `${each.collection}/${each.path}`) : `${each.collection}/${each.path}`, h("p", {}, inline(each.reason))),
  );
  return found.length ? h("ul.failures", {}, found) : h("p", {}, inline(result.reason));
}

function checks({ healthy, checks: all }) {
  const worse = all.filter((each) => each.status !== "ok");
  return [
    h("p", {}, healthy && !worse.length ? `All ${all.length} checks passed.` : `${count(worse.length, "check")} of ${all.length} found a problem:`),
    h("ul.failures", {}, worse.map((each) => h("li", {}, h(`b.kind.${each.status}`, {}, each.status), ` ${each.name}`, h("p", {}, inline(each.message)), each.remedy ? h("p.remedy", {}, inline(each.remedy)) : null))),
  ];
}

const CHART = { width: 720, height: 90, gap: 2 };

/** Bars of the files indexed and failed in each part of the day. */
function chart(buckets) {
  const most = Math.max(1, ...buckets.map((each) => each.indexed + each.failed));
  const step = CHART.width / buckets.length;
  const bars = buckets.map((each, index) => column(each, index * step, step - CHART.gap, most));
  const total = buckets.reduce((sum, each) => sum + each.indexed, 0);
  const failed = buckets.reduce((sum, each) => sum + each.failed, 0);
  const label = `${count(total, "file")} indexed in the last day${failed ? `, ${number(failed)} failed` : ""}`;
  const hour = (each) => new Date(each.start).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return [
    h("h2", {}, "Today"),
    h("figure.chart", {}, svg("svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "img", "aria-label": label, preserveAspectRatio: "none" }, bars), h("figcaption", {}, h("span", {}, hour(buckets[0])), h("span", {}, label), h("span", {}, "now"))),
  ];
}

const PLACES = { local: "on this machine", lan: "in the local network", any: "outside of the local network" };

/** The model servers that the config names, and the collections that may use them. */
function endpoints(all) {
  if (!all.length) return null;
  return [h("h2", {}, "Model servers"), all.map(endpoint)];
}

function unused(each) {
  return each.unused_model ? h("p.hint.warn", {}, `The vectors of ${each.unused_model} are kept, but not searched: index.yml does not name that server.`) : null;
}

function endpoint(each) {
  const facts = [PLACES[each.scope] ?? "unknown place", `for ${each.roles.join(", ")}`, each.last_sent ? `last sent ${ago(each.last_sent)}` : "nothing was sent yet"];
  return h(
    "article.card",
    { "aria-label": each.uri },
    h("div.card-head", {}, h("h3.place", {}, each.uri)),
    h("p.about", {}, facts.join(" · ")),
    each.allowed.length ? h("p.about", {}, `Gets texts and queries of ${each.allowed.join(", ")}`) : null,
    each.left_out.length ? h("p.hint.warn", {}, inline(`Nothing of ${each.left_out.join(", ")} is sent: ${each.problem ?? "`egress` in index.yml keeps it here"}`)) : null,
  );
}

function column(each, x, width, most) {
  const scale = (value) => (value / most) * (CHART.height - 4);
  const base = svg("rect", { class: "base", x, width, y: CHART.height - 1, height: 1 });
  const indexed = svg("rect", { class: "bar", x, width, y: CHART.height - scale(each.indexed), height: scale(each.indexed) });
  const failed = svg("rect", { class: "bar failed", x, width, y: CHART.height - scale(each.indexed + each.failed), height: scale(each.failed) });
  const title = svg("title", {}, `${new Date(each.start).toLocaleString()}: ${each.indexed} indexed, ${each.failed} failed`);
  return svg("g", {}, title, base, indexed, failed);
}

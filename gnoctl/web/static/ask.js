/** Answers questions: shows quotes first, then the text of a model, then the checked answer. Each citation leads to its source. */

import { ask, isAbort } from "./api.js";
import { fill, h, key } from "./dom.js";
import { address, fragmentOf } from "./router.js";
import { corrected, inline, lines, missedBy } from "./text.js";

const UNWRITTEN = {
  no_sources: "no passage is near enough for the model to answer from",
  model_declined: "the model finds no answer in these sources",
  unsupported: "no source supports what the model wrote",
};
const CUT = { length: "cut off at the length limit", time: "cut off: the model took too long", repetition: "cut off: the model repeated itself" };

export class Ask {
  /** `onAnswer(quote)`: the best quote of an answer arrived; null: a new question was asked, or none. */
  constructor(root, status, { onAnswer }) {
    Object.assign(this, { root, status, onAnswer });
    this.question = null;
  }

  show(route) {
    if (route.q === this.question) return;
    this.question = route.q;
    this.abort?.abort();
    this.onAnswer(null);
    if (route.q) this.#run(route);
    else this.#invite();
  }

  #invite() {
    fill(this.status);
    fill(
      this.root,
      h(
        "div.empty",
        {},
        h("p.empty-title", {}, "Ask a question about your documents."),
        h("p", {}, "Write it above and press ", key("Enter"), ". The page first quotes the sentences that answer it, with their places. If you have chosen a model for answers, it adds an answer."),
      ),
    );
  }

  async #run(route) {
    const { signal } = (this.abort = new AbortController());
    const view = { quotes: h("div.quotes"), draft: h("div.draft", { hidden: true }), answer: h("div"), sources: h("div") };
    fill(this.root, view.quotes, view.draft, view.answer, view.sources);
    fill(this.status, "Searching for the answer …");
    try {
      for await (const { progress, result } of ask({ question: route.q }, { signal })) {
        if (signal.aborted) return;
        if (progress) this.#progress(view, progress, route);
        if (result) this.#done(view, result, route);
      }
    } catch (error) {
      if (isAbort(error)) return;
      this.question = null;
      fill(this.status);
      fill(this.root, h("p.error", { role: "alert" }, inline(error.message)));
    }
  }

  #progress(view, { quotes, text, stage }, route) {
    if (quotes) this.#quotes(view, quotes, route);
    if (text) {
      if (view.draft.hidden) fill(view.draft, h("p.draft-note", {}, "Not checked yet:"), (view.text = h("p", {})));
      view.draft.hidden = false;
      view.text.append(text);
    } else if (stage) {
      fill(this.status, `${stage[0].toUpperCase()}${stage.slice(1)} …`);
    }
  }

  /** Do not redraw equal quotes: the user may be clicking one. */
  #quotes(view, quotes, route) {
    const written = JSON.stringify(quotes);
    if (view.written === written) return;
    view.written = written;
    fill(view.quotes, quoted(quotes, route));
  }

  #done(view, result, route) {
    view.draft.hidden = true;
    this.onAnswer(result.quotes[0] ?? null);
    this.#quotes(view, result.quotes, route);
    const cut = CUT[result.finish];
    if (result.answer) fill(view.answer, h("section.answer", {}, h("h2", {}, "Answer"), h("p", { dir: "auto" }, cited(result, route)), cut ? h("p.hint", {}, `(${cut})`) : null));
    else if (!result.quotes.length) fill(view.answer, h("div.empty", {}, h("p.empty-title", {}, "Your documents do not say."), h("p", {}, h("a", { href: address({ ...route, view: "search", doc: null }) }, "Search for these words"))));
    fill(view.sources, listed(result, route), notes(result));
    fill(this.status, `Confidence ${result.confidence.toFixed(2)} · ${Math.round(result.took_ms)} ms`);
  }
}

function quoted(quotes, route) {
  if (!quotes.length) return [];
  const isUnsure = quotes[0].perhaps;
  return [isUnsure ? h("p.empty-title", {}, "Your documents do not say. Perhaps:") : null, quotes.map((quote) => card(quote, route))];
}

function card(quote, route) {
  const text = quote.kind === "line" || quote.kind === "row" ? quote.text : quote.text.split(/\s+/).join(" ");
  return h(
    "figure.quote",
    {},
    h(quote.kind === "line" ? "blockquote.code" : "blockquote", { dir: "auto", lang: quote.language }, inline(text)),
    h("figcaption", {}, h("a", { href: addressOf(quote, route) }, h("span.file", {}, `${quote.collection}/${quote.path}:${lines(quote)}`)), h("span.heading", {}, quote.heading || quote.title)),
  );
}

function addressOf(item, route) {
  return address({ view: "ask", q: route.q, doc: { collection: item.collection, path: item.path, fragment: fragmentOf(item) } });
}

/** The answer, whose citations `[1]` are links to their sources. */
function cited(result, route) {
  const sources = new Map(result.sources.map((source) => [String(source.number), source]));
  return result.answer.split(/(\[\d+\])/).map((part) => {
    const source = sources.get(/^\[(\d+)\]$/.exec(part)?.[1]);
    return source ? h("a.cite", { href: addressOf(source, route), title: `${source.collection}/${source.path}` }, part) : part;
  });
}

function listed(result, route) {
  if (!result.sources.length) return null;
  const sorted = [...result.sources].sort((a, b) => b.cited - a.cited || a.number - b.number);
  const items = sorted.map((source) =>
    h(source.cited ? "li" : "li.uncited", {}, h("span.num", {}, `[${source.number}]`), h("a", { href: addressOf(source, route) }, source.title), h("span.file", {}, `${source.collection}/${source.path}:${lines(source)}`)),
  );
  return h("section.sources", {}, h("h2", {}, "Sources"), h("ul", {}, items));
}

function notes(result) {
  const why = result.no_model_reason ? `Quotes only: ${result.no_model_reason}` : result.answered && !result.answer ? UNWRITTEN[result.reason] : null;
  const missed = missedBy(result.freshness);
  return [
    result.corrections.map((each) => h("p.correction", {}, corrected(each).map((part) => (part.strong ? h("strong", {}, part.strong) : part)))),
    [why, ...result.hints, ...result.notes.map((note) => `Left out: ${note}`), missed].filter(Boolean).map((text) => h("p.hint", {}, inline(text))),
  ];
}

// Search as you type: waits a moment for the next key, and a new search cancels the previous one. Must not depend on windows.
"use strict";

const DEBOUNCE_MS = 10;

class Live {
  #client;
  #limit;
  #show;
  #query = "";
  #hits = [];
  #timer;
  #pending;

  /** `show({ query, hits, message, result, busy })` is called with the state to show; all fields but `query` and `hits` may be absent. */
  constructor(client, limit, show) {
    this.#client = client;
    this.#limit = limit;
    this.#show = show;
  }

  /** Report the current content of the search field. */
  input(text) {
    const query = text.trim();
    if (query === this.#query) {
      return;
    }
    this.#query = query;
    this.#supersede();
    if (!query) {
      this.#found([]);
      return;
    }
    this.#timer = setTimeout(() => this.#ask(query), DEBOUNCE_MS);
  }

  stop() {
    this.#supersede();
    this.#show = () => {};
  }

  async #ask(query) {
    const pending = new AbortController();
    this.#pending = pending;
    this.#show({ query, hits: this.#hits, busy: true });
    let state;
    try {
      const params = { query, limit: this.#limit, prefix_last_term: true };
      const result = await this.#client.request("search.lexical", params, pending.signal);
      state = [result.hits, result.hits.length ? undefined : "nothing found", result];
    } catch (error) {
      // Keep the hits while the query is incomplete (an open quotation mark).
      state = [this.#hits, error.message];
    }
    if (this.#pending === pending) {
      this.#pending = undefined;
      this.#found(...state);
    }
  }

  #supersede() {
    clearTimeout(this.#timer);
    this.#pending?.abort();
    this.#pending = undefined;
  }

  #found(hits, message, result) {
    this.#hits = hits;
    this.#show({ query: this.#query, hits, message, result });
  }
}

module.exports = { Live };

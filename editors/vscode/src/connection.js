// JSON-RPC 2.0 over a socket, one message per line. Must not depend on the methods or VS Code.
"use strict";

const LOST = "the connection to the daemon was lost: see `gnoctl daemon logs`";

class Connection {
  #socket;
  #rest = "";
  #last = 0;
  #waiting = new Map(); // by the id of the request

  /** `closed` is settled when the connection has ended. */
  constructor(socket) {
    this.#socket = socket.setEncoding("utf8");
    this.closed = new Promise((resolve) => socket.once("close", resolve)).then(() => this.#fail());
    socket.on("data", (text) => this.#read(text));
    socket.on("error", () => {}); // "close" follows
  }

  /** Return the result of a request. Aborting `signal`, an AbortSignal, makes the daemon cancel it. */
  request(method, params, signal) {
    const id = ++this.#last;
    const cancel = () => this.#waiting.has(id) && this.#send({ method: "$/cancelRequest", params: { id } });
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params });
      signal?.addEventListener("abort", cancel);
      if (signal?.aborted) {
        cancel();
      }
    });
  }

  dispose() {
    this.#socket.destroy();
  }

  #send(message) {
    this.#socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`, (error) => error && this.#fail());
  }

  /** Take the received bytes, which may be parts of lines or several lines. (node:readline would also end a line at U+2028.) */
  #read(text) {
    const lines = text.split("\n");
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop();
    try {
      lines.forEach((line) => this.#answer(JSON.parse(line)));
    } catch {
      this.dispose(); // another program listens there, not the daemon
    }
  }

  #answer({ id, result, error }) {
    const request = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) {
      request?.reject(Object.assign(new Error(error.message), { code: error.code }));
    } else {
      request?.resolve(result);
    }
  }

  #fail() {
    this.#waiting.forEach(({ reject }) => reject(new Error(LOST)));
    this.#waiting.clear();
  }
}

module.exports = { Connection };

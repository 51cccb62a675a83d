// Requests to the daemon. Must not depend on VS Code.
//
// The first request connects. If nothing listens, gnoctl starts the daemon. If the connection is lost, open requests fail
// with a message, and the next request connects again.
"use strict";

const { execFile } = require("node:child_process");
const { lstat } = require("node:fs/promises");
const net = require("node:net");
const { Connection } = require("./connection");

const CANCELLED = -32800;

class Client {
  #gnoctl;
  #connecting;

  /** `command`: the command that runs gnoctl. `index`: the name of the index, or "" for the default one. */
  constructor({ command, index }) {
    this.#gnoctl = { command, options: index ? ["--index", index] : [] };
  }

  /** Return the result of one request. Aborting `signal` cancels it, in the daemon as well. */
  async request(method, params, signal) {
    const connection = await this.#connection();
    return connection.request(method, params, signal);
  }

  dispose() {
    this.#connecting?.then((connection) => connection.dispose()).catch(() => {});
    this.#connecting = undefined;
  }

  #connection() {
    if (!this.#connecting) {
      const connecting = this.#open();
      const forget = () => {
        if (this.#connecting === connecting) {
          this.#connecting = undefined;
        }
      };
      connecting.then((connection) => connection.closed.then(forget), forget);
      this.#connecting = connecting;
    }
    return this.#connecting;
  }

  async #open() {
    const listening = async () => connect(await this.#run("socket"));
    let socket;
    try {
      socket = await listening();
    } catch {
      // No daemon listens. Every command starts it, and says why if the config forbids it.
      await this.#run("collection", "list");
      socket = await listening();
    }
    return new Connection(socket);
  }

  #run(...words) {
    const { command, options } = this.#gnoctl;
    return new Promise((resolve, reject) => {
      execFile(command, [...options, ...words], (error, stdout, stderr) => {
        if (!error) {
          resolve(stdout.trim());
        } else if (error.code === "ENOENT") {
          reject(new Error(`${command} cannot be run: install gnod, or name the program in the setting gno.command`));
        } else {
          reject(new Error(stderr.trim() || error.message));
        }
      });
    });
  }
}

async function connect(path) {
  // gnoctl has checked this, but the socket may not have existed then.
  const { uid } = await lstat(path);
  if (uid !== process.getuid() && uid !== 0) {
    throw new Error(`another user owns the socket ${path}`);
  }
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

module.exports = { Client, CANCELLED };

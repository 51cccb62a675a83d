// The connection to the daemon, on vscode-jsonrpc. Knows nothing of VS Code.
//
// The first request connects. If nothing listens, gnoctl starts the daemon. If the connection is lost, open requests fail
// with a message, and the next request connects again.
"use strict";

const { execFile } = require("node:child_process");
const { lstat } = require("node:fs/promises");
const net = require("node:net");
const rpc = require("vscode-jsonrpc/node");

const CANCELLED = -32800;

class Client {
  #gnoctl;
  #connecting;

  /** `command`: how gnoctl is run. `index`: its name, or "" for the default one. */
  constructor({ command, index }) {
    this.#gnoctl = { command, options: index ? ["--index", index] : [] };
  }

  /** Return the result of one request. It is cancelled, at the daemon too, when `token` is. */
  async request(method, params, token) {
    const connection = await this.#connection();
    try {
      return await connection.sendRequest(method, params, ...(token ? [token] : []));
    } catch (error) {
      if (error instanceof rpc.ResponseError && error.code !== rpc.ErrorCodes.PendingResponseRejected) {
        throw error;
      }
      throw new Error("the connection to the daemon was lost: see `gnoctl daemon logs`");
    }
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
      connecting.then((connection) => connection.onDispose(forget), forget);
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
      // Nobody listens. Every command starts the daemon, and says why where the config forbids it.
      await this.#run("collection", "list");
      socket = await listening();
    }
    const connection = rpc.createMessageConnection(
      new rpc.StreamMessageReader(socket),
      new rpc.StreamMessageWriter(socket),
    );
    connection.onError(() => connection.dispose());
    connection.onClose(() => connection.dispose());
    connection.onDispose(() => socket.destroy());
    connection.listen();
    return connection;
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
  // gnoctl has checked this, but may have found nothing there yet.
  const { uid } = await lstat(path);
  if (uid !== process.getuid() && uid !== 0) {
    throw new Error(`the socket ${path} belongs to another user`);
  }
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

module.exports = { Client, CANCELLED };

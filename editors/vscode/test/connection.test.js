"use strict";

const assert = require("node:assert/strict");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const { Connection } = require("../src/connection");
const { until } = require("./standin");

/** Return a connection to a server, what the server received, and how to send bytes from there. */
async function connected(t) {
  const address = path.join(os.tmpdir(), `gno-test-${process.pid}-${Math.random()}.sock`);
  const received = [];
  let there;
  const server = net.createServer((socket) => {
    there = socket;
    let rest = "";
    socket.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      received.push(...lines.map((line) => JSON.parse(line)));
    });
  });
  await new Promise((resolve) => server.listen(address, resolve));
  const socket = net.connect(address);
  await until(() => there, "the server has the connection");
  t.after(() => {
    socket.destroy();
    there.destroy();
    server.close();
  });
  return { connection: new Connection(socket), received, there };
}

const reply = (id, result) => Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);

test("replies arrive in parts, together, and in any order", async (t) => {
  const { connection, there } = await connected(t);
  const answers = ["a", "b", "c"].map((method) => connection.request(method, {}));
  const text = "one line\u2028\u0085\r of Zürich 🏮";
  for (const byte of reply(2, text)) {
    there.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  there.write(Buffer.concat([reply(3, "third"), reply(9, "nobody asked"), reply(1, null)]));
  assert.deepEqual(await Promise.all(answers), [null, text, "third"]);
});

test("an aborted request is cancelled once, and one that has ended is not", async (t) => {
  const { connection, received, there } = await connected(t);
  const controllers = [1, 2, 3].map(() => new AbortController());
  controllers[1].abort(); // before it is sent
  const answers = controllers.map(({ signal }) => connection.request("search", {}, signal));
  controllers[0].abort();
  there.write(reply(3, "done"));
  assert.equal(await answers[2], "done");
  controllers[2].abort();
  there.write(Buffer.concat([reply(1, 1), reply(2, 2)]));
  await Promise.all(answers);
  connection.request("last", {}).catch(() => {});
  await until(() => received.at(-1)?.method === "last");
  const cancelled = received.filter(({ method }) => method === "$/cancelRequest").map(({ params }) => params.id);
  assert.deepEqual(cancelled.sort(), [1, 2]);
});

test("requests fail when the connection ends, and after that", async (t) => {
  const { connection, there } = await connected(t);
  const waiting = assert.rejects(connection.request("search", {}), /the connection to the daemon was lost/);
  there.end();
  await waiting;
  await connection.closed;
  await assert.rejects(connection.request("search", {}), /the connection to the daemon was lost/);
});

test("bytes that are not a message end the connection", async (t) => {
  const { connection, there } = await connected(t);
  const waiting = assert.rejects(connection.request("search", {}), /the connection to the daemon was lost/);
  there.write("HTTP/1.1 400 Bad Request\n");
  await waiting;
});

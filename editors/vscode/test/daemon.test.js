// Tests against a real daemon. `GNO_TEST_NOTES` is an indexed folder, and gnoctl is on the PATH
// (tests/editors/test_vscode_client.py prepares both).
"use strict";

const assert = require("node:assert/strict");
const { execFile } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { promisify } = require("node:util");
const { CANCELLED, Client } = require("../src/client");
const { Live } = require("../src/live");
const { activate, until } = require("./standin");

const notes = process.env.GNO_TEST_NOTES;
const daemon = notes ? test : test.skip;
const gnoctl = (...words) => promisify(execFile)("gnoctl", words);

function client(t, options = {}) {
  const made = new Client({ command: "gnoctl", index: "", ...options });
  t.after(() => made.dispose());
  return made;
}

daemon("the daemon is started, and many requests share a connection", async (t) => {
  const daemons = client(t);
  const queries = ["lantern", "lighthouse", "tree"];
  const answers = await Promise.all(queries.map((query) => daemons.request("search.lexical", { query })));
  assert.deepEqual(answers.map((answer) => answer.query), queries);
  assert.equal((await daemons.request("daemon.status", {})).connections, 1);
});

daemon("an error is what the daemon said", async (t) => {
  await assert.rejects(client(t).request("search.lexical", { query: '"open' }), /a quotation mark is not closed/);
  await assert.rejects(client(t).request("search.lexical", { query: "x", oops: 1 }), { code: -32602 });
});

daemon("a request that is cancelled ends", async (t) => {
  const controller = new AbortController();
  const follow = client(t).request("index.sync", {}, controller.signal);
  controller.abort();
  // It may have been answered before the daemon read the cancellation.
  await follow.catch((error) => assert.equal(error.code, CANCELLED));
});

daemon("a daemon that went away is started again", async (t) => {
  const daemons = client(t);
  await daemons.request("daemon.status", {});
  await gnoctl("daemon", "stop");
  assert.equal((await daemons.request("search.lexical", { query: "lighthouse" })).hits.length, 1);
});

test("without gnoctl it says what to do", async (t) => {
  await assert.rejects(client(t, { command: "no-such-gnoctl" }).request("daemon.status", {}), /install gnod, or name/);
});

daemon("keys typed at once make one search, and a later one takes it back", async (t) => {
  const real = client(t);
  await real.request("daemon.status", {});
  const asked = [];
  const states = [];
  const noting = {
    request(method, params, signal) {
      asked.push([params.query, signal]);
      if (asked.length === 1) {
        queueMicrotask(() => live.input("lighthouse")); // the next key comes before the answer can
      }
      return real.request(method, params, signal);
    },
  };
  const live = new Live(noting, 3, (state) => state.busy || states.push(state));
  for (const query of ["l", "la", "lan", "lantern"]) {
    live.input(query);
  }
  await until(() => states.length === 1);
  live.stop();
  assert.deepEqual(asked.map(([query]) => query), ["lantern", "lighthouse"]);
  assert.ok(asked[0][1].aborted);
  assert.deepEqual(states[0].hits.map((hit) => hit.path), ["harbour.md"]);
});

daemon("typing fills the quick pick, and choosing opens the file at the line", async (t) => {
  const { told, extension } = activate();
  t.after(() => extension.dispose());
  told.commands["gno.search"]();
  const [pick] = told.picks;
  assert.ok(pick.visible);
  pick.type("lighthouse");
  await until(() => pick.items.length === 1);
  const [item] = pick.items;
  assert.equal(item.label, "Harbour");
  assert.equal(item.description, "notes/harbour.md:9");
  assert.equal(item.detail, "Zürich ships a lantern to the lighthouse keeper.");
  assert.equal(pick.title, undefined); // only the status mentions the unreadable file
  pick.type('lighthouse "lantern');
  await until(() => pick.title?.includes("a quotation mark is not closed"));
  assert.equal(pick.items.length, 1);
  pick.accept(item);
  await until(() => told.shown.length === 1);
  assert.deepEqual(told.shown, [
    {
      address: path.join(notes, "harbour.md"),
      line: 9,
      text: "Zürich ships a lantern to the lighthouse keeper.",
    },
  ]);
  assert.ok(!pick.visible);
  // The hits stay in the view.
  assert.deepEqual(told.view.provider.getChildren().map((hit) => hit.title), ["Harbour"]);
});

daemon("the view shows what was found by keyword and meaning, and opens converted files as text", async (t) => {
  const { told, extension } = activate();
  t.after(() => extension.dispose());
  told.answer = "lanternfish";
  await told.commands["gno.find"]();
  const { provider } = told.view;
  const [hit] = provider.getChildren();
  const item = provider.getTreeItem(hit);
  assert.equal(item.description, "notes/stock.csv:row 2");
  assert.match(told.view.message, /keyword search only/);
  await told.commands[item.command.command](...item.command.arguments);
  assert.deepEqual(told.shown, [{ address: "gno://notes/stock.csv", line: 3, text: "| lanternfish | 12 |" }]);
});

daemon("what was left out is said with what was found", async (t) => {
  const config = path.join(process.env.GNO_CONFIG_DIR, "index.yml");
  const before = fs.readFileSync(config);
  t.after(() => fs.writeFileSync(config, before));
  fs.appendFileSync(config, 'models: {rerank: "http://192.0.2.1:9/v1#model"}\n');
  const { told, extension } = activate();
  t.after(() => extension.dispose());
  told.answer = "lantern";
  let said = "";
  for (let tries = 0; tries < 200 && !said.includes("192.0.2.1"); tries += 1) {
    await told.commands["gno.find"](); // until the daemon has read its config
    said = told.view.message ?? "";
  }
  const { notes: left } = await client(t).request("search.query", { query: "lantern" });
  assert.ok(left.length && said.endsWith(left.join("; ")), said);
  assert.equal(told.view.provider.getChildren().length, 2);
});

daemon("status, and a changed setting is used at once", async (t) => {
  const { told, extension } = activate();
  t.after(() => extension.dispose());
  await told.commands["gno.status"]();
  assert.equal(told.shown[0][0], "Index default: 3 documents, 3 chunks; current");
  assert.match(told.shown[0][1].detail, /^notes: 3 of 4 indexed, 1 file could not be read/);
  told.settings.command = "no-such-gnoctl";
  told.configure({ affectsConfiguration: (name) => name === "gno" });
  await told.commands["gno.status"]();
  assert.match(told.shown[1][0], /^gno: no-such-gnoctl cannot be run/);
});

daemon("links are followed and found back", async (t) => {
  const file = (name) => path.join(notes, name);
  const text = "# Links\n\nSee [[Harbour#Harbour|the harbour]].\n\nhttps://example.org/x\n\n[[nowhere]]\n\nThe harbour again.\n";
  fs.writeFileSync(file("links.md"), text);
  t.after(() => fs.rmSync(file("links.md")));
  const { told, extension } = activate();
  t.after(() => extension.dispose());
  await client(t).request("index.sync", {});
  const at = (name, line = 1, character = 0) => {
    const lines = fs.readFileSync(file(name), "utf8").split("\n");
    const document = { uri: { scheme: "file", fsPath: file(name) }, lineAt: (number) => ({ text: lines[number] }) };
    told.editor = { document, selection: { active: { line: line - 1, character } } };
  };
  const run = async (command) => {
    await told.commands[`gno.${command}`]();
    return told.shown.at(-1);
  };
  at("links.md", 3, 10);
  assert.deepEqual(await run("follow"), { address: file("harbour.md"), line: 4, text: "# Harbour" });
  at("links.md", 5);
  await run("follow");
  assert.deepEqual(told.opened, ["https://example.org/x"]);
  at("links.md", 7);
  assert.match((await run("follow"))[0], /nowhere does not lead to a document/);
  at("links.md", 1);
  assert.match((await run("follow"))[0], /the index has no link in this line/);
  at("harbour.md");
  assert.equal((await run("backlinks")).line, 3);
  assert.equal((await run("mentions")).line, 9);
  assert.deepEqual(told.offered, [
    ["Links to Harbour", "notes/links.md:3"],
    ["Mentions of Harbour", "notes/links.md:9"],
  ]);
});

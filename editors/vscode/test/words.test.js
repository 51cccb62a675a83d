"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { lineOf, linkAt } = require("../src/links");
const words = require("../src/words");

const hit = (snippet, ...marks) => ({ snippet, marks });

test("the preview is the line of the first match", () => {
  assert.equal(words.preview(hit("# Title\n\nthe lantern\nmore", [13, 20])), "the lantern");
  assert.equal(words.preview(hit("one line", [0, 3])), "one line");
  assert.equal(words.preview(hit("no match\nat all")), "no match");
});

test("no name changes how the rest reads", () => {
  const found = { collection: "notes", path: "x\u202efdp.md", line: 1 };
  assert.equal(words.place(found), "notes/x\ufffdfdp.md:1");
  assert.equal(words.visible("a\u001b\u2066b\nc\u200f"), "a\ufffd\ufffdb c\u200f");
});

test("marks count characters, not UTF-16 units", () => {
  assert.equal(words.preview(hit("🏮🏮🏮\nlantern\nend", [4, 11])), "lantern");
});

test("a plain text file opens itself", () => {
  for (const mime of ["text/markdown", "text/x-python", "text/plain", "application/json", "application/yaml"]) {
    assert.ok(words.isText({ mime }), mime);
  }
  for (const mime of ["application/pdf", "text/html", "text/csv", "application/zip"]) {
    assert.ok(!words.isText({ mime }), mime);
  }
});

test("the note says in the daemon's words what the index lacks, then what was left out", () => {
  const behind = { current: false, state: "syncing: 1 file is not indexed yet" };
  assert.equal(words.remarks(undefined), "");
  assert.equal(words.remarks({ freshness: { current: true, state: "current", failed: 1 }, notes: [] }), "");
  assert.equal(
    words.remarks({ freshness: behind, notes: ["one server was not asked", "another is down"] }),
    "syncing: 1 file is not indexed yet; one server was not asked; another is down",
  );
});

test("the link at the cursor", () => {
  const text = "See [[one|shown]], [two](two.md) and [[one]].";
  const found = ["one", "two.md", "one"].map((target, number) => ({ target, number }));
  const numbers = [...text].map((_, column) => linkAt(found, text, column).number).join("");
  assert.equal(numbers, "0".repeat(17) + "1".repeat(15) + "2".repeat(13));
  assert.equal(linkAt([], text, 0), undefined);
});

test("the line of a heading, or of a block", () => {
  const text = "---\ntitle: plan\n---\nA plan.\n\n## Plan B ##\n\nWords. ^note\n";
  assert.deepEqual(["plan b", "^note", "nothing"].map((name) => lineOf(text, name)), [6, 8, 1]);
});

// The part of VS Code's API that the extension uses, without a window. It records what would be shown.
"use strict";

const fs = require("node:fs");
const Module = require("node:module");

class EventEmitter {
  #listeners = [];
  event = (listener) => this.#listeners.push(listener);
  fire = (value) => this.#listeners.forEach((listener) => listener(value));
}

class Uri {
  constructor(scheme, rest) {
    Object.assign(this, { scheme, rest });
  }
  static file = (path) => new Uri("file", path);
  static parse = (text) => new Uri(text.split(":")[0], text);
  toString() {
    return this.rest;
  }
}

/** Return the stand-in, and what it recorded: `shown`, `commands`, `picks`, `answers` (to give), `settings`. */
function standIn(settings = {}) {
  const told = { shown: [], commands: {}, picks: [], providers: {}, opened: [], offered: [], settings };

  function quickPick() {
    const events = Object.fromEntries(["onDidChangeValue", "onDidAccept", "onDidHide"].map((n) => [n, new EventEmitter()]));
    const pick = { value: "", items: [], selectedItems: [], busy: false, visible: false };
    Object.assign(pick, {
      onDidChangeValue: events.onDidChangeValue.event,
      onDidAccept: events.onDidAccept.event,
      onDidHide: events.onDidHide.event,
      show: () => (pick.visible = true),
      hide: () => {
        pick.visible = false;
        events.onDidHide.fire();
      },
      dispose: () => {},
      type: (text) => events.onDidChangeValue.fire((pick.value = text)),
      accept: (item) => {
        pick.selectedItems = [item];
        events.onDidAccept.fire();
      },
    });
    told.picks.push(pick);
    return pick;
  }

  const vscode = {
    EventEmitter,
    Uri,
    Range: class {
      constructor(line) {
        this.line = line;
      }
    },
    TreeItem: class {
      constructor(label) {
        this.label = label;
      }
    },
    ProgressLocation: { Window: 10 },
    env: { openExternal: async (uri) => told.opened.push(uri.toString()) },
    window: {
      get activeTextEditor() {
        return told.editor;
      },
      showQuickPick: async (items, { placeHolder }) => {
        told.offered.push([placeHolder, items[0].label ?? items[0]]);
        return items.at(-1);
      },
      createQuickPick: quickPick,
      createTreeView: (_, { treeDataProvider }) => (told.view = { provider: treeDataProvider, dispose() {} }),
      showInputBox: async () => told.answer,
      showInformationMessage: async (...message) => told.shown.push(message),
      showWarningMessage: async (...message) => told.shown.push(message),
      showTextDocument: async ({ uri, text }, { selection }) =>
        told.shown.push({ address: uri.toString(), line: selection.line + 1, text: text.split("\n")[selection.line] }),
      withProgress: (_, task) => task({}, { onCancellationRequested: new EventEmitter().event }),
    },
    workspace: {
      getConfiguration: () => ({ get: (name) => ({ command: "gnoctl", index: "", limit: 20, ...told.settings })[name] }),
      onDidChangeConfiguration: (listener) => (told.configure = listener),
      registerTextDocumentContentProvider: (scheme, provider) => (told.providers[scheme] = provider),
      openTextDocument: async (uri) => {
        const provider = told.providers[uri.scheme];
        const text = provider ? await provider.provideTextDocumentContent(uri) : fs.readFileSync(uri.rest, "utf8");
        return { uri, text, lineCount: text.split("\n").length };
      },
    },
    commands: {
      registerCommand: (name, run) => (told.commands[name] = run),
      executeCommand: async () => {},
    },
  };
  return { vscode, told };
}

/** Load the extension as VS Code would: the file that its manifest names, with the stand-in for the API. Activate it. */
function activate(settings) {
  const { vscode, told } = standIn(settings);
  const path = require.resolve("..");
  const load = Module._load;
  Module._load = (request, ...rest) => (request === "vscode" ? vscode : load(request, ...rest));
  try {
    delete require.cache[path];
    const context = { subscriptions: [] };
    require(path).activate(context);
    return { told, extension: context.subscriptions[0] };
  } finally {
    Module._load = load;
  }
}

/** Wait until `condition` holds. */
async function until(condition, what = condition) {
  const deadline = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > deadline) {
      throw new Error(`it did not happen in time: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

module.exports = { activate, until };

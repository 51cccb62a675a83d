// The extension: six commands, a view of the hits, and documents of the scheme `gno`.
"use strict";

const fs = require("node:fs");
const vscode = require("vscode");
const { Client, CANCELLED } = require("./client");
const links = require("./links");
const { Live } = require("./live");
const words = require("./words");

const SCHEME = "gno";

class Extension {
  #client;
  #changed = new vscode.EventEmitter();
  #hits = [];
  onDidChangeTreeData = this.#changed.event;

  constructor() {
    this.view = vscode.window.createTreeView("gno.hits", { treeDataProvider: this });
  }

  get client() {
    const settings = vscode.workspace.getConfiguration("gno");
    this.#client ??= new Client({ command: settings.get("command"), index: settings.get("index") });
    return this.#client;
  }

  get limit() {
    return vscode.workspace.getConfiguration("gno").get("limit");
  }

  /** Drop the connection; the next request reads the settings again. */
  dispose() {
    this.#client?.dispose();
    this.#client = undefined;
  }

  /** Search as you type, and open the chosen hit. The hits stay in the view. */
  search() {
    const pick = vscode.window.createQuickPick();
    pick.placeholder = "Words to search your documents for";
    pick.sortByLabel = false; // keep the daemon's order
    const live = new Live(this.client, this.limit, ({ hits, message, result, busy = false }) => {
      pick.busy = busy;
      if (busy) {
        return;
      }
      pick.title = message ?? (words.remarks(result) || undefined);
      pick.items = hits.map((hit) => ({
        label: words.visible(hit.title),
        description: words.place(hit),
        detail: words.preview(hit),
        alwaysShow: true, // VS Code would filter again, by the letters of the title
        hit,
      }));
    });
    pick.onDidChangeValue((text) => live.input(text));
    pick.onDidAccept(async () => {
      const [chosen] = pick.selectedItems;
      if (!chosen) {
        return;
      }
      this.#keep(pick.value, pick.items.map((item) => item.hit));
      pick.hide();
      await this.open(chosen.hit);
    });
    pick.onDidHide(() => {
      live.stop();
      pick.dispose();
    });
    pick.show();
  }

  /** Ask for a query, search by keyword and meaning, and show the hits in the view. */
  async find() {
    const query = await vscode.window.showInputBox({ prompt: "Search by keyword and meaning" });
    if (!query?.trim()) {
      return;
    }
    await this.#softly(async () => {
      const result = await this.#waiting((signal) =>
        this.client.request("search.query", { query, limit: this.limit }, signal),
      );
      const notes = [
        result.hits.length ? undefined : "nothing found",
        result.lexical_only_reason && `keyword search only: ${result.lexical_only_reason}`,
        words.remarks(result),
      ];
      this.#keep(query, result.hits, notes.filter(Boolean).join("; "));
      await vscode.commands.executeCommand("gno.hits.focus");
    });
  }

  async status() {
    await this.#softly(async () => {
      const [head, ...rest] = words.status(await this.client.request("index.status", {}));
      await vscode.window.showInformationMessage(head, { modal: true, detail: rest.join("\n") });
    });
  }

  /** Follow the link at the cursor: to a document and its heading, or to an address in the browser. */
  async follow() {
    await this.#softly(async () => {
      const { document, selection } = editor();
      const { line, character } = selection.active;
      const found = await this.client.request("document.links", { ref: refOf(document), direction: "out", limit: 1000 });
      const here = found.links.filter((link) => link.line === line + 1);
      const link = links.linkAt(here, document.lineAt(line).text, character);
      if (!link) {
        throw new Error("the index has no link in this line: save the file first if it is new");
      }
      const to = link.to ?? (await this.#which(link));
      if (to) {
        await this.#go(to, 1, link.fragment);
      } else if (link.state === "external" && links.isWeb(link.target)) {
        await vscode.env.openExternal(vscode.Uri.parse(link.target));
      } else if (!link.candidates?.length) {
        throw new Error(`${link.target} does not lead to a document of the index, and is not a web or mail address`);
      }
    });
  }

  /** Choose one of the links to this file, and go there. */
  async backlinks() {
    await this.#choose("document.links", { direction: "in", limit: 1000 }, (found) => found.backlinks, "Links to");
  }

  /** Choose one of the places that mention this file without a link, and go there. */
  async mentions() {
    await this.#choose("links.mentions", { limit: 1000 }, (found) => found.mentions, "Mentions of");
  }

  async #choose(method, params, places, prompt) {
    await this.#softly(async () => {
      const found = await this.client.request(method, { ref: refOf(editor().document), ...params });
      const items = places(found).map(links.item);
      const title = words.visible(found.title);
      if (!items.length) {
        throw new Error(`${prompt} ${title}: there are none`);
      }
      const chosen = await vscode.window.showQuickPick(items, { placeHolder: `${prompt} ${title}` });
      if (chosen) {
        await this.#go(chosen.place.uri, chosen.place.line, "");
      }
    });
  }

  async #which({ target, candidates }) {
    return candidates?.length ? vscode.window.showQuickPick(candidates, { placeHolder: `Which ${words.visible(target)}?` }) : undefined;
  }

  /** Open a document at a line, or at the heading that a fragment names. */
  async #go(uri, line, fragment) {
    const place = await this.client.request("document.locate", { ref: uri });
    if (fragment) {
      line = links.lineOf((await this.client.request("document.get", { ref: uri })).text, fragment);
    }
    await this.open({ ...place, line });
  }

  /** Open the hit at its line: the file if it is text, else the indexed text. */
  async open(hit) {
    await this.#softly(async () => {
      const itself = words.isText(hit) && fs.existsSync(hit.source);
      const address = itself ? vscode.Uri.file(hit.source) : vscode.Uri.parse(hit.uri);
      const document = await vscode.workspace.openTextDocument(address);
      const line = Math.min(hit.line, document.lineCount) - 1;
      await vscode.window.showTextDocument(document, { selection: new vscode.Range(line, 0, line, 0) });
    });
  }

  // The methods that VS Code expects of a document provider and of a view.

  async provideTextDocumentContent(address) {
    return (await this.client.request("document.get", { ref: address.toString() })).text;
  }

  getChildren(parent) {
    return parent ? [] : this.#hits;
  }

  getTreeItem(hit) {
    const item = new vscode.TreeItem(words.visible(hit.title));
    item.description = words.place(hit);
    item.tooltip = words.preview(hit);
    item.command = { command: "gno.open", title: "Open", arguments: [hit] };
    return item;
  }

  #keep(query, hits, message) {
    this.#hits = hits;
    this.view.description = query;
    this.view.message = message || undefined;
    this.#changed.fire();
  }

  #waiting(task) {
    const options = { location: vscode.ProgressLocation.Window, title: "gno: searching", cancellable: true };
    return vscode.window.withProgress(options, (_, token) => {
      const controller = new AbortController();
      token.onCancellationRequested(() => controller.abort());
      return task(controller.signal);
    });
  }

  /** Run an action that may fail, and report a failure without blocking. */
  async #softly(task) {
    try {
      await task();
    } catch (error) {
      if (error.code !== CANCELLED) {
        vscode.window.showWarningMessage(`gno: ${error.message}`);
      }
    }
  }
}

/** Return the editor that has the cursor. */
function editor() {
  if (!vscode.window.activeTextEditor) {
    throw new Error("no file is open");
  }
  return vscode.window.activeTextEditor;
}

/** Return the name of a document in the index: its file, or its address. */
const refOf = ({ uri }) => (uri.scheme === SCHEME ? uri.toString() : uri.fsPath);

function activate(context) {
  const extension = new Extension();
  context.subscriptions.push(
    extension,
    extension.view,
    vscode.commands.registerCommand("gno.search", () => extension.search()),
    vscode.commands.registerCommand("gno.find", () => extension.find()),
    vscode.commands.registerCommand("gno.follow", () => extension.follow()),
    vscode.commands.registerCommand("gno.backlinks", () => extension.backlinks()),
    vscode.commands.registerCommand("gno.mentions", () => extension.mentions()),
    vscode.commands.registerCommand("gno.status", () => extension.status()),
    vscode.commands.registerCommand("gno.open", (hit) => extension.open(hit)),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, extension),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("gno") && extension.dispose()),
  );
}

module.exports = { activate };

/** Maps keys to actions. Must not depend on views. */

export const KEYS = [
  ["/", "Go to the search field"],
  ["↓ ↑", "Choose a hit; Page keys move further"],
  ["Enter", "Open the hit, or ask the question"],
  ["Esc", "Back to the list; clear the query"],
  ["F2", "Filters"],
  ["Alt-T", "Hybrid, keyword, vector"],
  ["Alt-A", "Ask this question"],
  ["Ctrl-S", "Similar documents"],
  ["Ctrl-Y", "Copy the path; with Shift a citation"],
  ["Ctrl-O", "Open in your editor or viewer"],
  ["Alt-L", "Links in the document, and links to it"],
  ["Alt-G", "The graph around the document"],
  ["Alt-N", "Write a note"],
  ["n N", "Next and previous match in the document"],
  ["F1 ?", "This help"],
];

/** The action of a key event, or null. While the user writes, single characters are text. */
export function actionOf(event, { isWriting, isSearching }) {
  if (event.isComposing) return null;
  return withControl(event) ?? plain(event, isWriting, isSearching);
}

function withControl({ ctrlKey, metaKey, altKey, shiftKey, code }) {
  if (altKey && !ctrlKey && !metaKey) return { KeyA: "ask", KeyT: "mode", KeyE: "explain", KeyL: "links", KeyG: "graph", KeyN: "capture" }[code] ?? null;
  if (!(ctrlKey || metaKey) || altKey) return null;
  if (code === "KeyY") return shiftKey ? "cite" : "copy";
  return shiftKey ? "none" : ({ KeyS: "similar", KeyO: "openFile", KeyK: "focus" }[code] ?? "none");
}

function plain({ key, shiftKey }, isWriting, isSearching) {
  if (key === "F1") return "help";
  if (key === "F2") return "filters";
  if (key === "Escape") return "escape";
  if (isSearching) return { ArrowDown: "down", ArrowUp: "up", PageDown: "pageDown", PageUp: "pageUp", Enter: "enter" }[key] ?? null;
  if (isWriting) return null;
  if (key === "n" || key === "N") return shiftKey ? "previousMatch" : "nextMatch";
  return { "/": "focus", "?": "help" }[key] ?? null;
}

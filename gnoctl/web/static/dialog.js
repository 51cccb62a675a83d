/** A dialog over the page, one at a time. It is removed when it is closed. */

import { button, h } from "./dom.js";

export function showDialog(title, ...content) {
  const close = button("×", () => dialog.close(), { class: "button icon", "aria-label": "Close" });
  const dialog = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => dialog.remove() }, h("div.card-head", {}, h("h2", { id: "dialog-title" }, title), close), content);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** The outline of a document: a button that opens the list of headings, with a filter. */

import { button, fill, h } from "./dom.js";
import { number } from "./text.js";

const FEW = 12;
const MOST = 500;

/** `entries`: objects with `title`, `level`, and `line` or `fragment`. */
export function outline(entries) {
  const list = h("div");
  const field = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the outline", autocomplete: "off", spellcheck: "false", hidden: entries.length < FEW, oninput: () => draw() });
  const box = h("nav.outline", { "aria-label": "Outline", hidden: true }, field, list);
  const toggle = button("Outline", () => show(box.hidden), { "aria-expanded": "false" });
  box.addEventListener("click", (event) => event.target.closest("a") && show(false));

  function show(isShown) {
    if (isShown) draw();
    box.hidden = !isShown;
    toggle.setAttribute("aria-expanded", String(isShown));
    if (isShown) field.focus();
  }

  function draw() {
    const wanted = field.value.trim().toLowerCase();
    const found = entries.filter(({ title }) => title.toLowerCase().includes(wanted));
    const links = found.slice(0, MOST).map(({ title, level, line, fragment = `L${line}` }) => h("a", { href: `#${fragment}`, class: `level-${Math.min(6, level)}`, dir: "auto" }, title));
    fill(list, links.length ? links : h("p.hint", {}, "No heading has this text."), found.length > MOST ? h("p.hint", {}, `${number(found.length - MOST)} more: write a part of the heading.`) : null);
  }
  function close(event) {
    if (event.key !== "Escape" || box.hidden) return;
    event.stopPropagation(); // do not close the document
    show(false);
    toggle.focus();
  }
  return h("span.outline-box", { onkeydown: close }, toggle, box);
}

/** Creates elements. Strings become text, never HTML, and cannot change the direction of other text. Must not depend on the application. */

/** Return a text of the same length without control characters and changes of direction. */
export const visible = (text) => text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (found) => (/\s/.test(found) ? " " : "\ufffd"));

/**
 * Return an element: `h("a.button", { href: "/" }, "Home")`. Properties that begin with `on` are listeners; null, undefined and false
 * leave an attribute or a child out.
 */
export function h(spec, properties = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  setAll(element, properties);
  element.append(...present(children));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  setAll(element, properties);
  element.append(...present(children));
  return element;
}

export function $(selector, root = document) {
  return root.querySelector(selector);
}

/** Replace the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
  return element;
}

/** Unfold everything around an element, so that it is visible. */
export function unfold(element) {
  for (let folded = element; (folded = folded?.closest("details:not([open])")); ) folded.open = true;
}

/** Wait before the next request for progress: until the time is over, and the page is visible. */
export async function nextLook(element, pauseMs) {
  do await new Promise((resume) => setTimeout(resume, pauseMs));
  while (document.hidden || !element.offsetParent);
}

export function button(label, onclick, properties = {}) {
  return h("button.button", { type: "button", onclick, ...properties }, label);
}

/** A key, as the help and the empty states show it. */
export const key = (name) => h("kbd", {}, name);

function present(children) {
  const given = children.flat(3).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
  return given.map((child) => (typeof child === "string" ? visible(child) : child));
}

// Attributes that people read or hear. Other attributes are values.
const NAMES = new Set(["title", "aria-label", "alt"]);

function setAll(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : NAMES.has(name) ? visible(String(value)) : value);
  }
}

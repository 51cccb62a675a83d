/** The files that could not be read, by reason, with advice. */

import { button, h } from "./dom.js";
import { count, inline, number } from "./text.js";

const REASONS = {
  corrupt: ["Damaged", "They are cut off, or their content does not match their names. A complete copy is read automatically."],
  encrypted: ["Encrypted", "Save a copy without a password."],
  unreadable: ["No permission", "gnod runs as you and may not read them. When you may, it reads them by itself."],
  timeout: ["Took too long", "They are tried again a few times."],
  memory: ["Need too much memory", "They are tried again a few times."],
  crashed: ["Broke their converter", "They are tried again a few times."],
  unstable: ["Change all the time", "They are read when they stop changing."],
  vanished: ["Vanished while they were read", ""],
  too_long: ["Too long", "Split them."],
};
const FIRST = 20;

/** The failures of `index.status`. `act(done, method, params)` calls a method and tells the user. */
export function failures({ errors, errors_left_out: leftOut }, act) {
  if (!errors?.length) return null;
  const unknown = errors.filter((each) => !each.acknowledged);
  const known = errors.filter((each) => each.acknowledged);
  return [
    h("h2", {}, `${count(errors.length + leftOut, "file")} could not be read`),
    byKind(unknown).map(([kind, files]) => group(kind, files, act)),
    known.length ? h("details.known", {}, h("summary", {}, `${count(known.length, "file")} that you know about`), byKind(known).map(([kind, files]) => group(kind, files, act, { isKnown: true }))) : null,
    leftOut ? h("p", {}, `and ${number(leftOut)} more`) : null,
  ];
}

export function failure(each, { hasKind = true } = {}) {
  return h("li", {}, h("a", { href: `/collections?why=${encodeURIComponent(`${each.collection}/${each.path}`)}` }, `${each.collection}/${each.path}`), hasKind ? h("span.kind", {}, each.kind) : null, h("p", {}, inline(each.message)));
}

const byKind = (errors) => Object.entries(Object.groupBy(errors, (each) => each.kind));

function group(kind, files, act, { isKnown = false } = {}) {
  const [name, advice] = REASONS[kind] ?? [kind, ""];
  const again = button("Try again", () => act("They were read again.", "index.retry", { kinds: [kind] }), { "aria-label": `Try again: ${name}` });
  const know = button("I know", () => act("They are not mentioned again until they change.", "index.acknowledge", { kinds: [kind] }), { "aria-label": `I know: ${name}` });
  const items = files.map((each) => failure(each, { hasKind: false }));
  const rest = items.slice(FIRST);
  return h(
    "div.reason",
    {},
    h("div.card-head", {}, h("h3", {}, `${name} · ${number(files.length)}`), h("div.tools", {}, again, isKnown ? null : know)),
    advice ? h("p.about", {}, advice) : null,
    h("ul.failures", {}, items.slice(0, FIRST)),
    rest.length ? h("details", {}, h("summary", {}, `${number(rest.length)} more`), h("ul.failures", {}, rest)) : null,
  );
}

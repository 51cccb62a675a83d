/** Highlights words in rendered text without changing it, with the browser's own highlights (CSS Custom Highlight API). */

const NAME = "match";

/** Highlight these ranges, and no others. */
export function paint(ranges) {
  if (!globalThis.CSS?.highlights) return;
  if (ranges.length) CSS.highlights.set(NAME, new Highlight(...ranges));
  else CSS.highlights.delete(NAME);
}

/** Return the ranges that a pattern matches below an element. What is embedded there is of another document. */
export function matches(pattern, root) {
  const ranges = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".embed")) continue;
    for (const found of node.data.matchAll(pattern)) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      ranges.push(range);
    }
  }
  return ranges;
}

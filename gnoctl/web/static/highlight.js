/** Highlights words in rendered text without changing it, with the browser's own highlights (CSS Custom Highlight API). */

const BLOCKS = "p, li, td, th, pre, h1, h2, h3, h4, h5, h6, dt, dd, summary, blockquote, div";

/** Highlight these ranges under a name of the style sheet, and no others. */
export function paint(ranges, name = "match") {
  if (!globalThis.CSS?.highlights) return;
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  else CSS.highlights.delete(name);
}

/**
 * Return the ranges that a pattern matches below an element, even across emphasis; a phrase may span two blocks. Embedded notes are left
 * out, because they belong to another document.
 */
export function matches(pattern, root) {
  const { text, nodes, starts } = joined(root);
  return [...text.matchAll(pattern)].map((found) => {
    const range = document.createRange();
    const [first, last] = [found.index, found.index + found[0].length - 1].map((at) => starts.findLastIndex((start) => start <= at));
    range.setStart(nodes[first], found.index - starts[first]);
    range.setEnd(nodes[last], found.index + found[0].length - starts[last]);
    return range;
  });
}

/** The text below an element, with a line end between blocks, and its nodes with their beginnings. */
function joined(root) {
  const [nodes, starts] = [[], []];
  let text = "";
  let block = null;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".embed")) continue;
    const own = node.parentElement.closest(BLOCKS);
    if (own !== block) text += "\n";
    block = own;
    starts.push(text.length);
    nodes.push(node);
    text += node.data;
  }
  return { text, nodes, starts };
}

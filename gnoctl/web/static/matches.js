/** Goes from match to match in the parts of a document, loaded or not. Must not depend on the kind of the parts. */

export class Matches {
  /**
   * `parts`: objects whose `found` are the matches on the screen, null until they are loaded, and which may be cut; `load(part)` loads
   * them. `lines`: of all matches; `partOf(line)`: the number of the part that contains a line; `isExact`: there are no more matches.
   */
  constructor(parts, { lines, partOf, isExact, load }) {
    Object.assign(this, { parts, isAll: isExact, load, current: null });
    this.expected = new Array(parts.length).fill(0);
    for (const line of lines) this.expected[partOf(line)] += 1;
  }

  /** The number of matches: as counted on the screen for loaded parts, and in the index for the others. */
  get total() {
    return this.parts.reduce((sum, _, at) => sum + this.#count(at), 0);
  }

  /** Whether all matches are known. */
  get isExact() {
    return this.isAll && !this.parts.some((part) => part.isCut);
  }

  /** The number of the current match, from 1; 0 if there is none. */
  get number() {
    if (!this.current) return 0;
    const { at, index } = this.current;
    return this.parts.slice(0, at).reduce((sum, _, each) => sum + this.#count(each), index + 1);
  }

  /** The parts that have a match, by number. */
  get places() {
    return [...this.parts.keys()].filter((at) => this.#count(at));
  }

  /** Go to the next match, or to the previous one, and return it; null if there is none. `from`: the part and match to begin at. */
  async step(by, from) {
    let { at, index } = this.current ? { ...this.current, index: this.current.index + by } : from;
    for (let tried = 0; tried <= this.parts.length; tried += 1) {
      if (this.#count(at)) await this.load(this.parts[at]);
      const found = this.parts[at].found ?? [];
      if (index === Infinity) index = found.length - 1;
      if (found[index]) {
        this.current = { at, index };
        return found[index];
      }
      at = (at + by + this.parts.length) % this.parts.length;
      index = by > 0 ? 0 : Infinity;
    }
    return null;
  }

  #count(at) {
    return this.parts[at].found?.length ?? this.expected[at];
  }
}

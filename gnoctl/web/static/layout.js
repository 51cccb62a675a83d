/** Places the nodes of a graph by forces (Fruchterman and Reingold 1991). Pure and deterministic: the same graph gives the same picture. */

const ROUNDS = 120;
const GRAVITY = 0.04;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

/** Positions in units of the desired length of an edge. The first node stays in the centre. */
export class Layout {
  /** `distances` of the nodes from the centre; `edges`: pairs of indexes. */
  constructor(distances, edges) {
    const count = distances.length;
    this.edges = edges;
    this.x = Float64Array.from(distances, (distance, index) => Math.sqrt(index) * Math.max(1, distance) * 0.6 * Math.cos(index * GOLDEN_ANGLE));
    this.y = Float64Array.from(distances, (distance, index) => Math.sqrt(index) * Math.max(1, distance) * 0.6 * Math.sin(index * GOLDEN_ANGLE));
    this.dx = new Float64Array(count);
    this.dy = new Float64Array(count);
    this.round = 0;
  }

  get isStable() {
    return this.round >= ROUNDS;
  }

  /** Continue for about this many milliseconds, or to the end. */
  run(budgetMs = Infinity) {
    const end = performance.now() + budgetMs;
    while (!this.isStable && performance.now() < end) this.#step();
  }

  #step() {
    this.dx.fill(0);
    this.dy.fill(0);
    this.#repel();
    this.#attract();
    this.#move(1.5 * (1 - this.round / ROUNDS) ** 2 + 0.01);
    this.round += 1;
  }

  #repel() {
    const { x, y, dx, dy } = this;
    for (let a = 1; a < x.length; a += 1) {
      for (let b = 0; b < a; b += 1) {
        const across = x[a] - x[b];
        const down = y[a] - y[b];
        const force = 1 / Math.max(0.01, across * across + down * down);
        dx[a] += across * force;
        dy[a] += down * force;
        dx[b] -= across * force;
        dy[b] -= down * force;
      }
    }
  }

  #attract() {
    const { x, y, dx, dy } = this;
    for (const [a, b] of this.edges) {
      const across = x[a] - x[b];
      const down = y[a] - y[b];
      const force = Math.hypot(across, down);
      dx[a] -= across * force;
      dy[a] -= down * force;
      dx[b] += across * force;
      dy[b] += down * force;
    }
  }

  /** `most`: how far a node moves in this round. */
  #move(most) {
    const { x, y, dx, dy } = this;
    for (let node = 1; node < x.length; node += 1) {
      const across = dx[node] - GRAVITY * x[node];
      const down = dy[node] - GRAVITY * y[node];
      const length = Math.hypot(across, down) || 1;
      const share = Math.min(most, length) / length;
      x[node] += across * share;
      y[node] += down * share;
    }
  }
}

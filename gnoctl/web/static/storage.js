/** Values that the browser stores for this page. If storage is blocked, they last as long as the page. */

export function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // blocked, or written by another program
  }
}

export function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Blocked, or full.
  }
}

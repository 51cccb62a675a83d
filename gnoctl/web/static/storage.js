/** What the browser keeps for this page; as long as the page, where storage is blocked. */

export function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // blocked, or not ours
  }
}

export function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Blocked, or full.
  }
}

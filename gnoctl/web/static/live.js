/** The stream of changes, which reconnects by itself. Notifies listeners of the state, changed files, and whether the daemon answers. */

const RETRY_MS = 1500;
const PATIENCE_MS = 1200;

/** Follow the index. `on.state(state)`, `on.changed(change)`, `on.daemon({ available, message })`. */
export function follow(on) {
  let isLost = false;
  let patience = null;
  open();

  function open() {
    const source = new EventSource("/api/events");
    const listen = (name, handle) => source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    source.onopen = connected;
    source.onerror = () => lost(source);
    listen("state", on.state);
    listen("changed", on.changed);
    listen("daemon", on.daemon);
    window.addEventListener("pagehide", () => source.close(), { once: true });
  }

  function connected() {
    clearTimeout(patience);
    patience = null;
    if (isLost) on.daemon({ available: true });
    isLost = false;
  }

  /** A short break is not worth a banner. A stream that the server refused does not try again by itself. */
  function lost(source) {
    patience ??= setTimeout(() => {
      isLost = true;
      on.daemon({ available: false, message: "The page's server does not answer. Run `gnoctl web` again and open the address that it prints." });
    }, PATIENCE_MS);
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(open, RETRY_MS);
  }
}

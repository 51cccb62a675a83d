/** Talks to the server: requests, the streamed answer, addresses of images. Knows the contract, not the page. */

export class ApiError extends Error {
  constructor(status, { kind = "error", message = `the server answered with status ${status}`, data = {} } = {}) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.data = data;
  }
}

const JSON_TYPE = { "Content-Type": "application/json" };

/** Return the result of a method of docs/protocol.md. Aborting cancels it in the daemon. */
export async function rpc(method, params = {}, { signal } = {}) {
  const response = await send(`/api/rpc/${method}`, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(params), signal });
  return response.json();
}

/** Return the part of a document with the line `from`, or with the place that the reference names; `isPart`: only the part. */
export async function getDocument(ref, { from, isPart, signal } = {}) {
  const params = new URLSearchParams({ ref, ...(from && { from }), ...(isPart && { part: "" }) });
  const response = await send(`/api/document?${params}`, { signal });
  return response.json();
}

/** Open a file in the user's program, or show it in the file manager (`where`: "open" or "folder"). */
export async function openFile(ref, where = "open") {
  const response = await send(`/api/${where}`, { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ ref }) });
  return response.json();
}

/** Yield the stream of `ask`: objects with `progress`, and at the end one with `result`. */
export const ask = (params, options) => streamed("/api/ask", params, options);

/** Download models, with the same kind of stream. Aborting stops the download. */
export const pull = (params, options) => streamed("/api/pull", params, options);

async function* streamed(address, params, { signal } = {}) {
  const response = await send(address, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(params), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) yield parsed(line);
    if (done) return;
  }
}

export function imageUrl(ref, page, width) {
  const params = new URLSearchParams({ ref, width });
  if (page) params.set("page", page);
  return `/api/image?${params}`;
}

export const isAbort = (error) => error?.name === "AbortError";

/** The address of a document, for requests. */
export function refOf(collection, path, fragment = "") {
  const parts = [collection, ...path.split("/")].map(encodeURIComponent).join("/");
  return `gno://${parts}${fragment ? `#${fragment}` : ""}`;
}

function parsed(line) {
  const message = JSON.parse(line);
  if (message.error) throw new ApiError(200, message.error);
  return message;
}

async function send(address, options) {
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(0, { kind: "server_unavailable", message: "gnoctl web does not answer. Start it again with `gnoctl web`." });
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new ApiError(response.status, body.error);
}

// The desk's JSON API (/api/openapi.json).

let csrf = "";

export class Refused extends Error {
  constructor(status, told) {
    super(typeof told?.detail === "string" ? told.detail : `the desk answered ${status}`);
    this.status = status;
  }
}

async function ask(method, path, body) {
  const headers = { accept: "application/json" };
  if (method !== "GET") headers["x-desk-csrf"] = csrf;
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(path, {
    method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin",
  });
  const told = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(answer.status, told);
  return told;
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);
export const remove = (path) => ask("DELETE", path);

export async function project() {
  const found = await get("/api/project");
  csrf = found.csrf;
  return found;
}

// The name of a batch: should the answer get lost, sending it again does no harm.
export function batch() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

// Post a change; where the line drops, once more under the same name.
export async function change(path, body) {
  const named = { batch: batch(), ...body };
  try {
    return await post(path, named);
  } catch (error) {
    if (error instanceof Refused) throw error;
    await new Promise((done) => setTimeout(done, 800));
    return await post(path, named);
  }
}

export function query(values) {
  const pairs = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return new URLSearchParams(pairs).toString();
}

// Small helpers. Text only ever becomes a text node: nothing that a corpus holds is read as markup.

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key in made && key !== "list" && key !== "form") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    made.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
  return made;
}

// Characters that turn the reading direction around or are not there to see are shown as what they are.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
export function visible(text) {
  return text.replace(UNSEEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export const by = (id) => document.getElementById(id);

export function fill(place, ...children) {
  place.replaceChildren(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
}

let timer;
export function say(text) {
  fill(by("message"), el("span", {}, text));
  clearTimeout(timer);
  timer = setTimeout(() => fill(by("message")), 4000 + 60 * text.length); // time to read it
}

export const count = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;
export const expected = (wrong) => `${wrong.toFixed(wrong < 1 ? 2 : 1)} errors expected`;
export const percent = (value) => `${Math.round(100 * value)} %`;

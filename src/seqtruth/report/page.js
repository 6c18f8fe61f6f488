"use strict";
(() => {
  const block = document.getElementById("data");
  const list = document.getElementById("list");
  if (!list) return;
  const PAGE = 10, LETTERS = 180, CHIPS = 16, NAMES = 8, FEW = 3;
  const at = id => document.getElementById(id);
  const make = (tag, name, text) => {
    const node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const number = value => value.toLocaleString("en");
  let data, lower, byDoubt, shown = [], page = 0;

  async function read() {
    let text = block.textContent;
    if (block.type.endsWith("gzip")) {
      const letters = atob(text), packed = new Uint8Array(letters.length);
      for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
      text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    }
    data = JSON.parse(text);
    byDoubt = Array.from(data.sure.keys()).sort((a, b) => data.sure[a] - data.sure[b] || a - b);
    const fill = (select, names) => names && select && names
      .map((name, k) => [name, k]).sort((a, b) => a[0].localeCompare(b[0]))
      .forEach(([name, k]) => select.append(new Option(name, String(k))));
    fill(at("by-type"), data.types);
    fill(at("by-who"), data.who);
  }

  // columns of numbers are texts until a sentence is looked at
  const numbers = text => text ? text.split(" ").map(Number) : [];
  const remembered = make => {
    const known = new Map();
    return s => { if (!known.has(s)) known.set(s, make(s)); return known.get(s); };
  };
  const found = remembered(s => numbers(data.spans[s]));
  const said = remembered(s => data.said[s] ? data.said[s].split("|").map(one => {
    const [who, spans] = one.split(":");
    return [numbers(who), spans === "=" ? 0 : numbers(spans)];
  }) : []);

  // does the sentence hold the type, in the result or in anybody's reading?
  function holds(s, type) {
    const own = found(s);
    for (let i = 2; i < own.length; i += 4) if (own[i] === type) return true;
    return said(s).some(([, spans]) => {
      for (let i = 2; i < spans.length; i += 3) if (spans[i] === type) return true;
      return false;
    });
  }

  function filter() {
    const words = at("search").value.trim().toLowerCase();
    const type = at("by-type").value, sure = at("by-sure").value;
    const who = at("by-who") ? at("by-who").value : "", differ = at("differ") && at("differ").checked;
    const [low, high] = sure ? sure.split("-").map(Number) : [-1, 2000];
    if (words && !lower) lower = data.text.map((text, s) => (data.id[s] + " " + text).toLowerCase());
    const kind = Number(type), person = Number(who);
    shown = (at("order").value === "sure" ? byDoubt : Array.from(data.text.keys())).filter(s => {
      if (data.sure[s] < low || data.sure[s] >= high) return false;
      if (words && !lower[s].includes(words)) return false;
      if (type && !holds(s, kind)) return false;
      if (who && !said(s).some(([names, spans]) => names.includes(person) && (!differ || spans))) return false;
      return !differ || who || said(s).some(([, spans]) => spans);
    });
    page = 0;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    list.replaceChildren(...shown.slice(page * PAGE, (page + 1) * PAGE).map(item));
    const all = data.text.length;
    at("count").textContent = shown.length === all ? `${number(all)} sentences`
      : `${number(shown.length)} of ${number(all)} sentences`;
    at("pages").hidden = pages === 1;
    at("place").textContent = `Page ${number(page + 1)} of ${number(pages)}`;
    at("before").disabled = page === 0;
    at("after").disabled = page === pages - 1;
  }

  // spans as [start, end, type, confidence], outer ones first; those that cross are cut
  function spansOf(flat, step) {
    const spans = [];
    for (let i = 0; i < flat.length; i += step) {
      if (flat[i + 1] > flat[i]) spans.push([flat[i], flat[i + 1], flat[i + 2], step === 4 ? flat[i + 3] : null]);
    }
    return spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  }

  function mark(span, inner) {
    const node = make("mark", "c" + span[2] % 8);
    node.append(...inner);
    const label = make("small", "", data.types[span[2]]);
    node.append(label);
    node.title = `${data.types[span[2]]}, ${data.probable ? "confidence" : "score"} ${(span[3] / 1000).toFixed(2)}`;
    return node;
  }

  function dotted(text, from, weak) {
    const parts = [];
    let done = from;
    for (const [a, b] of weak) {
      const start = Math.max(a, from), end = Math.min(b, from + text.length);
      if (end <= start) continue;
      if (start > done) parts.push(text.slice(done - from, start - from));
      parts.push(make("span", "weak", text.slice(start - from, end - from)));
      done = end;
    }
    if (done < from + text.length) parts.push(text.slice(done - from));
    return parts;
  }

  function pieces(text, spans, from, to, weak) {
    const out = [];
    let done = from, k = 0;
    while (k < spans.length) {
      const span = spans[k], inner = [];
      let next = k + 1;
      while (next < spans.length && spans[next][0] < span[1]) {
        const one = spans[next++];
        inner.push([one[0], Math.min(one[1], span[1]), one[2], one[3]]);
      }
      if (span[0] > done) out.push(...dotted(text.slice(done, span[0]), done, weak));
      out.push(mark(span, pieces(text, inner, span[0], span[1], weak)));
      done = span[1];
      k = next;
    }
    if (done < to) out.push(...dotted(text.slice(done, to), done, weak));
    return out;
  }

  const key = span => span.slice(0, 3).join(" ");
  // names with characters that turn the direction of writing keep that to themselves
  const name = w => /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufefc]/.test(data.who[w]) ? `\u2068${data.who[w]}\u2069` : data.who[w];
  const names = who => who.length <= NAMES + 1 ? who.map(name).join(", ")
    : `${who.slice(0, NAMES).map(name).join(", ")} and ${who.length - NAMES} more`;

  function chip(text, span, kind) {
    const words = text.slice(span[0], span[1]);
    const node = make("span", `chip ${kind}`);
    if (kind !== "same") node.append(make("b", "", kind === "plus" ? "+" : "−"));
    const body = make("span", "type c" + span[2] % 8, words.length > LETTERS ? words.slice(0, LETTERS) + "…" : words);
    body.append(make("small", "", data.types[span[2]]));
    node.append(body);
    if (kind !== "same") node.prepend(make("span", "unseen", kind === "plus" ? "instead" : "not"));
    return node;
  }

  function reading(text, who, flat, own) {
    const row = make("div", "reading"), line = make("div");
    const people = make("div", "who", names(who));
    people.title = who.map(w => data.who[w]).join(", ");
    row.append(people, line);
    if (!flat) {
      line.append(make("span", "soft", own.length ? "the same" : "nothing either"));
      return row;
    }
    const theirs = spansOf(flat, 3), mine = new Set(own.map(key)), there = new Set(theirs.map(key));
    // who is silent where they have nothing to say denies nothing; they only mark something else
    const silent = who.every(w => data.silent[w]), clash = span => theirs.some(one => one[0] < span[1] && span[0] < one[1]);
    const denied = own.filter(span => !there.has(key(span)) && (!silent || clash(span)));
    const all = [...theirs.map(span => [span, mine.has(key(span)) ? "same" : "plus"]), ...denied.map(span => [span, "minus"])];
    all.sort((a, b) => a[0][0] - b[0][0] || (a[1] === "minus" ? -1 : 1));
    if (!theirs.length && !denied.length && who.length > FEW) {  // many names and nothing beside them: over the whole width
      row.className = "reading quiet";
      people.prepend(silent ? "silent: " : "nothing: ");
      line.remove();
      return row;
    }
    if (!theirs.length) line.append(make("span", "soft nothing", silent ? "silent" : "nothing"));
    line.append(...all.slice(0, CHIPS).map(([span, kind]) => chip(text, span, kind)));
    if (all.length > CHIPS) line.append(make("span", "soft", `and ${all.length - CHIPS} more`));
    return row;
  }

  // each place where anybody marks anything: who says what, with their weights
  function why(s, own) {
    const text = data.text[s], options = new Map(), box = make("div", "why");
    const every = [...own.map(span => [span, null])];
    for (const [who, flat] of said(s)) for (const span of flat ? spansOf(flat, 3) : own) every.push([span, who]);
    for (const [span, who] of every) {
      const name = key(span);
      if (!options.has(name)) options.set(name, { span, who: [], chosen: false });
      if (who) options.get(name).who.push(...who); else options.get(name).chosen = span[3];
    }
    const present = said(s).flatMap(([who]) => who);
    const sorted = [...options.values()].sort((a, b) => a.span[0] - b.span[0] || b.who.length - a.who.length);
    const table = make("table"), head = make("tr"), body = make("tbody");
    for (const title of ["", "Marked by", "Weight", "Result"]) {
      const cell = make("th", title === "Weight" || title === "Result" ? "n" : "", title);
      cell.scope = "col";
      head.append(cell);
    }
    const top = make("thead");
    top.append(head);
    for (const { span, who, chosen } of sorted) {
      const row = make("tr"), cell = make("th");
      cell.scope = "row";
      cell.append(chip(text, span, "same"));
      const weight = who.reduce((sum, w) => sum + (data.weight[w] || 0), 0);
      const whole = present.reduce((sum, w) => sum + (data.weight[w] || 0), 0);
      const part = (name, title, text) => { const node = make("td", name, text); node.dataset.label = title; return node; };
      row.append(cell, part("", "Marked by", who.length ? `${who.length} of ${present.length}: ${names(who)}` : "nobody"),
        part("n", "Weight", whole ? `${weight.toFixed(2)} of ${whole.toFixed(2)}` : "–"),
        part("n", "Result", chosen === false ? "not chosen" : `chosen, ${(chosen / 1000).toFixed(2)}`));
      body.append(row);
    }
    table.append(top, body);
    if (sorted.length) box.append(table); else box.append(make("p", "soft", "Nobody marks anything here."));
    box.append(...reasons(s));
    return box;
  }

  // what the model says of each word, as "seqtruth explain" does
  function reasons(s) {
    const command = () => {
      const note = make("p", "note", "Votes alone do not decide. What the model hears besides: ");
      note.append(make("code", "", `${data.explain} ${quoted(data.id[s])}`));
      return note;
    };
    const told = data.told[s];
    if (!told) return data.explain && !data.id[s].endsWith("…") ? [command()] : [make("p", "note", "Votes alone do not decide: neighbouring words and documents may have a say, too.")];
    if (!told.length) return [];
    const table = make("table", "told"), body = make("tbody"), head = make("thead"), top = make("tr");
    for (const title of ["Word", "Label", "For it", "Against it", "Else"]) {
      const cell = make("th", "", title);
      cell.scope = "col";
      top.append(cell);
    }
    head.append(top);
    for (const [word, label, pro, contra, others] of told) {
      const row = make("tr"), name = make("th", "", word);
      name.scope = "row";
      row.append(name);
      for (const [title, text] of [["Label", label], ["For it:", pro.replace(/^for it: /, "")], ["Against it:", contra], ["Else:", others]]) {
        const cell = make("td", text ? "" : "empty", text || "–");
        cell.dataset.label = title;
        row.append(cell);
      }
      body.append(row);
    }
    table.append(head, body);
    return [make("h4", "", "What decides each word"), table,
      make("p", "note", "Numbers are log odds: 0.7 doubles the odds, 2.3 makes them ten times as large. Each annotator counts as far as they are reliable; the predictor, the labels beside the word and the rest of the document speak, too.")];
  }
  const quoted = text => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'"'"'`)}'`;

  function item(s) {
    const text = data.text[s], own = spansOf(found(s), 4), node = make("article", "item");
    node.tabIndex = -1;
    const head = make("header"), sure = data.sure[s] / 1000;
    head.append(make("h3", "", data.id[s]));
    const home = data.documents[data.doc[s]];
    if (home && !data.id[s].startsWith(home)) head.append(make("span", "soft", home));
    const meter = make("span", data.probable ? "meter probable" : "meter ranking"), bar = make("i");
    meter.classList.add(sure >= 0.9 ? "high" : sure >= 0.7 ? "middling" : "low");
    bar.style.setProperty("--w", `${Math.round(100 * sure)}%`);
    bar.setAttribute("aria-hidden", "true");
    meter.append(`${data.probable ? "confidence" : "score"} ${sure.toFixed(2)}`, bar);
    head.append(meter);
    const weak = [], places = numbers(data.weak[s]);
    for (let i = 0; i < places.length; i += 2) weak.push([places[i], places[i + 1]]);
    const line = make("p", "words");
    line.dir = "auto";
    line.append(...pieces(text, own, 0, text.length, weak));
    node.append(head, line);
    if (said(s).length) {
      const readings = make("div", "readings");
      const rows = said(s).map(([who, flat]) => reading(text, who, flat, own)), quiet = row => row.classList.contains("quiet");
      readings.append(...rows.filter(row => !quiet(row)), ...rows.filter(quiet));
      const more = make("details"), summary = make("summary", "", "Why?");
      more.append(summary);
      more.addEventListener("toggle", () => {
        if (more.open && more.childElementCount === 1) more.append(why(s, own));
      });
      node.append(readings, more);
    } else if (data.who.length) {
      node.append(make("p", "note", own.length ? "Nobody labelled this sentence: what is marked is the tagger's." : "Nobody labelled this sentence."));
    }
    return node;
  }

  function step(by) {
    const items = [...list.children], here = items.indexOf(document.activeElement.closest("article"));
    const next = items[Math.min(Math.max(here + by, 0), items.length - 1)];
    if (next) next.focus();
  }

  function turn(by) {
    page += by;
    draw();
    at("sentences").scrollIntoView({ block: "start" });
  }

  document.addEventListener("keydown", event => {
    if (!data) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = document.activeElement.closest("article.item");
    const keys = {
      "/": () => at("search").focus(), j: () => step(1), k: () => step(-1),
      n: () => turn(1), p: () => turn(-1),
      w: () => { const more = here && here.querySelector("details"); if (more) more.open = !more.open; },
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  let wait;
  at("search").addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(filter, 120); });
  for (const id of ["by-type", "by-who", "by-sure", "order", "differ"]) at(id) && at(id).addEventListener("change", filter);
  at("before").addEventListener("click", () => turn(-1));
  at("after").addEventListener("click", () => turn(1));
  read().then(filter);
})();

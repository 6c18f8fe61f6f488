// Questions: one sentence, or many marks that may share an answer.

import { count, el, fill, percent } from "./dom.js";
import { Sentence } from "./sentence.js";

const none = (type) => (type === null ? "nothing" : type);

export function heading(question, layers) {
  const { kind, types, text, marks, sentences, document } = question;
  const either = types.map(none).join(" or ");
  if (kind === "form") return [el("bdi", {}, text), `: ${either}? `, el("span", { class: "soft" }, `${count(marks, "mark")} in ${count(sentences, "sentence")}`)];
  if (kind === "pair") return [`${either}? `, el("span", { class: "soft" }, `${count(marks, "mark")} in ${count(sentences, "sentence")}`)];
  const item = question.items?.[0];
  const layer = layers?.length > 1 && item ? ` · layer ${item.layer || "1"}` : "";
  return [item ? `Sentence ${item.id}${layer}` : el("bdi", {}, text)];
}

const names = (votes) => (votes.length ? `${votes.length > 1 ? `${votes.length}: ` : ""}${votes.slice(0, 8).join(", ")}${votes.length > 8 ? " …" : ""}` : "nobody");
const written = (item, [a, b]) => item.tokens.slice(a, b).map(([word, blank], k) => (k === b - a - 1 ? word : word + blank)).join("");

// What speaks for each type of a mark: probability, annotators, and the model's own reasons.
function whyCase(item, one) {
  const reasons = item.reasons.filter(({ token }) => one.mark[0] <= token && token < one.mark[1]);
  const carried = item.carried_over.filter(({ range: [a, b] }) => a < one.mark[1] && one.mark[0] < b);
  return el("section", { class: "why" },
    el("h3", {}, el("bdi", {}, written(item, one.mark)), ": ", none(one.label), el("span", { class: "soft" }, ` · ${percent(1 - one.wrong)} sure`)),
    el("table", {}, el("thead", {}, el("tr", {}, ["could be", "probability", "marked so by"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, one.why.map((reason) => el("tr", {}, el("td", {}, none(reason.type)), el("td", { class: "n" }, percent(reason.probability)), el("td", {}, names(reason.votes)))))),
    carried.map(({ before, after }) => el("p", {}, `Decisions about like cases changed it from ${none(before)} to ${none(after)}.`)),
    reasons.length ? el("ul", { class: "soft" }, reasons.map(({ text, label, pro, contra }) => el("li", {}, el("bdi", {}, text), ` ${label}`, [pro, contra].filter(Boolean).map((part) => `; ${part}`)))) : null);
}

function why(pairs) {
  const known = pairs.some(([item]) => item.reasons.length);
  return el("details", { class: "card", open: pairs.length <= 2 }, el("summary", {}, "Why the labels are what they are"),
    known ? el("p", { class: "soft" }, "Numbers behind names: how much each counts, in log odds.") : null, pairs.map(([item, one]) => whyCase(item, one)));
}

function typeButtons(types, choose, chosen) {
  return el("div", { class: "types", role: "group", "aria-label": "Types" }, types.map((type, k) =>
    el("button", { type: "button", class: type === null ? "" : `c${types.indexOf(type) % 8}`, onclick: () => choose(type), "aria-pressed": chosen === undefined ? null : String(chosen === type) },
      none(type), " ", type === null ? el("kbd", {}, "0") : k < 9 ? el("kbd", {}, String(k + 1)) : null)));
}

// What can be done to the mark under the cursor, for those without a keyboard.
function editing(question, plain) {
  const moves = [["Start earlier", "[", 0, -1], ["Start later", "]", 0, 1], ["End earlier", "{", 1, -1], ["End later", "}", 1, 1]];
  return el("div", { class: "types edits", role: "group", "aria-label": "Change the mark" },
    plain ? null : moves.map(([name, key, side, step]) => el("button", { type: "button", onclick: () => question.border(side, step) }, name, " ", el("kbd", {}, key))),
    el("button", { type: "button", id: "back", onclick: () => question.back() }, "Undo change ", el("kbd", {}, "e")));
}

function comments(items) {
  const said = new Map();
  for (const one of items.flatMap((item) => item.comments)) said.set(`${one.user} ${one.at}`, one);
  if (!said.size) return null;
  return el("section", { class: "card", "aria-label": "Comments" }, el("h2", {}, "Comments"),
    el("ul", { class: "readings" }, [...said.values()].map(({ user, at, text }) => el("li", {}, el("span", { class: "what", dir: "auto" }, text), el("span", { class: "who" }, `${user}, ${at.slice(0, 16).replace("T", " ")}`)))));
}

export class SentenceQuestion {
  constructor(question, project, open) {
    this.question = question;
    this.project = project;
    this.open = open;
    this.sentence = new Sentence(question.items[0], project.types, project.plain);
  }

  get sentences() { return [this.question.items[0].sentence]; }
  get changed() { return this.sentence.changed; }

  view() {
    const item = this.question.items[0];
    return [
      ...item.before.map((text) => el("p", { class: "around", dir: "auto" }, text)),
      el("div", { class: "card", dir: "auto" }, this.sentence.place),
      ...item.after.map((text) => el("p", { class: "around", dir: "auto" }, text)),
      typeButtons(this.project.types, (type) => this.sentence.mark(type)),
      editing(this, this.project.plain),
      comments([item]),
      item.opinions.length ? el("section", { class: "card", "aria-label": "Reviewers" }, el("h2", {}, "What reviewers said"), this.versions(item.opinions)) : null,
      item.layers.length ? this.layers(item) : null,
      item.readings.length ? el("section", { class: "card", "aria-label": "Annotators" }, el("h2", {}, "What annotators marked"), this.versions(item.readings, true)) : null,
      item.cases.length ? why([...item.cases].sort((a, b) => b.wrong - a.wrong).map((one) => [item, one])) : null,
    ];
  }

  // The same text on its other layers, beside this one.
  layers(item) {
    const name = (one) => `layer ${one.layer || "1"}`;
    return el("section", { class: "card", "aria-label": "Other layers" }, el("h2", {}, "Other layers of this text"),
      el("ul", { class: "readings" }, item.layers.map((one) => el("li", {},
        el("button", { type: "button", class: "layer", onclick: () => this.open(`s-${one.sentence}`) }, `Review ${name(one)}`),
        el("span", { class: "what", dir: "auto" }, one.spans.length ? one.spans.map((span) => el("span", { class: `mark ${this.sentence.colour(span[2])}` }, `${this.sentence.words(span)} `, el("span", { class: "tag" }, span[2]))) : el("i", {}, "nothing")),
        el("span", { class: "who" }, one.status)))));
  }

  versions(found, keys = false) {
    return el("ul", { class: "readings" }, found.map((one, k) => el("li", {},
      el("button", { type: "button", "aria-label": `Take the version of ${names(one.names)}`, onclick: () => this.take(one.spans) }, "Take", keys && k < 9 ? [" ", el("kbd", {}, `⇧${k + 1}`)] : null),
      el("span", { class: "what", dir: "auto" }, one.spans.length ? one.spans.map((span) => el("span", { class: `mark ${this.sentence.colour(span[2])}` }, `${this.sentence.words(span)} `, el("span", { class: "tag" }, span[2]))) : el("i", {}, "nothing")),
      el("span", { class: "who" }, names(one.names)))));
  }

  type(type) { if (type === null) this.sentence.erase(); else this.sentence.mark(type); }
  take(spans) { this.sentence.take(spans); }
  takeFrom(k) { const found = this.question.items[0].readings[k]; if (found) this.take(found.spans); }
  shown() { this.sentence.reveal(); }
  next(step) { this.sentence.jump(step); }
  move(step, extend) { this.sentence.move(step, extend); }
  border(side, step) { this.sentence.border(side, step); }
  erase() { this.sentence.erase(); }
  clear() { this.sentence.clear(); }
  back() { return this.sentence.back(); }
  decision() { return { items: [this.sentence.decision()] }; }
}

export class GroupQuestion {
  constructor(question, project) {
    this.question = question;
    this.project = project;
    this.members = question.items.flatMap((item) => item.cases.map((one) => ({ item, one, taken: true, touched: false })));
    const votes = new Map();
    for (const { one } of this.members) votes.set(one.label, (votes.get(one.label) ?? 0) + 1);
    this.answer = [...votes.entries()].sort((a, b) => b[1] - a[1])[0][0];
    this.tick();
    this.cursor = 0;
    this.list = el("ul", { class: "members", "aria-label": "Marks" });
    this.choices = el("div");
    this.told = el("p", { class: "soft", role: "status" });
  }

  get sentences() { return [...new Set(this.members.map(({ item }) => item.sentence))]; }
  get changed() { return false; }

  view() {
    this.draw();
    return [
      el("p", { class: "soft" }, "One answer for all marks that are ticked. What is not ticked will be asked by itself."),
      this.choices, this.told, comments(this.question.items), el("div", { class: "card" }, this.list), why(this.members.slice(0, 3).map(({ item, one }) => [item, one])),
    ];
  }

  // Ticked is what more likely than not has this answer, if one answer fits as often as such questions have one.
  tick() {
    const sure = this.question.coherence;
    for (const member of this.members) {
      if (member.touched) continue;
      const chance = (type) => member.one.why.find((one) => one.type === type)?.probability ?? 0;
      member.taken = member.one.label === this.answer || chance(this.answer) * sure >= chance(member.one.label) * (1 - sure);
    }
  }

  draw() {
    const taken = this.members.filter((member) => member.taken);
    const changes = taken.filter(({ one }) => one.label !== this.answer).length;
    fill(this.told, el("span", {}, `${taken.length} of ${this.members.length} ticked${changes ? `; ${count(changes, "label")} will change` : ""}.`));
    const offered = this.project.plain ? this.project.types : [...this.project.types, null];
    this.choices.replaceChildren(typeButtons(offered, (type) => this.type(type), this.answer));
    this.list.replaceChildren(...this.members.map((member, k) => {
      const { item, one } = member;
      const box = el("input", { type: "checkbox", checked: member.taken, "aria-label": `Mark ${k + 1} has this answer`, onchange: () => { this.cursor = k; this.toggle(); } });
      return el("li", { class: [k === this.cursor && "cursor", !member.taken && "out"].filter(Boolean).join(" ") }, box,
        el("span", { class: "text", dir: "auto" }, ...this.words(member)),
        el("span", { class: "said" }, el(one.label === this.answer ? "span" : "b", {}, `now ${none(one.label)} ${percent(1 - one.wrong)}`), el("br"), one.why.filter(({ votes }) => votes.length).map(({ type, votes }) => `${votes.length} ${none(type)}`).join(" · ")));
    }));
  }

  words({ item, one, taken }) {
    const [a, b] = one.mark;
    const type = taken ? this.answer : one.label; // what is not ticked stays what it is
    const join = (from, to) => item.tokens.slice(from, to).map(([word, blank]) => word + blank).join("");
    const from = Math.max(0, a - 25), to = Math.min(item.tokens.length, b + 25);
    return [from ? "… " : "", join(from, a), el("span", { class: `span ${type === null ? "" : `c${this.project.types.indexOf(type) % 8}`}` }, join(a, b).trimEnd(), el("span", { class: "tag" }, none(type))), " ", join(b, to), to < item.tokens.length ? "…" : ""];
  }

  type(type) { if (type === null && this.project.plain) return; this.answer = type; this.tick(); this.draw(); }
  takeFrom() {}
  shown() {}
  next(step) { this.move(step); }
  move(step) { this.cursor = Math.min(this.members.length - 1, Math.max(0, this.cursor + step)); this.draw(); this.list.children[this.cursor].scrollIntoView({ block: "nearest" }); }
  toggle() { const member = this.members[this.cursor]; member.taken = !member.taken; member.touched = true; this.draw(); }
  border() {}
  erase() { this.toggle(); }
  clear() { this.type(null); }
  back() { return false; }

  decision() {
    const taken = this.members.filter(({ taken }) => taken);
    const bySentence = new Map();
    for (const { item, one } of taken) {
      const found = bySentence.get(item.sentence) ?? { sentence: item.sentence, version: item.version, spans: [], settled: [] };
      found.settled.push(one.range);
      if (this.answer !== null) found.spans.push([...one.mark, this.answer]);
      bySentence.set(item.sentence, found);
    }
    return { items: [...bySentence.values()], left_out: this.members.filter(({ taken }) => !taken).map(({ one }) => one.case) };
  }
}

// How far it is, what more decisions are expected to bring, and what came of it.

import { el } from "./dom.js";

const f1 = (value) => (value === null || value === undefined ? "–" : (100 * value).toFixed(1));

export function outlook(found, learn) {
  const { counts, outlook: ahead, learning, rounds = [], agreement } = found;
  const parts = [el("h2", {}, "Progress"), el("p", {}, `${counts.decisions} decisions · ${counts.settled ?? 0} sentences touched${counts.disputed ? ` · ${counts.disputed} disputed` : ""}`)];
  if (ahead) {
    parts.push(el("h3", {}, "Expected F1"), el("table", {}, el("tbody", {}, [["now", ahead.f1], ["after 50 more", ahead.after_50], ["after 100 more", ahead.after_100]]
      .map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "n" }, f1(value)))))),
    el("p", {}, ahead.advice));
    if (ahead.asked) parts.push(el("p", { class: "soft" }, `In what was decided so far, ${ahead.foreseen.toFixed(0)} errors were foreseen and ${ahead.found} found.`));
  }
  if (learning) {
    parts.push(el("h3", {}, "Learning"), el("p", {}, learning.running ? "The labels are learning in the background." : learning.told ?? "Nothing learnt yet."),
      learning.error ? el("p", { class: "warn" }, learning.error) : null, el("p", { class: "row" }, el("button", { type: "button", onclick: () => learn(false), disabled: learning.running }, "Learn now"),
        el("button", { type: "button", onclick: () => learn(true), disabled: learning.running }, "Fit everything anew")));
  }
  if (rounds.length) {
    parts.push(el("h3", {}, "Rounds"), el("table", {}, el("thead", {}, el("tr", {}, ["decisions", "labels changed", "F1 foreseen", "F1 then"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rounds.slice(-8).map((one) => el("tr", {}, el("td", { class: "n" }, String(one.decisions)), el("td", { class: "n" }, String(one.changed)), el("td", { class: "n" }, f1(one.foreseen)), el("td", { class: "n" }, f1(one.f1)))))));
    const last = rounds.at(-1);
    if (last.changes?.length) {
      parts.push(el("h3", {}, "What changed last"), el("ul", {}, last.changes.map((one) => el("li", {}, el("bdi", {}, one.text), `: ${one.before ?? "nothing"} → ${one.after ?? "nothing"}`, el("span", { class: "soft" }, ` ×${one.times}`)))));
    }
  }
  if (agreement?.sentences) parts.push(el("h3", {}, "Two reviewers"), el("p", {}, `${agreement.sentences} sentences judged twice: ${f1(agreement.alike)} % alike, span F1 ${f1(agreement.span_f1)}`));
  return parts;
}

// One sentence: its text with marks, a cursor and a selection, and what may be done to them.

import { el, fill } from "./dom.js";

export class Sentence {
  constructor(item, types, plain) {
    this.item = item;
    this.types = types;
    this.plain = plain;
    this.spans = item.spans.map((span) => [...span]);
    this.undone = [];
    const doubt = [...item.cases].sort((a, b) => b.wrong - a.wrong)[0];
    this.cursor = doubt ? doubt.mark[0] : 0;
    this.anchor = null;
    this.place = el("div", { class: "text", lang: "und", role: "group", "aria-label": "Text with marks" });
    this.place.addEventListener("click", (event) => this.clicked(event));
    this.draw();
  }

  get n() { return this.item.tokens.length; }
  colour(type) { return `c${Math.max(0, this.types.indexOf(type)) % 8}`; }
  at(token) { return this.spans.find(([a, b]) => a <= token && token < b); }
  get range() {
    if (this.anchor === null) return [this.cursor, this.cursor + 1];
    return [Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor) + 1];
  }

  draw() {
    const pieces = [];
    const [from, to] = this.anchor === null ? [-1, -1] : this.range;
    const asked = (i) => this.item.cases.some(({ range: [a, b] }) => a <= i && i < b);
    const token = (i, last) => {
      const [word, blank] = this.item.tokens[i];
      const marks = ["tok", i === this.cursor && "cursor", from <= i && i < to && "sel"].filter(Boolean).join(" ");
      const sure = this.item.confidence[i];
      const one = el("span", { class: marks, "data-token": String(i), title: `${(100 * sure).toFixed(0)} % sure` }, word);
      return last ? [one] : [one, blank];
    };
    let i = 0;
    while (i < this.n) {
      const span = this.at(i);
      let end = span ? span[1] : i + 1;
      const inside = [];
      for (let k = i; k < end; k++) inside.push(...token(k, k === end - 1));
      const inDoubt = !span && asked(i);
      while (inDoubt && end < this.n && !this.at(end) && asked(end)) {
        inside.push(this.item.tokens[end - 1][1], ...token(end, true));
        end += 1;
      }
      if (span) {
        const on = span[0] <= this.cursor && this.cursor < span[1] ? " on" : "";
        inside.push(el("span", { class: "tag" }, span[2]));
        pieces.push(el("span", { class: `span ${this.colour(span[2])}${on}` }, inside));
      } else if (inDoubt) {
        pieces.push(el("span", { class: "asked" }, inside));
      } else {
        pieces.push(...inside);
      }
      if (end < this.n) pieces.push(document.createTextNode(this.item.tokens[end - 1][1]));
      i = end;
    }
    fill(this.place, pieces);
  }

  clicked(event) {
    const token = event.target.closest("[data-token]");
    if (!token) return;
    const number = Number(token.dataset.token);
    const selected = window.getSelection();
    if (event.shiftKey) {
      this.anchor = this.anchor ?? this.cursor;
      selected?.removeAllRanges(); // the browser's own begins where the text was drawn last
    } else this.anchor = null;
    this.cursor = number;
    if (selected && !selected.isCollapsed) { // dragged over
      const ends = [selected.anchorNode, selected.focusNode].map((node) => node?.parentElement?.closest("[data-token]"));
      if (ends[0] && ends[1] && this.place.contains(ends[0]) && this.place.contains(ends[1])) {
        [this.anchor, this.cursor] = ends.map((end) => Number(end.dataset.token));
        selected.removeAllRanges();
      }
    }
    this.draw();
  }

  keep() { this.undone.push(this.spans.map((span) => [...span])); }
  back() {
    const before = this.undone.pop();
    if (!before) return false;
    this.spans = before;
    this.draw();
    return true;
  }

  move(step, extend) {
    if (extend) this.anchor = this.anchor ?? this.cursor;
    else this.anchor = null;
    this.cursor = Math.min(this.n - 1, Math.max(0, this.cursor + step));
    this.draw();
    this.reveal();
  }

  // Long texts scroll by themselves: bring the cursor into sight.
  reveal() { this.place.querySelector(".cursor")?.scrollIntoView({ block: "nearest" }); }

  // To the next (or last) mark or case.
  jump(step) {
    const starts = [...this.spans.map(([a]) => a), ...this.item.cases.map(({ mark: [a] }) => a)];
    const sorted = [...new Set(starts)].sort((a, b) => a - b);
    const next = step > 0 ? sorted.find((a) => a > this.cursor) : sorted.findLast((a) => a < this.cursor);
    this.anchor = null;
    if (next !== undefined) this.cursor = next;
    this.draw();
    this.reveal();
  }

  // Give the mark under the cursor, the selection, or the case there this type.
  mark(type) {
    this.keep();
    const here = this.anchor === null ? this.at(this.cursor) : null;
    if (here) here[2] = type;
    else {
      let [a, b] = this.range;
      const asked = this.item.cases.find(({ mark: [x, y] }) => x <= this.cursor && this.cursor < y);
      if (this.anchor === null && asked && !this.plain) [a, b] = asked.mark;
      this.spans = this.spans.filter(([x, y]) => y <= a || b <= x);
      if (this.plain) for (let i = a; i < b; i++) this.spans.push([i, i + 1, type]);
      else this.spans.push([a, b, type]);
      this.spans.sort((x, y) => x[0] - y[0]);
      this.cursor = a;
    }
    this.anchor = null;
    this.draw();
  }

  erase() {
    const [a, b] = this.range;
    const left = this.spans.filter(([x, y]) => y <= a || b <= x);
    if (left.length === this.spans.length || this.plain) return;
    this.keep();
    this.spans = left;
    this.anchor = null;
    this.draw();
  }

  clear() {
    if (this.plain) return;
    this.keep();
    this.spans = [];
    this.draw();
  }

  take(spans) {
    this.keep();
    this.spans = spans.map((span) => [...span]);
    this.draw();
  }

  // Move a border of the mark under the cursor: side 0 is its start, 1 its end.
  border(side, step) {
    const span = this.at(this.cursor);
    if (!span || this.plain) return;
    const moved = [...span];
    moved[side] += step;
    if (moved[0] < 0 || moved[1] > this.n || moved[0] >= moved[1]) return;
    this.keep();
    this.spans = this.spans.filter((one) => one !== span && (one[1] <= moved[0] || moved[1] <= one[0]));
    this.spans.push(moved);
    this.spans.sort((x, y) => x[0] - y[0]);
    this.cursor = Math.min(Math.max(this.cursor, moved[0]), moved[1] - 1);
    this.draw();
  }

  words([a, b]) {
    return this.item.tokens.slice(a, b).map(([word, blank], k) => (k === b - a - 1 ? word : word + blank)).join("");
  }

  get changed() { return JSON.stringify(this.spans) !== JSON.stringify(this.item.spans); }

  decision() {
    return { sentence: this.item.sentence, version: this.item.version, spans: this.spans };
  }
}

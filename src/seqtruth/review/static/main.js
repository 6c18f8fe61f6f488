// The desk: fetches questions, shows them, sends decisions, listens to keys.

import { Refused, change, get, post, project as openProject, query, remove } from "./api.js";
import { GroupQuestion, SentenceQuestion, heading } from "./ask.js";
import { by, count, el, expected, fill, say } from "./dom.js";
import { draftOf, forget, setAside } from "./drafts.js";
import { outlook } from "./progress.js";

let project, current = null, comment = "", busy = false, filters = {};
let touched = Date.now(); // when the reviewer last did something
let asked = 0, listed = 0, list = ""; // the last question and queue asked for, and the queue that is shown

const KEYS = [
  ["Enter or a", "accept what is shown, go on"], ["1 … 9", "type of the mark under the cursor, of the selection, or of all ticked marks"],
  ["t", "choose a type from a list"], ["⇧1 … ⇧9", "take an annotator's version"], ["n / p", "next or last mark"], ["← →", "move the cursor; with ⇧ select"],
  ["↑ ↓, space", "in a group: move, tick or untick"], ["[ ]", "start of the mark: earlier, later"], ["{ }", "end of the mark: earlier, later"], ["x or Delete", "take the mark away"],
  ["0 or o", "nothing marked"], ["e", "undo the last change to this sentence"], ["s", "skip"], ["c", "comment"], ["u", "undo the last decision"], ["/", "search and filter"], ["?", "this list"],
];

async function start() {
  try {
    project = await openProject();
  } catch (error) {
    if (error.status === 401) return signIn();
    return fail(error);
  }
  document.title = `Review · ${project.name}`;
  by("project").textContent = project.name;
  by("sign-out").hidden = project.user === "reviewer";
  for (const type of project.types) by("filters").elements.type.append(el("option", { value: type }, type));
  by("documents").append(...project.documents.map((name) => el("option", { value: name })));
  by("annotators").append(...project.annotators.map((name) => el("option", { value: name })));
  by("audit").hidden = project.role !== "lead";
  fill(by("keys"), el("table", {}, el("tbody", {}, KEYS.map(([key, what]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, key)), el("td", {}, what))))));
  const formats = await get("/api/formats");
  by("export").elements.format.append(...Object.entries(formats).map(([name, title]) => el("option", { value: name, selected: name === "jsonl" }, title)));
  await next();
  setInterval(progress, 15000);
  setInterval(keep, 120000);
}

function signIn() {
  const form = el("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    try {
      await post("/api/session", { name: form.elements.name.value, password: form.elements.password.value });
      location.reload();
    } catch (error) { fail(error); }
  } },
  el("h2", {}, "Sign in"), el("p", { class: "soft" }, "A desk without users opens by the address that the terminal shows, with its token."),
  el("label", {}, "Name ", el("input", { name: "name", autocomplete: "username", required: true })),
  el("label", {}, "Password ", el("input", { name: "password", type: "password", autocomplete: "current-password", required: true })),
  el("p", {}, el("button", { class: "main" }, "Sign in")));
  for (const button of document.querySelectorAll("nav button")) button.hidden = true;
  show([form]);
}

function fail(error) {
  say(error instanceof Refused || error instanceof TypeError ? error.message : String(error));
  if (error.status === 401) signIn();
}

function show(children) {
  const place = by("question");
  fill(place, children);
  place.setAttribute("aria-busy", "false");
}

async function next() { await bring(() => post("/api/next", filters)); }
async function open(name) { await bring(() => post(`/api/questions/${name}`)); }

async function bring(ask) {
  const mine = ++asked;
  by("question").setAttribute("aria-busy", "true");
  try {
    const question = await ask();
    if (mine !== asked) return; // another was opened meanwhile: it stays
    if (setAside(project, current)) say(`${by("message").textContent} Your changes are set aside: they are there when this sentence is opened again.`.trim());
    comment = "";
    if (question.question === null) { current = null; showDone(); }
    else showQuestion(question);
  } catch (error) {
    if (mine !== asked) return;
    by("question").setAttribute("aria-busy", "false");
    fail(error);
  }
  progress();
  if (!by("queue").hidden) queue();
}

function showDone() {
  show([el("div", { class: "card" }, el("h2", {}, "Nothing left to ask"), el("p", {}, Object.keys(filters).length ? "Nothing in doubt fits the filter." : "Everything in doubt is settled, skipped, or with somebody else."),
    el("p", { class: "row" }, el("button", { type: "button", onclick: undo }, "Undo the last decision ", el("kbd", {}, "u")), el("button", { type: "button", id: "ask-again", onclick: askAgain }, "Ask what I skipped"),
      el("button", { type: "button", class: "main", onclick: next }, "Look again")))]);
}

const askAgain = () => once(async () => {
  const { sentences } = await remove("/api/skips");
  say(sentences ? `${count(sentences, "sentence")} that you skipped can be asked again.` : "You skipped nothing.");
  await next();
});

// Who thinks for long keeps the question; who went away does not.
async function keep() {
  if (!current || document.visibilityState !== "visible" || Date.now() - touched > 300000) return;
  try { await post(`/api/questions/${current.question.question}`); }
  catch (error) { if (error.status === 409) fail(error); }
}
for (const what of ["keydown", "pointerdown"]) document.addEventListener(what, () => { touched = Date.now(); });

function showQuestion(question) {
  current = question.kind === "sentence" ? new SentenceQuestion(question, project, open) : new GroupQuestion(question, project);
  const item = question.items[0];
  const draft = question.kind === "sentence" && draftOf(project, item);
  if (draft) {
    current.take(draft.spans);
    say(draft.current ? "These are your changes, not accepted yet (e: without them)." : "This sentence has changed meanwhile. These are your changes, not accepted yet (e: without them).");
  }
  const facts = [question.document && `document ${question.document}`, item.status !== "open" && item.status, expected(question.wrong)].filter(Boolean);
  show([
    el("h2", { id: "asked", tabIndex: -1 }, heading(question, project.layers)),
    el("p", {}, facts.map((fact) => [el("span", { class: "badge" }, fact), " "])),
    ...current.view(),
    el("div", { class: "actions" },
      el("button", { type: "button", class: "main", id: "accept", onclick: accept }, "Accept ", el("kbd", {}, "Enter")),
      project.plain ? null : el("button", { type: "button", id: "nothing", onclick: () => current.clear() }, "Nothing ", el("kbd", {}, "0")),
      project.plain && question.kind === "sentence" ? null : el("button", { type: "button", id: "erase", onclick: () => current.erase() }, question.kind === "sentence" ? "Remove mark " : "Tick, untick ", el("kbd", {}, "x")),
      el("button", { type: "button", id: "skip", onclick: skip }, "Skip ", el("kbd", {}, "s")),
      el("button", { type: "button", id: "comment", onclick: askComment }, "Comment ", el("kbd", {}, "c")),
      el("button", { type: "button", id: "undo", onclick: undo }, "Undo ", el("kbd", {}, "u"))),
  ]);
  by("asked").focus({ preventScroll: true });
  window.scrollTo(0, 0);
  current.shown();
  point();
}

async function once(work) {
  if (busy) return;
  busy = true;
  try { await work(); }
  catch (error) { fail(error); if (error.status === 409) await next(); }
  finally { busy = false; }
}

const accept = () => once(async () => {
  if (!current) return;
  const body = current.decision();
  if (!body.items.length) { say("Nothing is ticked: skip, or tick what has this answer."); return; }
  const final = project.double && project.role === "lead" && current.question.items.some((item) => item.status === "disputed");
  await change("/api/decisions", { question: current.question.question, comment, ...body, ...(final ? { final } : {}) });
  settled();
  say(`Kept${body.items.length > 1 ? `, in ${count(body.items.length, "sentence")}` : ""}.`);
  await next();
});

// Nothing of the question is left to set aside.
function settled() {
  forget(project, current.sentences);
  current.settled = true;
}

const skip = () => once(async () => {
  if (!current) return;
  await change("/api/skips", { question: current.question.question, sentences: current.sentences, comment });
  settled();
  say("Skipped.");
  await next();
});

const undo = () => once(async () => {
  const told = await change("/api/undo", {});
  const sentences = Object.keys(told.states);
  say("Undone.");
  if (sentences.length) await open(`s-${sentences[0]}`);
  else await next();
});

function askComment() {
  if (!current) return;
  by("say-text").value = comment;
  by("say").showModal();
  by("say-text").focus();
}
by("say").addEventListener("close", () => once(async () => {
  if (by("say").returnValue !== "keep" || !current) return;
  comment = by("say-text").value;
  by("say").returnValue = "";
  if (comment) { await change("/api/comments", { question: current.question.question, sentences: current.sentences, comment }); say("Comment kept."); comment = ""; }
}));

function pickType() {
  if (!current) return;
  const list = () => fill(by("pick-list"), project.types.filter((type) => type.toLowerCase().includes(by("pick-search").value.toLowerCase()))
    .map((type) => el("button", { type: "button", class: `c${project.types.indexOf(type) % 8}`, onclick: () => { by("pick").close(); current.type(type); } }, type)));
  by("pick-search").value = "";
  by("pick-search").oninput = list;
  by("pick-search").onkeydown = (event) => { if (event.key === "Enter") { event.preventDefault(); by("pick-list").querySelector("button")?.click(); } };
  list();
  by("pick").showModal();
}

async function progress() {
  try {
    const found = await get("/api/progress");
    const { counts } = found;
    const f1 = found.outlook ? ` · expected F1 ${(100 * found.outlook.f1).toFixed(1)}` : "";
    by("progress").textContent = `${count(counts.decisions, "decision")}${f1}${found.learning?.running ? " · learning …" : ""}`;
    if (!by("learning").hidden) fill(by("learning"), outlook(found, (refit) => once(async () => { await post("/api/learn", { refit }); say("Learning in the background."); progress(); })));
  } catch (error) { if (error.status === 401) signIn(); }
}

async function queue() {
  const mine = ++listed;
  const which = by("which").value;
  const asking = which ? `/api/sentences?${query({ ...filters, decided: which === "decided", limit: 200 })}` : `/api/questions?${query({ ...filters, limit: 50 })}`;
  const found = await get(asking).catch(fail);
  if (!found || mine !== listed) return;
  const told = JSON.stringify(found.map((one) => ({ ...one, by: one.by !== project.user && one.by })));
  if (told !== list) { // so that nothing moves under a finger
    list = told;
    const facts = (one) => [one.document, which ? one.status : expected(one.wrong), one.by && one.by !== project.user && `with ${one.by}`].filter(Boolean).join(" · ");
    fill(by("questions"), found.length ? found.map((one) => el("li", {}, el("button", { type: "button", "data-question": one.question, onclick: () => { makeRoom(); open(one.question); } },
      which ? el("bdi", {}, one.text) : heading(one), el("br"), el("small", {}, facts(one))))) : el("li", {}, "Nothing."));
  }
  point();
}

// Show in the queue which question is open.
function point() {
  for (const button of by("questions").querySelectorAll("button")) button.setAttribute("aria-current", String(button.dataset.question === current?.question.question));
}

// Where the queue lies above the question (a phone), it makes room for what was chosen, so that nothing moves under a finger.
function makeRoom() {
  if (matchMedia("(max-width: 760px)").matches && !by("queue").hidden) toggle(by("show-queue"), by("queue"), queue);
}

function toggle(button, panel, filled) {
  const open = panel.hidden;
  panel.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
  if (open) filled();
}

async function download(path) {
  const answer = await fetch(path, { credentials: "same-origin" });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => null));
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "labels";
  const link = el("a", { href: URL.createObjectURL(await answer.blob()), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  const notes = JSON.parse(answer.headers.get("x-desk-notes") ?? "[]");
  say(notes.length ? `Exported. ${notes.join(" ")}` : "Exported.");
}

addEventListener("pagehide", () => setAside(project, current));
by("which").addEventListener("change", queue);
by("show-queue").addEventListener("click", () => toggle(by("show-queue"), by("queue"), queue));
by("show-learning").addEventListener("click", () => toggle(by("show-learning"), by("learning"), () => {
  if (!by("learning").firstChild) fill(by("learning"), el("p", { class: "soft" }, "Counting …")); // of many sentences this takes seconds, once
  progress();
}));
by("show-help").addEventListener("click", () => by("help").showModal());
by("show-out").addEventListener("click", () => by("out").showModal());
by("sign-out").addEventListener("click", () => once(async () => { await remove("/api/session"); location.reload(); }));
by("export").addEventListener("submit", (event) => {
  if (event.submitter?.value !== "go") return;
  const { what, format } = by("export").elements;
  once(() => download(`/api/export?${query({ what: what.value, format: format.value })}`));
});
by("filters").addEventListener("submit", (event) => {
  event.preventDefault();
  filters = Object.fromEntries([...new FormData(by("filters"))].filter(([, value]) => value !== ""));
  if (filters.below !== undefined) filters.below = Number(filters.below);
  makeRoom();
  once(next);
});
by("filters").addEventListener("reset", () => { filters = {}; setTimeout(() => once(next)); });

const ACTIONS = {
  Enter: accept, a: accept, s: skip, u: undo, c: askComment, t: pickType, o: () => current?.clear(), 0: () => current?.clear(),
  x: () => current?.erase(), Delete: () => current?.erase(), Backspace: () => current?.erase(), e: () => current?.back(),
  n: () => current?.next(1), p: () => current?.next(-1), "[": () => current?.border(0, -1), "]": () => current?.border(0, 1), "{": () => current?.border(1, -1), "}": () => current?.border(1, 1),
  " ": () => current?.toggle?.(), ArrowDown: () => current?.move(1), ArrowUp: () => current?.move(-1),
  "/": () => { if (by("queue").hidden) by("show-queue").click(); by("filter-box").open = true; by("filters").elements.search.focus(); }, "?": () => by("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const inField = event.target.closest("input:not([type=checkbox]), textarea, select");
  const onControl = event.target.closest("button, a, summary, input[type=checkbox]") && [" ", "Enter"].includes(event.key);
  if (inField || onControl || (!by("keys-on").checked && event.key.length === 1)) {
    if (inField && event.key === "Escape") by("question").focus();
    return;
  }
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
  const rtl = current?.sentence && getComputedStyle(current.sentence.place).direction === "rtl" ? -1 : 1;
  let act = ACTIONS[event.key];
  if (digit && event.shiftKey) act = () => current?.takeFrom(Number(digit) - 1);
  else if (digit) act = () => { const type = project?.types[Number(digit) - 1]; if (type) current?.type(type); };
  else if (event.key === "ArrowLeft") act = () => current?.move(-rtl, event.shiftKey);
  else if (event.key === "ArrowRight") act = () => current?.move(rtl, event.shiftKey);
  if (!act || !project) return;
  if (["ArrowUp", "ArrowDown", " "].includes(event.key) && !current?.members) return;
  event.preventDefault();
  act();
});

start();

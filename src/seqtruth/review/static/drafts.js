// Changes that were not accepted: kept in this window until their sentence is opened again.

const KEY = "seqtruth-drafts";

function all() {
  try { return JSON.parse(sessionStorage.getItem(KEY)) ?? {}; } catch { return {}; }
}
function write(drafts) {
  try { sessionStorage.setItem(KEY, JSON.stringify(drafts)); } catch { /* a browser that keeps nothing */ }
}
const name = (project, sentence) => `${project.name} ${project.user} ${sentence}`;

// Set aside what was changed and not accepted; tells whether there was anything.
export function setAside(project, question) {
  if (!question?.changed || question.settled) return false;
  const { sentence, version, spans } = question.decision().items[0];
  write({ ...all(), [name(project, sentence)]: { version, spans } });
  return true;
}

export function forget(project, sentences) {
  const drafts = all();
  for (const sentence of sentences) delete drafts[name(project, sentence)];
  write(drafts);
}

// What was set aside of a sentence: the spans, and whether it is still as it was then.
export function draftOf(project, { sentence, version }) {
  const draft = all()[name(project, sentence)];
  return draft ? { spans: draft.spans, current: draft.version === version } : null;
}

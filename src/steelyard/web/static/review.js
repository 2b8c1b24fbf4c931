import { send as post } from "./send.js";
import { count, difference, draw } from "./words.js";

const queue = document.getElementById("queue");
const content = document.getElementById("content");
const say = document.getElementById("say");
const byId = (id) => document.getElementById(id);
const pane = () => byId("pane");

let debounce = null; // timer of the next draft
let sending = Promise.resolve(); // changes go out one after the other
let position = ""; // how far the log of votes is that this page shows
const undone = []; // votes taken back that can be made again

function tell(sentence, bad = false) {
  say.textContent = sentence;
  say.className = bad ? "bad" : "";
}

function send(path, body) {
  const filters = new URLSearchParams(location.search);
  filters.delete("item");
  return post(`${path}?${filters}`, body);
}

function fields() {
  const label = byId("label");
  const turns = typedTurns();
  return {
    item: pane().dataset.item,
    text: turns === null ? byId("text").value : null,
    turns,
    label: label ? label.value : null,
    reason: byId("reason").value,
    note: byId("note").value,
  };
}

// What was typed at the messages of a run, where it differs from the author's; null for a plain text.
function typedTurns() {
  const places = content.querySelectorAll(".turn");
  if (!places.length) return null;
  const turns = {};
  for (const place of places) {
    const words = place.querySelector(".turn-text"), typed = {};
    if (words.value !== words.dataset.made) typed.text = words.value;
    for (const call of place.querySelectorAll(".turn-call")) {
      if (call.value !== call.dataset.made) typed.arguments = { ...typed.arguments, [call.dataset.call]: call.value };
    }
    if (Object.keys(typed).length) turns[place.dataset.place] = typed;
  }
  return turns;
}

// What was typed, in this browser until the server has it: it outlives server, page and token.
const draftKey = (item) => `steelyard-draft ${document.querySelector(".desk").dataset.drafts} ${item}`;

function holdDraft() {
  const body = fields();
  try { localStorage.setItem(draftKey(body.item), JSON.stringify(body)); } catch { /* the server alone keeps it */ }
}

function dropDraft(body) {
  try {
    const held = localStorage.getItem(draftKey(body.item));
    if (!held) return;
    const { text, turns, label, reason, note } = JSON.parse(held);
    const same = JSON.stringify([text, turns, label, reason, note])
      === JSON.stringify([body.text, body.turns, body.label, body.reason, body.note]);
    if (same || body.decision) localStorage.removeItem(draftKey(body.item));
  } catch { /* nothing is held */ }
}

function takeUpDraft() {
  let held = null;
  try { held = JSON.parse(localStorage.getItem(draftKey(pane().dataset.item))); } catch { /* nothing is held */ }
  if (!held) return;
  if (held.text !== null && byId("text")) byId("text").value = held.text;
  for (const [place, typed] of Object.entries(held.turns || {})) {
    const turn = content.querySelector(`.turn[data-place="${Number(place)}"]`);
    if (turn && typed.text !== undefined) turn.querySelector(".turn-text").value = typed.text;
    for (const call of turn ? turn.querySelectorAll(".turn-call") : []) {
      if (typed.arguments?.[call.dataset.call] !== undefined) call.value = typed.arguments[call.dataset.call];
    }
  }
  if (byId("label") && held.label) byId("label").value = held.label;
  byId("reason").value = held.reason;
  byId("note").value = held.note;
  changed();
}

// Pages

async function part(path, place, item) {
  const query = new URLSearchParams(location.search);
  if (item) query.set("item", item);
  const answer = await fetch(`${path}?${query}`).catch(() => null);
  if (answer === null || !answer.ok) return false;
  place.innerHTML = await answer.text(); // the server's own template: every value in it is escaped
  return true;
}

async function open(item, { push = true } = {}) {
  await keepDraft();
  if (push) pushAddress(item);
  if (await part("/item", content, item)) settle();
  mark(item);
}

function pushAddress(item) {
  const query = new URLSearchParams(location.search);
  query.set("item", item);
  history.pushState(null, "", `?${query}`);
}

// A long queue is listed in part: where the text that is open is not among it, the part around it is fetched.
function mark(item) {
  if (![...queue.querySelectorAll("a[data-item]")].some((link) => link.dataset.item === item) && queue.querySelector("a[data-item]")) refreshQueue();
  for (const link of queue.querySelectorAll("a[data-item]")) {
    if (link.dataset.item === item) {
      link.setAttribute("aria-current", "true");
      link.scrollIntoView({ block: "nearest" });
    } else link.removeAttribute("aria-current");
  }
}

// One row and the progress: what a vote changes.
function applyChange(item, answer) {
  position = answer.position;
  const row = [...queue.querySelectorAll("a[data-item]")].find((link) => link.dataset.item === item);
  const status = row?.querySelector(".status");
  if (status) {
    status.textContent = answer.status;
    status.className = `status ${answer.status.replaceAll(" ", "-")}`;
  }
  const { decided, settled, total, counts } = answer.progress, bar = queue.querySelector("progress");
  bar.value = decided;
  bar.dataset.total = total;
  bar.dataset.settled = settled;
  queue.querySelector(".progress p").innerHTML = "<b></b> decided";
  queue.querySelector(".progress b").textContent = `${decided} of ${total}`;
  if (settled !== decided) queue.querySelector(".progress p").append(` by you, ${settled} by all`);
  byId("counts").textContent = Object.entries(counts).map(([word, number]) => `${number} ${word}`).join(", ");
}

async function refreshQueue() {
  const focused = document.activeElement && queue.contains(document.activeElement) ? document.activeElement.name : null;
  const scroll = queue.querySelector(".rows")?.scrollTop || 0;
  if (focused === "text") return; // somebody is searching
  await part("/queue", queue, pane()?.dataset.item);
  const rows = queue.querySelector(".rows");
  if (rows) rows.scrollTop = scroll;
  if (focused) queue.querySelector(`[name="${focused}"]`)?.focus();
}

// One text

function settle() {
  if (!pane()) return;
  takeUpDraft();
  compare();
  for (const time of content.querySelectorAll("time[data-at]")) time.textContent = new Date(1000 * time.dataset.at).toLocaleString();
}

function compare() {
  if (!pane()) return;
  for (const turn of content.querySelectorAll(".turn")) compareTurn(turn);
  const against = content.querySelector('input[name="against"]:checked');
  const source = against && against.value === "original" ? byId("original") : byId("written");
  const place = byId("diff"), text = byId("text").value;
  if (byId("raw").checked) {
    place.textContent = source.textContent;
    byId("diff-told").textContent = "the text that is compared with, as it is";
    return;
  }
  const runs = difference(source.textContent, text);
  draw(place, runs);
  const { gone, added, spaces } = count(runs);
  byId("diff-told").textContent = gone || added
    ? `${gone} ${gone === 1 ? "word" : "words"} gone, ${added} new`
    : spaces ? "only white space differs" : "no difference";
}

function compareTurn(turn) {
  const place = turn.querySelector(".turn-diff"), before = turn.querySelector(".turn-before").textContent;
  const now = turn.querySelector(".turn-text").value;
  place.hidden = before === now;
  if (!place.hidden) draw(place, difference(before, now));
}

function changed() {
  compare();
  holdDraft();
  byId("saved").textContent = "…";
  clearTimeout(debounce);
  debounce = setTimeout(keepDraft, 300);
}

async function keepDraft() {
  if (debounce === null || !pane()) return;
  clearTimeout(debounce);
  debounce = null;
  const body = fields();
  sending = sending.then(() => send("/draft", body));
  const answer = await sending;
  if (answer.kept) dropDraft(body);
  const saved = byId("saved");
  if (saved && pane()?.dataset.item === body.item) saved.textContent = answer.refused || "draft saved";
}

let voting = null; // the text whose vote is on its way: a second press votes on nothing
async function decide(decision, more = {}) {
  if (!pane() || voting === pane().dataset.item) return;
  voting = pane().dataset.item;
  try { await vote(decision, more); } finally { voting = null; }
}

async function vote(decision, more) {
  clearTimeout(debounce);
  debounce = null;
  const body = { ...fields(), decision, seen: Number(pane().dataset.seen), ...more };
  sending = sending.then(() => send("/decide", body));
  const answer = await sending;
  if (answer.refused) {
    if (answer.newest !== undefined) await conflict(body);
    tell(answer.refused, true);
    return;
  }
  dropDraft(body);
  if (!more.again) undone.length = 0;
  byId("redo").hidden = !undone.length;
  tell(`${body.item}: ${answer.kept}. u takes it back.`);
  applyChange(body.item, answer);
  await keepDraft(); // what was typed while the vote was on its way
  const item = answer.next || body.item;
  if (item !== body.item) pushAddress(item);
  content.innerHTML = answer.page; // the server's own template: every value in it is escaped
  settle();
  mark(item);
  content.focus({ preventScroll: true }); // at once: whoever has begun to type keeps the keyboard
}

// Somebody was faster: load what they did, and put back what was typed here.
async function conflict(body) {
  await send("/draft", body);
  await open(body.item, { push: false });
}

async function undo() {
  sending = sending.then(() => send("/undo", {}));
  const answer = await sending;
  if (answer.refused) return tell(answer.refused, true);
  undone.push(answer);
  byId("redo").hidden = false;
  tell(`${answer.item}: no longer ${answer.undone}. U makes it ${answer.undone} again.`);
  applyChange(answer.item, answer);
  await open(answer.item);
}

// The last vote that was taken back, with what stands in the fields now.
async function redo() {
  const last = undone.pop();
  if (!last) return tell("There is nothing to make again.", true);
  if (pane()?.dataset.item !== last.item) await open(last.item);
  await decide(last.undone === "edited" ? "accepted" : last.undone, { reason: byId("reason").value || last.reason, again: true });
}

function ask(id) {
  const dialog = byId(id);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue), { once: true }));
}

async function reject() {
  if (!pane()) return;
  byId("reject-reason").value = byId("reason").value;
  if ((await ask("reject-why")) === "go") await decide("rejected", { reason: byId("reject-reason").value });
}

function restore() {
  byId("text").value = byId("written").textContent;
  for (const field of content.querySelectorAll(".turn textarea")) field.value = field.dataset.made;
  changed();
}

async function rename() {
  if ((await ask("name-ask")) !== "go") return;
  const answer = await send("/reviewer", { name: byId("name-given").value });
  if (answer.refused) tell(answer.refused, true);
  else location.reload();
}

async function finish() {
  await keepDraft();
  const progress = queue.querySelector("progress"), total = Number(progress.dataset.total);
  const waiting = total - Number(progress.dataset.settled);
  byId("finish-rest").hidden = !waiting;
  byId("finish-go").hidden = waiting > 0 || !total;
  byId("finish-told").textContent = !total
    ? "No text has arrived yet: there is nothing to finish."
    : waiting
      ? `${waiting} of ${total} ${waiting === 1 ? "waits" : "wait"}. Nothing that waits is judged: decide, or accept the rest unseen.`
      : `All ${total} are decided. They are frozen as a version, and the server ends.`;
  const choice = await ask("finish-ask");
  if (!choice) return;
  const answer = await send("/finish", { accept_waiting: choice === "rest" });
  if (answer.refused) return tell(answer.refused, true);
  events.close();
  document.body.classList.add("finished");
  tell(`Finished: version ${answer.version}, ${answer.hash.slice(7, 15)}. You may close this page; \`steelyard measure\` takes it from here.`);
}

// What people do

const ACTS = {
  a: () => decide("accepted"),
  e: () => (content.querySelector(".turn.edited .turn-text") || content.querySelector(".turn.assistant .turn-text") || byId("text"))?.focus(),
  l: () => byId("label")?.focus(),
  n: () => byId("note")?.focus(),
  r: reject,
  d: () => decide("deferred"),
  u: undo,
  U: redo,
  j: () => byId("after")?.dataset.item && open(byId("after").dataset.item),
  k: () => byId("before")?.dataset.item && open(byId("before").dataset.item),
  "/": () => queue.querySelector('input[name="text"]')?.focus(),
  "?": () => ask("help"),
};

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select, dialog");
  if (event.target.matches("#text, .turn textarea") && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    decide("accepted");
  } else if (field && event.key === "Escape" && !field.closest("dialog")) {
    event.target.blur();
    content.focus({ preventScroll: true });
  } else if (!field && !event.ctrlKey && !event.metaKey && !event.altKey && ACTS[event.key]) {
    event.preventDefault();
    ACTS[event.key]();
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-item]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    open(link.dataset.item);
    return;
  }
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "accept") decide("accepted");
  else if (button.id === "reject") reject();
  else if (button.id === "defer") decide("deferred");
  else if (button.id === "undo") undo();
  else if (button.id === "redo") redo();
  else if (button.id === "keys") ask("help");
  else if (button.id === "who") rename();
  else if (button.id === "finish") finish();
  else if (button.id === "restore") restore();
  else if (button.classList.contains("settle")) {
    const { decision, text, label, reason } = button.dataset;
    decide(decision, { text, label: label || null, reason, final: true });
  }
});

content.addEventListener("input", (event) => {
  if (event.target.closest("#verdict") || event.target.id === "text" || event.target.closest(".turn")) changed();
  else compare();
});
queue.addEventListener("change", (event) => event.target.form?.requestSubmit());
addEventListener("popstate", () => {
  const item = new URLSearchParams(location.search).get("item");
  if (item) open(item, { push: false });
});
addEventListener("pagehide", keepDraft);
document.addEventListener("visibilitychange", () => { if (document.hidden) keepDraft(); });

// What others do

let lost = false, events = null;

function listen() {
  events = new EventSource(`/events?at=${position || document.querySelector(".desk").dataset.position}`);
  events.addEventListener("changed", async (event) => {
    await sending; // the answer to an own vote tells how far the log is
    if (event.data === position) return;
    position = event.data;
    await refreshQueue();
    const first = queue.querySelector("a[data-item]");
    if (!pane() && first) await open(first.dataset.item);
  });
  events.addEventListener("open", () => {
    if (!lost) return;
    lost = false;
    tell("Connected again.");
    refreshQueue();
  });
  events.addEventListener("error", () => {
    if (document.body.classList.contains("finished")) return;
    lost = true;
    if (events.readyState !== EventSource.CLOSED) return tell("The server does not answer; trying again. What you type is kept in this browser.", true);
    tell("The server was started again: open the link that it printed. What you typed is kept in this browser.", true);
    setTimeout(comeBack, 2000);
  });
}

// A new server knows this browser once its link was opened; then the page is loaded anew.
async function comeBack() {
  const answer = await fetch(location.href).catch(() => null);
  if (answer?.ok) location.reload();
  else setTimeout(comeBack, 2000);
}

listen();
settle();

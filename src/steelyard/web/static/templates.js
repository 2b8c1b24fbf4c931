import { send } from "./send.js";
import { difference, draw } from "./words.js";

const byId = (id) => document.getElementById(id);
const form = byId("prompts");
const fields = [...form.querySelectorAll(".prompt")].map((place) => ({
  place,
  name: place.dataset.name,
  text: place.querySelector("textarea"),
  made: place.querySelector(".made").textContent,
}));
const drafts = `steelyard-prompts ${form.dataset.drafts}`;

function tell(sentence, bad = false) {
  byId("say").textContent = sentence;
  byId("say").className = bad ? "bad" : "";
}

const changed = () => fields.filter(({ text, made }) => text.value.trimEnd() !== made.trimEnd());

function show() {
  const now = changed();
  for (const field of fields) {
    const is = now.includes(field), diff = field.place.querySelector(".turn-diff");
    field.place.querySelector(".status").hidden = diff.hidden = field.place.querySelector(".restore").hidden = !is;
    if (is) draw(diff, difference(field.made, field.text.value));
  }
  const typed = Object.fromEntries(now.map(({ name, text }) => [name, text.value]));
  try {
    if (now.length) localStorage.setItem(drafts, JSON.stringify(typed));
    else localStorage.removeItem(drafts);
  } catch { /* the page alone keeps it */ }
}

async function save() {
  if (byId("save").disabled) return; // a key pressed twice writes one folder
  byId("save").disabled = true;
  const made = await send("/version", { prompts: Object.fromEntries(fields.map(({ name, text }) => [name, text.value])) });
  byId("save").disabled = false;
  if (made.refused) return tell(made.refused, true);
  tell("");
  try { localStorage.removeItem(drafts); } catch { /* nothing is kept */ }
  byId("written-folder").textContent = made.folder;
  byId("written-prompts").textContent = `${made.prompts.length > 1 ? "prompts" : "prompt"} of ${made.prompts.join(", ")}`;
  byId("written-command").textContent = made.command;
  byId("next").textContent = made.next;
  byId("written").hidden = false;
  byId("written").focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
form.addEventListener("input", show);
form.addEventListener("click", (event) => {
  if (!event.target.closest(".restore")) return;
  const field = fields.find(({ place }) => place.contains(event.target));
  field.text.value = field.made;
  show();
  field.text.focus();
});
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    save();
  } else if (event.key === "Escape") event.target.blur();
});
byId("copy").addEventListener("click", async () => {
  const done = await navigator.clipboard?.writeText(byId("written-command").textContent).then(() => true, () => false);
  if (done) return tell("Copied.");
  getSelection().selectAllChildren(byId("written-command"));
  tell("The command is selected: copy it with Ctrl C.");
});

try {
  const held = JSON.parse(localStorage.getItem(drafts)) || {};
  for (const { name, text, place } of fields) {
    if (typeof held[name] !== "string") continue;
    text.value = held[name];
    place.open = true;
  }
} catch { /* nothing is held */ }
show();
(form.querySelector("details[open] textarea") || byId("content")).focus({ preventScroll: true });
document.documentElement.dataset.ready = "";

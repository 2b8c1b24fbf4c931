import { send } from "./send.js";

const byId = (id) => document.getElementById(id);
let busy = false;

function tell(sentence) {
  byId("say").textContent = sentence;
  byId("say").className = "bad";
}

// The page goes on when the server says that the label is on disk.
async function label(answer) {
  const pane = byId("pane");
  if (!pane || busy) return;
  busy = true;
  const kept = await send("/label", { item: pane.dataset.item, answer, note: byId("note").value });
  busy = false;
  if (kept.refused) tell(kept.refused);
  else location.assign("/");
}

async function undo() {
  const last = await send("/undo", {});
  if (last.refused) tell(last.refused);
  else location.assign(`/?item=${encodeURIComponent(last.item)}`);
}

byId("who").addEventListener("click", () => byId("name-ask").showModal());
byId("name-ask").addEventListener("close", async () => {
  if (byId("name-ask").returnValue !== "go") return;
  const named = await send("/reviewer", { name: byId("name-given").value });
  if (named.refused) tell(named.refused);
  else location.assign("/");
});
byId("undo").addEventListener("click", undo);
byId("skip")?.addEventListener("click", () => label(null));
for (const button of document.querySelectorAll(".answer")) button.addEventListener("click", () => label(button.dataset.answer));

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, dialog")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const chosen = document.querySelector(`.answer[data-key="${CSS.escape(event.key)}"]`);
  if (chosen) label(chosen.dataset.answer);
  else if (event.key === "s") label(null);
  else if (event.key === "u") undo();
});
document.documentElement.dataset.ready = "";

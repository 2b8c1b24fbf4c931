// Live progress of runs that go on, local times, and the link of the page.

(() => {
for (const time of document.querySelectorAll("time[data-at]")) time.textContent = new Date(1000 * time.dataset.at).toLocaleString();
for (const time of document.querySelectorAll("time[datetime]")) time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

const copy = document.getElementById("copy");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    // Of a page on a disk, the address inside its folder, which whoever has the folder can open.
    const place = location.protocol === "file:" ? location.pathname.split("/").pop() + location.hash : location.href;
    await navigator.clipboard.writeText(place);
    document.getElementById("say").textContent = "Link copied.";
  });
}

// j and k go through the list: calls, or its pages.
document.addEventListener("keydown", (event) => {
  const rel = { j: "next", k: "prev" }[event.key];
  if (!rel || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  document.querySelector(`a[rel="${rel}"]`)?.click();
});

// The overview: rows that have every word and pass the filters; an order without asking the server; ticks.
const runs = document.querySelector("table.runs"), find = document.getElementById("find");
if (find) {
  const filters = [...document.querySelectorAll("#runs select")], rows = [...runs.tBodies[0].rows];
  const sift = () => {
    const words = find.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !(words.every((word) => row.textContent.toLowerCase().includes(word)) && filters.every((each) => !each.value || row.dataset[each.name] === each.value));
    const shown = rows.filter((row) => !row.hidden).length;
    document.getElementById("found").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
  };
  find.addEventListener("input", sift);
  for (const each of filters) each.addEventListener("change", sift);
}
runs?.querySelectorAll("button.sort").forEach((button) => button.addEventListener("click", (event) => event.preventDefault()));
const told = document.getElementById("ticked");
if (told) {
  const compare = document.getElementById("compare-two"), together = document.getElementById("show-ticked"), tip = told.textContent;
  const count = () => {
    const ticked = runs.querySelectorAll("input[name=side]:checked").length;
    compare.disabled = ticked !== 2;
    together.disabled = ticked === 0;
    told.textContent = ticked ? `${ticked} ticked` : tip;
  };
  runs.addEventListener("change", count);
  count();
}

async function follow(card) {
  const answer = await fetch(card.dataset.progress).catch(() => null);
  if (answer === null || !answer.ok) return;
  const { answered, planned, opening } = await answer.json();
  if (opening) setTimeout(() => follow(card), 500);
  if (answered === null) return;
  const bar = card.querySelector("progress"), told = card.querySelector(".hint");
  bar.max = Math.max(planned, 1);
  bar.value = answered;
  bar.hidden = answered >= planned;
  bar.setAttribute("aria-label", "Calls answered");
  const going = answered < planned;
  if (going) told.textContent = `${answered.toLocaleString("en")} of ${planned.toLocaleString("en")} trials done, baselines included`;
  else if (card.dataset.going) told.textContent = `${answered.toLocaleString("en")} of ${planned.toLocaleString("en")} trials done`;
  card.dataset.going = going || card.dataset.going ? "yes" : "";
  if (going) setTimeout(() => follow(card), 2000);
}
document.querySelectorAll("[data-progress]").forEach(follow);
})();

// Words that two texts share and do not; white space is told apart from words.

const TOKEN = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;
const CELLS = 4e6; // above this a table of matches would stall the page

export function tokens(text) {
  return text.match(TOKEN) || [];
}

// Runs of [kind, text]: "same", "gone", "new"; white space that alone differs is "gone-space" or "new-space".
export function difference(before, after) {
  const left = tokens(before), right = tokens(after);
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head &&
         left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  const runs = [];
  push(runs, "same", left.slice(0, head));
  middle(runs, left.slice(head, left.length - tail), right.slice(head, right.length - tail));
  push(runs, "same", left.slice(left.length - tail));
  return tidy(runs);
}

// A space that two changes share belongs to both, so that a changed passage reads as one before and one after.
function tidy(runs) {
  const out = [];
  let gone = "", added = "";
  const flush = () => {
    push(out, "gone", tokens(gone));
    push(out, "new", tokens(added));
    gone = added = "";
  };
  runs.forEach(([kind, text], place) => {
    const between = kind === "same" && /^\s+$/.test(text) && place + 1 < runs.length && gone.trim() && added.trim();
    if (kind.startsWith("gone")) gone += text;
    else if (kind.startsWith("new")) added += text;
    else if (between) { gone += text; added += text; }
    else { flush(); push(out, kind, [text]); }
  });
  flush();
  return out;
}

function middle(runs, left, right) {
  const rows = left.length, columns = right.length;
  if (rows * columns > CELLS) {
    push(runs, "gone", left);
    push(runs, "new", right);
    return;
  }
  const width = columns + 1;
  const longest = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      longest[i * width + j] = left[i] === right[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  let i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && left[i] === right[j]) { push(runs, "same", [left[i]]); i++; j++; }
    else if (j >= columns || (i < rows && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) push(runs, "gone", [left[i++]]);
    else push(runs, "new", [right[j++]]);
  }
}

function push(runs, kind, parts) {
  for (const part of parts) {
    const last = runs[runs.length - 1];
    const space = kind !== "same" && /^\s+$/.test(part);
    if (last && (last[0] === kind || (space && last[0] === `${kind}-space`))) last[1] += part;
    else if (last && last[0] === `${kind}-space`) { last[0] = kind; last[1] += part; }
    else runs.push([space ? `${kind}-space` : kind, part]);
  }
}

// How many words were taken away and added.
export function count(runs) {
  const words = (kind) => runs.filter((run) => run[0] === kind).reduce((sum, run) => sum + tokens(run[1]).filter((t) => /[\p{L}\p{N}]/u.test(t)).length, 0);
  const spaces = runs.filter((run) => run[0].endsWith("-space")).length;
  return { gone: words("gone"), added: words("new"), spaces };
}

const TAGS = { same: "span", gone: "del", new: "ins", "gone-space": "del", "new-space": "ins" };
const SIGNS = [[/ /g, "·"], [/\n/g, "↵\n"], [/\t/g, "⇥"]];

export function draw(place, runs) {
  place.replaceChildren(...runs.map(([kind, text]) => {
    const part = document.createElement(TAGS[kind]);
    part.className = kind;
    part.textContent = kind.endsWith("-space") ? SIGNS.reduce((shown, [sign, mark]) => shown.replace(sign, mark), text) : text;
    return part;
  }));
}

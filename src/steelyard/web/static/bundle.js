// Calls of a run from one file of data: the list with its filters, one call, one stimulus. It opens from a
// disk, where a page may load scripts and nothing else; the address after # says what is shown.
"use strict";

const waiting = new Map();
function steelyardData(name, packed) { waiting.get(name)(packed); }

function load(name) {
  return new Promise((found, failed) => {
    waiting.set(name, found);
    const script = document.createElement("script");
    script.onerror = () => failed(new Error(`data/${name}.js is missing: copy the whole folder`));
    script.src = `data/${name}.js`;
    document.head.append(script);
  }).then((packed) => {
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  });
}

function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) if (value !== false && value != null) made.setAttribute(name, value === true ? "" : value);
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}
const number = (count) => count.toLocaleString("en");
const calls = (count) => `${number(count)} ${count === 1 ? "call" : "calls"}`;
const PAGE = 100, LONG = 1500;
const OUTCOMES = { wrong: "wrong against the label", flip: "only flips", positional: "positional pairs", contradiction: "contradicting their reason", unreadable: "only unreadable", failed: "only failed" };
const CHIPS = { kind: "kind", delta: "step", label: "label", answer: "answer", stimulus: "stimulus", differs: "other answer than" };
const FIELDS = ["figure", "judge", "probe", "protocol", "kind", "stratum", "delta", "label", "answer", "stimulus", "differs", "outcome", "text", "sort"];

class Run {
  constructor(name, data) {
    Object.assign(this, data, data.columns, { name });
    this.size = this.ids.length;
    this.row = new Map(this.ids.map((id, row) => [id, row]));
    this.bits = new Map();
    this.promptFiles = new Map();
  }
  has(mask, row) {
    if (!this.bits.has(mask)) this.bits.set(mask, Uint8Array.from(atob(this.masks[mask]), (sign) => sign.charCodeAt(0)));
    return (this.bits.get(mask)[row >> 3] >> (7 - (row & 7))) & 1;
  }
  text(row) { return this.exchanges[this.exchange[row]][0]; }
  shown(row) { return this.stimuli[this.stimulus[row]]; }
  isBaseline(row) { return this.baselines[this.judge[row]]; }
  tags(row) { return Object.keys(this.outcomes).filter((word) => this.has(this.outcomes[word], row)); }
  winner(row) {
    const word = this.verdicts[this.verdict[row]][0];
    return this.shown(row).paired && (word === "1" || word === "2") ? ["uv", "vu"][this.order[row]][word - 1] : null;
  }
  answer(row) { return this.winner(row) ?? this.verdicts[this.verdict[row]][0]; }
  place(row) { return [this.shown(row).hash, this.protocols[this.protocol[row]], this.order[row], this.replicate[row]].join(" "); }
  // Answers of the judge that a list is held against, which may be of another run.
  async compareWith(side) {
    if (this.comparedWith === side) return;
    const [number, judge] = [side.slice(0, side.indexOf(":")), side.slice(side.indexOf(":") + 1)];
    const other = `run-${number}` === this.name ? this : new Run(`run-${number}`, await load(`run-${number}`));
    const rows = other.ids.map((_, row) => row).filter((row) => other.judges[other.judge[row]] === judge);
    this.others = new Map(rows.map((row) => [other.place(row), other.answer(row)]));
    this.comparedWith = side;
  }
  search(text) {
    if (this.sought !== text) {
      const needle = text.toLowerCase(), holds = (words) => words !== null && words !== undefined && words.toLowerCase().includes(needle);
      this.sought = text;
      this.inShown = this.stimuli.map((each) => [each.id, each.request, ...(each.texts ?? [])].some(holds));
      this.inReply = this.exchanges.map((each) => holds(each[0]));
    }
    return (row) => this.inShown[this.stimulus[row]] || this.inReply[this.exchange[row]];
  }
  // Rows that pass everything but the outcome.
  passing(wanted) {
    const tests = [];
    const named = (column, names, name) => { const place = names.indexOf(name); tests.push((row) => column[row] === place); };
    if (wanted.judge) named(this.judge, this.judges, wanted.judge);
    if (wanted.protocol) named(this.protocol, this.protocols, wanted.protocol);
    const probe = this.probes.find(([id]) => id === wanted.probe);
    if (probe) tests.push((row) => this.has(probe[2], row));
    if (wanted.kind) tests.push((row) => this.shown(row).kind === wanted.kind);
    if (wanted.stratum) tests.push((row) => this.shown(row).stratum === wanted.stratum);
    if (wanted.delta) tests.push((row) => this.shown(row).delta === Number(wanted.delta));
    if (wanted.label) tests.push((row) => this.shown(row).label === wanted.label);
    if (wanted.answer) tests.push((row) => this.answer(row) === wanted.answer);
    if (wanted.stimulus) tests.push((row) => this.shown(row).id === wanted.stimulus);
    if (wanted.differs) tests.push((row) => (this.others.get(this.place(row)) ?? this.answer(row)) !== this.answer(row));
    if (wanted.text) tests.push(this.search(wanted.text));
    const figure = this.figures[wanted.figure];
    if (figure) tests.push((row) => this.has(figure[2], row));
    return Array.from({ length: this.size }, (_, row) => row).filter((row) => tests.every((test) => test(row)));
  }
  ofOutcome(rows, wanted) {
    const figure = this.figures[wanted.figure];
    const mask = wanted.outcome === "counted" ? figure?.[3] : this.outcomes[wanted.outcome];
    return mask === undefined || mask === null ? rows : rows.filter((row) => this.has(mask, row));
  }
  value(column, row) {
    const usage = this.usages[this.usage[row]];
    return {
      stimulus: () => this.shown(row).id,
      judge: () => this.judges[this.judge[row]],
      label: () => this.shown(row).label ?? null,
      verdict: () => this.verdicts[this.verdict[row]][0],
      time: () => (usage[2] ? null : this.time[row]),
      tokens: () => (usage[0] === null ? null : usage[0] + (usage[1] ?? 0) || null),
      cost: () => usage[3],
    }[column]?.();
  }
  sorted(rows, sort) {
    const column = sort.replace(/^-/, ""), way = sort.startsWith("-") ? -1 : 1;
    const keys = new Map(rows.map((row) => [row, this.value(column, row)]));
    const order = (a, b) => {
      const x = keys.get(a) ?? null, y = keys.get(b) ?? null;
      if (x === null || y === null) return (x === null) - (y === null);
      return way * (x < y ? -1 : x > y ? 1 : 0);
    };
    const apart = (a, b) => this.isBaseline(a) - this.isBaseline(b);
    return [...rows].sort((a, b) => apart(a, b) || (column ? order(a, b) : 0) || a - b);
  }
  list(wanted) { return this.sorted(this.ofOutcome(this.passing(wanted), wanted), wanted.sort); }
  async promptAt(place) {
    const file = Math.floor(place / this.prompts_per_file);
    if (!this.promptFiles.has(file)) this.promptFiles.set(file, load(`${this.name}-prompts-${file}`));
    return (await this.promptFiles.get(file))[place % this.prompts_per_file];
  }
}

function address(parts) {
  return "#" + new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== "" && value !== undefined && value !== null));
}

function counted(run, rows) {
  const baselines = rows.filter((row) => run.isBaseline(row)).length;
  return [rows.length - baselines, baselines];
}
function heading([judges, baselines], [allJudges, allBaselines]) {
  const part = (some, all, word) => (some === all ? word : `${number(some)} of ${word}`);
  const own = part(judges, allJudges, calls(allJudges)), other = part(baselines, allBaselines, `${calls(allBaselines)} of baselines`);
  return !allBaselines ? [own] : !allJudges ? [other] : [own, " ", h("small", {}, `and ${other}`)];
}
const inShort = ([judges, baselines], [allJudges]) => [h("b", {}, number(allJudges ? judges : baselines)), allJudges && baselines ? [" ", h("small", { title: "calls of baselines" }, `+ ${number(baselines)}`)] : null];
const tags = (run, row) => run.tags(row).map((word) => [h("span", { class: `status ${word}` }, word), " "]);
function verdict(run, row) {
  const [word, reason] = run.verdicts[run.verdict[row]], winner = run.winner(row), { turn, texts } = run.shown(row);
  const response = turn !== undefined && /^\d+$/.test(word) && texts ? ((Number(word) - 1 + turn) % texts.length) + 1 : null;
  return [h("b", { class: "answer" }, word), reason && [" ", h("span", { class: "hint" }, reason)], winner && [" ", h("span", { class: "hint" }, `content ${winner}`)],
    response && [" ", h("span", { class: "hint" }, `response ${response}`)]];
}
function verbatim(text, name) {
  if (text === undefined || text === null || text === "") return h("p", { class: "unknown" }, text === "" ? "nothing" : "not recorded");
  const pre = (part, label) => h("pre", { dir: "auto", tabindex: 0, role: "group", "aria-label": label }, part);
  if (text.length <= 2 * LONG) return pre(text, name);
  return [pre(text.slice(0, LONG), name), h("details", { class: "rest" }, h("summary", {}, `The other ${number(text.length - LONG)} characters`), pre(text.slice(LONG), `${name}, the rest`))];
}
function reply(run, row) {
  const [text, facts, members] = run.exchanges[run.exchange[row]];
  if (members.length) return members.map(([name, words]) => [h("h4", {}, name), verbatim(words, `Reply of ${name}`)]);
  if (text === null) return h("p", { class: "unknown" }, run.prompt[row] === null ? "The reply was not recorded." : "No reply.");
  return [verbatim(text, "Raw reply"), facts.map((fact) => h("p", { class: "hint" }, fact))];
}
const dollars = (cost) => (cost === null ? "" : cost === 0 ? "free" : "$" + cost.toPrecision(2));

function select(label, name, wanted, options) {
  const option = ([value, word]) => h("option", { value, selected: value === wanted[name] }, word);
  const [plain, others] = options;
  return h("label", {}, label + " ", h("select", { name }, h("option", { value: "" }, "all"), plain.map(option), others?.length ? h("optgroup", { label: "Baselines" }, others.map(option)) : null));
}
// Judges of this run, and one of another run that a comparison leads here with.
function otherThan(run, wanted) {
  const mine = run.judges.map((name) => [`${run.name.slice(4)}:${name}`, name]);
  const elsewhere = wanted.differs && !mine.some(([side]) => side === wanted.differs);
  return elsewhere ? [...mine, [wanted.differs, `${wanted.differs.slice(wanted.differs.indexOf(":") + 1)} of another run`]] : mine;
}
function filters(run, wanted) {
  const own = (is) => run.judges.filter((_, place) => run.baselines[place] === is).map((name) => [name, name]);
  const strata = [...new Set(run.stimuli.map((each) => each.stratum))].sort();
  const form = h("form", { class: "filters", role: "search" },
    select("Judge", "judge", wanted, [own(false), own(true)]),
    select("Probe", "probe", wanted, [run.probes]),
    strata.length > 1 && select("Stratum", "stratum", wanted, [strata.map((name) => [name, name])]),
    run.protocols.length > 1 && select("Protocol", "protocol", wanted, [run.protocols.map((name) => [name, name])]),
    run.judges.length > 1 && select("Other answer than", "differs", wanted, [otherThan(run, wanted)]),
    h("label", {}, "Words ", h("input", { type: "search", name: "text", value: wanted.text, maxlength: 300 })),
    h("button", {}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address({ ...wanted, ...Object.fromEntries(new FormData(form)) });
  });
  return form;
}

function header(wanted, column, words) {
  const downFirst = ["time", "tokens", "cost"].includes(column), down = wanted.sort === `-${column}`, up = wanted.sort === column;
  const next = down ? column : up ? `-${column}` : downFirst ? `-${column}` : column;
  return h("th", { scope: "col", "aria-sort": down ? "descending" : up ? "ascending" : null }, h("a", { class: "sort", href: address({ ...wanted, sort: next }) }, words));
}

function download(name, type, text) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function record(run, row) {
  const shown = run.shown(row), [word, reason] = run.verdicts[run.verdict[row]], usage = run.usages[run.usage[row]];
  return {
    id: run.ids[row], judge: run.judges[run.judge[row]], protocol: run.protocols[run.protocol[row]], probe: shown.probe, kind: shown.kind,
    stratum: shown.stratum, stimulus: shown.id, order: ["uv", "vu"][run.order[row]], replicate: run.replicate[row], label: shown.label ?? null,
    verdict: word, reason, outcomes: run.tags(row).join(" "), latency_ms: run.time[row], input_tokens: usage[0], output_tokens: usage[1], dollars: usage[3], reply: run.text(row),
  };
}
function csv(records) {
  const cell = (value) => {
    const text = String(value ?? "");
    const safe = /^[=+\-@\t\r]/.test(text) && isNaN(text) ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const names = Object.keys(records[0]);
  return [names.join(","), ...records.map((each) => names.map((name) => cell(each[name])).join(","))].join("\r\n") + "\r\n";
}

function listPage(run, wanted, page) {
  const passing = run.passing(wanted), rows = run.sorted(run.ofOutcome(passing, wanted), wanted.sort);
  const all = counted(run, passing), figure = run.figures[wanted.figure];
  const last = Math.max(1, Math.ceil(rows.length / PAGE)), here = Math.min(Math.max(1, page), last);
  const part = rows.slice((here - 1) * PAGE, here * PAGE);
  const tab = (outcome, words, count) => h("a", { href: address({ ...wanted, outcome }), "aria-current": (wanted.outcome === outcome || (outcome === "" && wanted.outcome === "counted" && figure?.[3] == null)) && "page" }, words + " ", inShort(count, all));
  const outcomes = Object.keys(run.outcomes).map((word) => [word, counted(run, run.ofOutcome(passing, { ...wanted, outcome: word }))]);
  const row = (each) => {
    const shown = run.shown(each), usage = run.usages[run.usage[each]], text = run.text(each), protocol = run.protocols[run.protocol[each]];
    return h("tr", {},
      h("th", { scope: "row" }, h("a", { href: address({ ...wanted, call: run.ids[each] }) }, shown.id), h("span", { class: "row-probe" }, `${shown.title}, ${shown.kind}${protocol === "base" ? "" : ", " + protocol}`)),
      h("td", { "data-label": "judge" }, run.judges[run.judge[each]]), h("td", { "data-label": "order, repeat" }, (shown.paired ? ["uv", "vu"][run.order[each]] + ", " : "") + run.replicate[each]),
      h("td", { "data-label": "label" }, shown.label ?? "–"), h("td", { "data-label": "verdict" }, verdict(run, each)), h("td", { "data-label": "how it ended" }, tags(run, each)),
      h("td", { class: "num", "data-label": "time" }, usage[2] ? "in a batch" : run.time[each] === null ? "" : `${number(Math.round(run.time[each]))} ms`),
      h("td", { class: "num", "data-label": "tokens" }, usage[0] === null ? "" : `${number(usage[0])} + ${number(usage[1] ?? 0)}`),
      h("td", { class: "num", "data-label": "cost" }, usage[3] ? dollars(usage[3]) : ""),
      h("td", { class: "excerpt", dir: "auto" }, text === null ? h("span", { class: "unknown" }, run.exchanges[run.exchange[each]][2].length ? `${run.exchanges[run.exchange[each]][2].length} replies` : "none") : text.slice(0, 120) + (text.length > 120 ? "…" : "")));
  };
  const first = part.findIndex((each) => run.isBaseline(each));
  const body = part.map((each, place) => [place === first && h("tr", { class: "apart" }, h("th", { colspan: 10, scope: "rowgroup" }, "Baselines")), row(each)]);
  const file = (kind, type, make) => { const button = h("button", { type: "button", class: "quiet" }, kind); button.addEventListener("click", () => download(`calls.${kind.toLowerCase()}`, type, make(rows.map((each) => record(run, each))))); return button; };
  document.title = `Calls: ${document.body.dataset.run ?? ""}`;
  return [
    h("h1", { class: "long" }, heading(counted(run, rows), all)),
    figure && h("section", { class: "about figure-told", "aria-label": "The figure" }, h("p", {}, h("b", {}, figure[0]), " " + figure[1])),
    wanted.figure && !figure && h("p", { class: "fault" }, "That figure is on no datasheet here: go back to the datasheet."),
    filters(run, wanted),
    h("nav", { class: "tabs", "aria-label": "How calls ended" }, tab("", "all", all), figure?.[3] != null && tab("counted", "counted in the number", counted(run, run.ofOutcome(passing, { ...wanted, outcome: "counted" }))), outcomes.map(([word, count]) => tab(word, OUTCOMES[word], count))),
    Object.keys(CHIPS).some((name) => wanted[name]) && h("p", { class: "chips" }, Object.entries(CHIPS).filter(([name]) => wanted[name]).map(([name, words]) => h("a", { class: "chip", href: address({ ...wanted, [name]: "" }), title: "Take this condition away" }, `${words} ${name === "differs" ? wanted[name].slice(wanted[name].indexOf(":") + 1) : wanted[name]} `, h("span", { "aria-hidden": "true" }, "×")))),
    part.length ? [
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Calls" }, h("table", { class: "calls" },
        h("thead", {}, h("tr", {}, header(wanted, "stimulus", "stimulus"), header(wanted, "judge", "judge"), h("th", { scope: "col" }, "order, repeat"), header(wanted, "label", "label"), header(wanted, "verdict", "verdict"), h("th", { scope: "col" }, "how it ended"), header(wanted, "time", "time"), header(wanted, "tokens", "tokens"), header(wanted, "cost", "cost"), h("th", { scope: "col" }, "reply"))),
        h("tbody", {}, body))),
      h("nav", { class: "pager", "aria-label": "Pages" },
        here > 1 && h("a", { rel: "prev", href: address({ ...wanted, page: here - 1 }) }, "Previous"), h("span", {}, `page ${number(here)} of ${number(last)}`),
        here < last && h("a", { rel: "next", href: address({ ...wanted, page: here + 1 }) }, "Next"),
        h("span", { class: "downloads" }, file("CSV", "text/csv", csv), file("JSON", "application/json", (records) => JSON.stringify(records, null, 1)))),
    ] : h("p", { class: "empty" }, "No call passes these filters. ", h("a", { href: "#" }, "Show all")),
  ];
}

function prompt(run, row) {
  const section = h("section", { class: "about", "aria-labelledby": "prompt-h" }, h("h2", { id: "prompt-h" }, "Prompt, as it was sent"));
  run.promptAt(run.prompt[row]).then(([messages, settings]) => {
    section.append(...messages.flatMap(([who, words]) => [h("h3", {}, who), verbatim(words, `Message of ${who}`)].flat()), h("p", { class: "hint" }, settings));
  }, (error) => section.append(h("p", { class: "fault" }, error.message)));
  return section;
}

// A run of an agent as messages; those that the stimulus edited are marked.
function runOfAgent(made) {
  const parts = (told) => told.length ? told.flatMap(([name, text]) => [name && h("p", { class: "hint" }, name), h("pre", { dir: "auto", tabindex: 0, class: name ? (name.startsWith("calls") ? "code" : "aside") : null }, text)]) : h("p", { class: "unknown" }, "says nothing");
  const edited = made.messages.filter((each) => each.edited).length, count = made.messages.length;
  const head = (each) => [h("span", { class: "turn-no" }, each.number), ` ${each.role} `, each.tool && h("code", {}, each.tool)];
  return [
    h("h2", { id: "run-h" }, `Run of the agent, ${number(count)} ${count === 1 ? "message" : "messages"}${edited ? `, ${edited} edited` : ""}`),
    h("ol", { class: "turns", "aria-labelledby": "run-h" }, made.messages.map((each) => h("li", { class: `turn ${each.role}${each.edited ? " edited" : ""}` }, each.folded
      ? h("details", {}, h("summary", {}, head(each), " ", h("span", { class: "hint" }, each.parts.length ? each.parts[0][1].slice(0, 90) + (each.parts[0][1].length > 90 ? "…" : "") : "says nothing")), parts(each.parts))
      : [h("h3", {}, head(each), each.edited && [" ", h("span", { class: "status edited" }, each.before.length ? "edited" : "added")]), parts(each.parts),
        each.before.length > 0 && h("details", { class: "rest" }, h("summary", {}, "Before the edit"), parts(each.before))]))),
  ];
}

function callPage(run, wanted, row) {
  const shown = run.shown(row), [, , , failures, reader, came] = run.exchanges[run.exchange[row]], usage = run.usages[run.usage[row]];
  let rows = run.list(wanted), place = rows.indexOf(row);
  if (place < 0) { wanted = Object.fromEntries(FIELDS.map((name) => [name, ""])); rows = run.list(wanted); place = rows.indexOf(row); }
  const near = (at, rel, word, key) => rows[at] !== undefined && h("a", { rel, href: address({ ...wanted, call: run.ids[rows[at]] }) }, word + " ", h("kbd", {}, key));
  const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const judge = run.judges[run.judge[row]], order = ["uv", "vu"][run.order[row]];
  document.title = `${shown.id}: ${judge}`;
  return [
    h("div", { class: "head-line" }, h("div", {}, h("p", { class: "kind" }, shown.title), h("h1", { class: "long" }, `${judge} on `, h("a", { href: address({ texts: shown.id }) }, shown.id))),
      h("nav", { "aria-label": "Calls of the list" }, near(place - 1, "prev", "Previous", "k"), " ", h("a", { href: address({ ...wanted, page: place >= PAGE ? Math.floor(place / PAGE) + 1 : "" }) }, `${number(place + 1)} of ${number(rows.length)} in the list`), " ", near(place + 1, "next", "Next", "j"))),
    h("p", {}, tags(run, row), " ", run.reasons[run.why[row]]),
    h("dl", { class: "facts" }, fact("verdict", verdict(run, row)), fact("label", shown.label ?? "none"),
      shown.turn !== undefined && fact("order", `response ${shown.turn + 1} in slot 1`), shown.paired && fact("order", `${order}: content ${order[0]} in slot 1`), fact("repeat", run.replicate[row]), fact("protocol", run.protocols[run.protocol[row]]), reader && fact("reader", reader),
      came && [fact("tokens in, out", `${usage[0] ?? "?"}, ${usage[1] ?? "?"}`), fact("cost", usage[3] === null ? "no price known" : dollars(usage[3])),
        fact("latency", usage[2] ? "not known, in a batch" : `${number(Math.round(run.time[row]))} ms`), fact("attempts", came[0]),
        fact("received", new Date(1000 * run.received[row]).toLocaleString()), came[2] && fact("served by", came[2]), fact("ended", came[1])]),
    h("section", { class: "about", "aria-labelledby": "reply-h" }, h("h2", { id: "reply-h" }, "Raw reply"), reply(run, row),
      failures.length > 0 && [h("h3", {}, "Failures"), h("ol", {}, failures.map(([reason, attempts, message]) => h("li", {}, h("b", {}, reason), ` after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${message}`)))]),
    shown.messages && h("section", { class: "about", "aria-labelledby": "run-h" }, runOfAgent(shown)),
    run.prompt[row] !== null && prompt(run, row),
  ];
}

function stimulusPage(run, id) {
  const place = run.stimuli.findIndex((each) => each.id === id), made = run.stimuli[place];
  if (!made) return [h("h1", { class: "long" }, "There is no such stimulus in this run."), h("p", {}, h("a", { href: "#" }, "All calls"))];
  const rows = run.sorted(run.ids.map((_, row) => row).filter((row) => run.stimulus[row] === place), "");
  const family = run.stimuli.filter((each) => each.parent === made.parent), arms = new Map();
  for (const row of rows) { const arm = `${run.judge[row]} ${run.protocol[row]}`; arms.set(arm, [...(arms.get(arm) ?? []), row]); }
  const columns = made.paired ? [[0, "u first, v second"], [1, "v first, u second"]] : [[null, "answers"]];
  document.title = id;
  return [
    h("p", { class: "kind" }, `${made.title}, ${made.kind}`), h("h1", { class: "long" }, id),
    h("p", {}, `${made.edit.charAt(0).toUpperCase()}${made.edit.slice(1)}; from ${made.parent}, by ${made.author}. Label: `, h("b", {}, made.label ?? "none"), made.delta == null ? "" : `; ${made.delta} quality ${made.delta === 1 ? "step" : "steps"} apart`, `. Stratum: ${made.stratum}.`),
    family.length > 1 && h("details", { class: "about" }, h("summary", {}, `${number(family.length)} stimuli from the same item`), h("ul", {}, family.map((each) => h("li", {}, each.id === id ? h("b", {}, id) : h("a", { href: address({ texts: each.id }) }, each.id), " ", h("span", { class: "hint" }, each.title))))),
    made.messages ? runOfAgent(made) : made.texts ? [h("details", { class: "about", open: true }, h("summary", {}, "Request"), verbatim(made.request, "Request")),
      h("div", { class: "sides" }, made.texts.map((text, side) => h("section", {}, h("h2", {}, made.paired ? ["Content u", "Content v"][side] : made.texts.length > 1 ? `Slot ${side + 1}, response ${((made.turn + side) % made.texts.length) + 1}` : "Response"), verbatim(text, "Text"))))]
      : h("p", { class: "unknown" }, "The texts were not recorded."),
    h("h2", {}, "What judges said"),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Replies, judge by order" }, h("table", { class: "said" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "judge"), columns.map(([, title]) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, [...arms.values()].map((arm, place, every) => [
        run.isBaseline(arm[0]) && place > 0 && !run.isBaseline(every[place - 1][0]) && h("tr", { class: "apart" }, h("th", { scope: "rowgroup", colspan: columns.length + 1 }, "Baselines")),
        h("tr", { class: "arm" }, h("th", { scope: "row" }, run.judges[run.judge[arm[0]]] + (run.protocols[run.protocol[arm[0]]] === "base" ? "" : ", " + run.protocols[run.protocol[arm[0]]]), h("small", {}, run.reasons[run.why[arm[0]]])),
          columns.map(([order, title]) => h("td", { "data-label": title }, arm.filter((row) => order === null || run.order[row] === order).map((row) => h("div", {},
            h("a", { href: address({ call: run.ids[row] }) }, verdict(run, row)), arm.length > columns.length && h("span", { class: "hint" }, ` repeat ${run.replicate[row]} `), " ", tags(run, row),
            h("details", { class: "rest" }, h("summary", {}, "reply"), reply(run, row)))))))])))),
  ];
}

async function show(run, main, first) {
  const query = new URLSearchParams(location.hash.slice(1));
  const wanted = Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""]));
  const call = run.row.get(query.get("call")), stimulus = query.get("texts");
  if (wanted.differs) await run.compareWith(wanted.differs);
  const page = call !== undefined ? callPage(run, wanted, call) : stimulus ? stimulusPage(run, stimulus) : listPage(run, wanted, Number(query.get("page")) || 1);
  main.replaceChildren(h("div", {}, page));
  if (first) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

addEventListener("DOMContentLoaded", async () => {
  const main = document.getElementById("content"), name = main.dataset.data;
  try {
    if (!("DecompressionStream" in window)) throw new Error("this browser is too old for these pages: open them in one of 2023 or later");
    const run = new Run(name, await load(name));
    await show(run, main, true);
    addEventListener("hashchange", () => show(run, main, false));
  } catch (error) {
    main.replaceChildren(h("h1", { class: "long" }, "The calls cannot be shown"), h("p", { class: "fault" }, error.message + "."));
  }
});

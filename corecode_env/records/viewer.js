"use strict";
// What was recorded may hold anything, so that it reaches the page as text nodes only.
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
const PAGE = 50;

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}
const text = (index) => data.texts[index];
const turnsOf = (episode) => episode.turns.map((index) => data.turns[index]);
const number = (value) => (value === null || value === undefined ? "" : String(+value.toFixed(3)));
const link = (place, label) => el("a", { href: "#/episode/" + place }, label);

function shade(verdict) {
  if (verdict === "AC") return "good";
  return verdict === "SE" || verdict === "SKIP" || verdict === "" ? "odd" : "bad";
}
const verdictMark = (verdict) => el("span", { class: shade(verdict) }, verdict || "none");
const answerOf = (episode) => (episode.answer === null ? null : data.turns[episode.turns[episode.answer]]);
const verdictOf = (episode) => (answerOf(episode) ? answerOf(episode).judgement.verdict : "");

// ---------------------------------------------------------------- parts
function tests(judgement) {
  const rows = judgement.results.map((run) =>
    el("tr", null,
      el("td", { class: "whole" }, run.count === 1 ? String(run.first) : run.first + "–" + (run.first + run.count - 1)),
      el("td", null, run.public ? "public" : "hidden"),
      el("td", null, verdictMark(run.verdict)),
      el("td", null, run.note)));
  return el("div", { class: "scroll" }, el("table", null,
    el("thead", null, el("tr", null, ...["test", "", "verdict", "note"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", null, ...rows)));
}
function terms(turn) {
  const rows = [];
  for (const [agent, paid] of Object.entries(turn.terms))
    for (const [name, value] of Object.entries(paid))
      rows.push(el("tr", null, el("td", null, agent), el("td", null, name),
        el("td", { class: "number" }, value === null ? "–" : number(value))));
  if (!rows.length) return null;
  return el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, el("th", { scope: "col" }, "paid to"),
    el("th", { scope: "col" }, "term"), el("th", { class: "number", scope: "col" }, "reward"))), el("tbody", null, ...rows)));
}
function folded(title, body) {
  return el("details", null, el("summary", null, title), el("pre", null, body));
}
function card(turn, heading) {
  const program = turn.program === null ? null : text(turn.program);
  const action = text(turn.action);
  const node = el("section", { class: "card" }, el("h3", null, heading || turn.agent + ", round " + (turn.round + 1)));
  if (turn.judgement)
    node.append(el("p", { class: "quiet" }, verdictMark(turn.judgement.verdict),
      " · " + Math.round(100 * turn.judgement.pass_rate) + " % of tests passed"));
  const body = program === null ? action : program;
  node.append(body.trim() ? el("pre", null, body) : el("p", { class: "quiet" }, "nothing was written"));
  if (program !== null && program !== action) node.append(folded("whole answer", action));
  for (const [name, index] of Object.entries(turn.written)) node.append(folded("wrote: " + name, text(index)));
  if (turn.judgement) node.append(tests(turn.judgement));
  const paid = terms(turn);
  if (paid) node.append(paid);
  if (turn.prompt !== null) node.append(folded("what it read", text(turn.prompt)));
  return node;
}
function chosen(label, options, value, change) {
  const select = el("select", { onchange: (event) => change(event.target.value) },
    ...options.map(([key, shown]) => el("option", { value: key, selected: key === value }, shown)));
  return el("label", null, label, select);
}

// ---------------------------------------------------------------- learning curve
let metric = null;
function overview() {
  main.append(...data.notes.map((note) => el("p", { class: "note" }, note)));
  const solved = data.episodes.filter((episode) => verdictOf(episode) === "AC").length;
  main.append(el("p", null, data.episodes.length + " episodes, " + solved + " solved, in " +
    data.files.length + (data.files.length === 1 ? " file." : " files.")));
  const names = [...new Set(data.metrics.flatMap((line) =>
    Object.keys(line).filter((name) => name !== "step" && typeof line[name] === "number")))].sort();
  if (!names.length) {
    main.append(el("p", { class: "quiet" }, "No metrics are on record here: a run folder has them."));
  } else {
    if (!names.includes(metric)) metric = 
      [/pass@1/, /^solved$/, /reward/, /./].map((usual) => names.find((name) => usual.test(name))).find(Boolean);
    main.append(el("h2", null, "Learning curve"), el("form", null,
      chosen("metric", names.map((name) => [name, name]), metric, (value) => { metric = value; show(); })), curve(metric));
  }
  const rows = data.files.map((file, place) => {
    const here = data.episodes.filter((episode) => episode.file === place);
    const good = here.filter((episode) => verdictOf(episode) === "AC").length;
    return el("tr", null, el("td", null, el("a", { href: "#/episodes/" + place }, file)),
      el("td", { class: "number" }, String(here.length)), el("td", { class: "number" }, String(good)),
      el("td", { class: "number" }, here.length ? Math.round((100 * good) / here.length) + " %" : ""));
  });
  main.append(el("h2", null, "Files"), el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null,
    el("th", { scope: "col" }, "file"), ...["episodes", "solved", "share"].map((name) => el("th", { class: "number", scope: "col" }, name)))),
    el("tbody", null, ...rows))));
}
function svg(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function curve(name) {
  const points = data.metrics.filter((line) => typeof line[name] === "number").map((line, i) => [line.step ?? i, line[name]]);
  const xs = points.map((point) => point[0]), ys = points.map((point) => point[1]);
  const least = ys.reduce((a, b) => Math.min(a, b)), most = ys.reduce((a, b) => Math.max(a, b));
  const [low, high] = least === most ? [least - 0.5, most + 0.5] : [least, most];
  const first = xs[0], span = xs[xs.length - 1] - first || 1;
  const x = (value) => 70 + ((value - first) / span) * 700, y = (value) => 250 - ((value - low) / (high - low)) * 220;
  const picture = svg("svg", { viewBox: "0 0 800 290", role: "img", "aria-label": name + " by step" });
  for (let i = 0; i <= 4; i++) {
    const value = low + ((high - low) * i) / 4;
    picture.append(svg("line", { class: "axis", x1: 70, x2: 770, y1: y(value), y2: y(value) }),
      svg("text", { x: 62, y: y(value) + 4, "text-anchor": "end" }, String(+value.toPrecision(3))));
  }
  picture.append(svg("polyline", { class: "line", points: points.map((p) => x(p[0]) + "," + y(p[1])).join(" ") }));
  if (points.length <= 200)
    for (const [step, value] of points)
      picture.append(svg("circle", { cx: x(step), cy: y(value), r: 3 }, svg("title", {}, "step " + step + ": " + number(value))));
  picture.append(svg("text", { x: 70, y: 275 }, "step " + first),
    svg("text", { x: 770, y: 275, "text-anchor": "end" }, "step " + xs[xs.length - 1]));
  return picture;
}

// ---------------------------------------------------------------- table of episodes
const filter = { verdict: "", task: "", agent: "", file: "", page: 0, sort: "", up: true };
function kept() {
  const wanted = filter.task.toLowerCase();
  const places = data.episodes.map((_, place) => place).filter((place) => {
    const episode = data.episodes[place];
    return (!filter.verdict || (verdictOf(episode) || "none") === filter.verdict) &&
      (!wanted || episode.task.toLowerCase().includes(wanted)) &&
      (!filter.agent || turnsOf(episode).some((turn) => turn.agent === filter.agent)) &&
      (filter.file === "" || episode.file === Number(filter.file));
  });
  if (!filter.sort) return places;
  const key = (place) => {
    const episode = data.episodes[place];
    if (filter.sort === "task") return episode.task;
    if (filter.sort === "verdict") return verdictOf(episode);
    if (filter.sort === "passed") return answerOf(episode) ? answerOf(episode).judgement.pass_rate : -1;
    return episode.returns[filter.sort.slice(7)] ?? -Infinity;
  };
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return places.sort((a, b) => (filter.up ? 1 : -1) * order(key(a), key(b)) || a - b);
}
function episodes(file) {
  if (file !== undefined && data.files[file] !== undefined) filter.file = file;
  const values = (list) => [["", "all"], ...[...new Set(list)].sort().map((value) => [value, value])];
  const set = (name) => (value) => { filter[name] = value; filter.page = 0; table(); };
  const agents = [...new Set(data.episodes.flatMap((episode) => episode.agents))];
  const holder = el("div", { class: "scroll" });
  main.append(el("form", { onsubmit: (event) => event.preventDefault() },
    chosen("verdict", values(data.episodes.map((e) => verdictOf(e) || "none")), filter.verdict, set("verdict")),
    el("label", null, "task contains", el("input", { type: "search", value: filter.task, oninput: (event) => set("task")(event.target.value) })),
    chosen("agent that acted", values(agents), filter.agent, set("agent")),
    chosen("file", [["", "all"], ...data.files.map((name, place) => [String(place), name])], filter.file, set("file"))), holder);
  function head(name, key, numeric) {
    const on = filter.sort === key;
    return el("th", { scope: "col", class: numeric ? "number" : null, "aria-sort": on ? (filter.up ? "ascending" : "descending") : null },
      el("button", { "data-key": key, onclick: () => { filter.up = on ? !filter.up : true; filter.sort = key; filter.page = 0; table();
        holder.querySelector('[data-key="' + CSS.escape(key) + '"]').focus(); } }, name + (on ? (filter.up ? " ↑" : " ↓") : "")));
  }
  function table() {
    const places = kept(), pages = Math.max(1, Math.ceil(places.length / PAGE));
    const rows = places.slice(filter.page * PAGE, (filter.page + 1) * PAGE).map((place) => {
      const episode = data.episodes[place], answer = answerOf(episode);
      return el("tr", null, el("td", null, link(place, String(place))), el("td", null, episode.task), el("td", null, data.files[episode.file]),
        el("td", null, verdictMark(verdictOf(episode))), el("td", { class: "number" }, answer ? Math.round(100 * answer.judgement.pass_rate) + " %" : ""),
        el("td", { class: "number" }, String(episode.turns.length)),
        ...agents.map((agent) => el("td", { class: "number" }, number(episode.returns[agent]))));
    });
    const go = (step) => () => { filter.page += step; table(); };
    holder.replaceChildren(
      el("p", { role: "status" }, places.length + " of " + data.episodes.length + " episodes "),
      el("table", null, el("thead", null, el("tr", null, el("th", { scope: "col" }, "episode"), head("task", "task"), el("th", { scope: "col" }, "file"),
        head("verdict", "verdict"), head("passed", "passed", true), el("th", { scope: "col", class: "number" }, "turns"),
        ...agents.map((agent) => head(agent, "return:" + agent, true)))), el("tbody", null, ...rows)),
      el("p", null, el("button", { disabled: filter.page === 0, onclick: go(-1) }, "earlier"), " page " + (filter.page + 1) + " of " + pages + " ",
        el("button", { disabled: filter.page >= pages - 1, onclick: go(1) }, "later")));
  }
  table();
}

// ---------------------------------------------------------------- one episode, its group and tree
function relatives(episode) {
  return data.episodes.map((_, place) => place).filter((place) => {
    const other = data.episodes[place];
    return other.file === episode.file && other.task === episode.task && other.seed === episode.seed;
  });
}
function episodeView(place) {
  const episode = data.episodes[place];
  if (!episode) return main.append(el("p", { class: "note" }, "There is no episode " + place + "."));
  main.append(el("h2", null, episode.task),
    el("p", { class: "quiet" }, "episode " + place + " · " + data.files[episode.file] + " · " + (episode.env || "environment not named") +
      " · seed " + episode.seed + (episode.valid ? "" : " · the sandbox failed: nothing was rewarded") + " · returns: " +
      Object.entries(episode.returns).map(([agent, value]) => agent + " " + number(value)).join(", ")),
    el("p", null, Number(place) > 0 ? link(place - 1, "previous") : "", " ", Number(place) < data.episodes.length - 1 ? link(Number(place) + 1, "next") : ""),
    el("div", { class: "sides" }, ...turnsOf(episode).map((turn) => card(turn))));
  const family = relatives(episode);
  const siblings = family.filter((other) => data.episodes[other].turns[0] === episode.turns[0]);
  if (episode.turns.length > 1 && siblings.length > 1)
    main.append(el("h2", null, "Group: the " + siblings.length + " episodes that begin with the same turn"),
      el("div", { class: "sides" }, ...siblings.map((other) => {
        const turns = turnsOf(data.episodes[other]), last = answerOf(data.episodes[other]) || turns[turns.length - 1];
        const node = card(last, "episode " + other + (other === Number(place) ? " (this one)" : ""));
        node.append(el("p", null, link(other, "open episode " + other)));
        return node;
      })));
  if (family.length > 1) main.append(el("h2", null, "Tree: all turns that grew from this reset"), tree(family, Number(place)));
}
function tree(family, here) {
  const root = new Map();
  for (const place of family) {
    let level = root;
    for (const index of data.episodes[place].turns) {
      if (!level.has(index)) level.set(index, { places: [], below: new Map() });
      level.get(index).places.push(place);
      level = level.get(index).below;
    }
  }
  const branch = (level, kind) => el("ul", { class: kind }, ...[...level].map(([index, node]) => {
    const turn = data.turns[index], first = text(turn.action).trim().split("\n")[0].slice(0, 90);
    const label = el("span", { class: node.places.includes(here) ? "here" : null }, turn.agent + " ",
      turn.judgement ? verdictMark(turn.judgement.verdict) : "", " " + first + " ",
      ...(node.below.size ? [] : node.places.flatMap((place) => [link(place, "episode " + place), " "])));
    return el("li", null, label, node.below.size ? branch(node.below, null) : null);
  }));
  return branch(root, "tree");
}

// ---------------------------------------------------------------- before and after
const pair = { before: null, after: null, changed: "all" };
function versus() {
  if (data.files.length < 2) {
    main.append(el("p", { class: "note" }, "Two files of episodes are needed to compare; this page holds one."));
    return;
  }
  const evaluations = data.files.map((_, place) => place).filter((place) => /evaluation/.test(data.files[place]));
  const usual = evaluations.length > 1 ? evaluations : data.files.map((_, place) => place);
  pair.before ??= String(usual[0]);
  pair.after ??= String(usual[usual.length - 1]);
  const files = data.files.map((name, place) => [String(place), name]);
  const set = (name) => (value) => { pair[name] = value; show(); };
  main.append(el("form", null, chosen("before", files, pair.before, set("before")), chosen("after", files, pair.after, set("after")),
    chosen("tasks", [["all", "all"], ["gained", "solved more often"], ["lost", "solved less often"]], pair.changed, set("changed"))));
  const byTask = new Map();
  data.episodes.forEach((episode, place) => {
    for (const side of ["before", "after"])
      if (episode.file === Number(pair[side])) {
        if (!byTask.has(episode.task)) byTask.set(episode.task, { before: [], after: [] });
        byTask.get(episode.task)[side].push(place);
      }
  });
  const share = (places) => places.filter((place) => verdictOf(data.episodes[place]) === "AC").length / places.length;
  const both = [...byTask].filter(([, sides]) => sides.before.length && sides.after.length).filter(([, sides]) => {
    const change = share(sides.after) - share(sides.before);
    return pair.changed === "all" || (pair.changed === "gained" ? change > 0 : change < 0);
  });
  const detail = el("div", null);
  const rows = both.map(([task, sides]) => el("tr", null,
    el("td", null, el("button", { class: "plain", onclick: () => open(task, sides).focus() }, task)),
    el("td", { class: "number" }, Math.round(100 * share(sides.before)) + " % of " + sides.before.length),
    el("td", { class: "number" }, Math.round(100 * share(sides.after)) + " % of " + sides.after.length)));
  function open(task, sides) {
    const side = (name) => el("section", { class: "card" }, el("h3", null, name + ": " + data.files[Number(pair[name])]),
      ...sides[name].slice(0, 10).flatMap((place) => [el("p", null, link(place, "episode " + place)), ...turnsOf(data.episodes[place]).map((turn) => card(turn))]),
      sides[name].length > 10 ? el("p", { class: "note" }, "the first 10 of " + sides[name].length) : null);
    const title = el("h2", { tabindex: "-1" }, task);
    detail.replaceChildren(title, el("div", { class: "sides" }, side("before"), side("after")));
    return title;
  }
  main.append(el("p", { role: "status" }, both.length + " tasks in both files"),
    el("div", { class: "beside" }, el("div", { class: "list" }, el("table", null, el("thead", null, el("tr", null, el("th", { scope: "col" }, "task"),
      el("th", { scope: "col", class: "number" }, "solved before"), el("th", { scope: "col", class: "number" }, "solved after"))),
      el("tbody", null, ...rows))), detail));
  if (both.length) open(...both[0]);
}

// ---------------------------------------------------------------- which view
const VIEWS = { "": ["Overview", overview], episodes: ["Episodes", episodes], compare: ["Before and after", versus], episode: [null, episodeView] };
function show() {
  const [name = "", argument] = location.hash.replace(/^#\/?/, "").split("/");
  const view = VIEWS[name] ? name : "";
  main.replaceChildren();
  document.querySelector("nav").replaceChildren(...Object.entries(VIEWS).filter(([, [label]]) => label).map(([key, [label]]) =>
    el("a", { href: "#/" + key, "aria-current": key === view ? "page" : null }, label)));
  VIEWS[view][1](argument);
}
addEventListener("hashchange", () => { show(); main.focus(); scrollTo(0, 0); });
show();

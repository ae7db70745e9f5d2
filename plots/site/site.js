// Sorting, filtering and the choice of a baseline; theme. The state of the leaderboard is in the address.
"use strict";

const failures = [];
window.onerror = (message, file, line) => {
  failures.push(`${message} (${file}:${line})`);
};
window.addEventListener("unhandledrejection", (event) => failures.push(String(event.reason)));

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// --- theme -------------------------------------------------------------------------------------

// From file:// a browser may refuse to keep anything.
function kept(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

const darkByDefault = () => matchMedia("(prefers-color-scheme: dark)").matches;
const theme = () => document.documentElement.dataset.theme || (darkByDefault() ? "dark" : "light");

function setTheme(name) {
  document.documentElement.dataset.theme = name;
}

if (["dark", "light"].includes(kept("theme"))) setTheme(kept("theme"));

function initTheme() {
  const button = document.getElementById("theme");
  const show = () => {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use ${theme() === "dark" ? "light" : "dark"} colours`);
  };
  button.hidden = false;
  button.onclick = () => {
    setTheme(theme() === "dark" ? "light" : "dark");
    kept("theme", theme());
    show();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}

// --- tables of the other pages -----------------------------------------------------------------

// What is absent comes last in both directions.
function compare(a, b, descending) {
  const gone = (x) => x === null || x === undefined || x === "" || Number.isNaN(x);
  if (gone(a) || gone(b)) return gone(a) - gone(b);
  const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return descending ? -order : order;
}

function sortButton(th, click) {
  const button = element("button", { type: "button", className: "sort" });
  button.append(...th.childNodes);
  button.onclick = click;
  th.append(button);
  if (!th.hasAttribute("aria-sort")) th.setAttribute("aria-sort", "none");
}

function initSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((th, k) => {
    const number = th.hasAttribute("data-number");
    sortButton(th, () => {
      const descending = th.getAttribute("aria-sort") === "ascending";
      const value = (row) => {
        const cell = row.cells[k];
        const text = cell.dataset.sort ?? cell.textContent.trim();
        return number ? parseFloat(text.replaceAll(",", "")) : text;
      };
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b), descending)));
      heads.forEach((h) => h.setAttribute("aria-sort", h === th ? (descending ? "descending" : "ascending") : "none"));
    });
  });
}

function initAxis() {
  const field = document.getElementById("axis");
  if (!field) return;
  field.hidden = false;
  const show = () => {
    const chosen = field.querySelector("input:checked").value;
    document.querySelectorAll("[data-axis]").forEach((chart) => {
      chart.hidden = chart.dataset.axis !== chosen;
    });
  };
  field.onchange = show;
  show();
}

// --- leaderboard -------------------------------------------------------------------------------

const MATRIX = { name: 0, slug: 1, kind: 2 };
const CASE = { group: 0, config: 1, ms: 2, low: 3, high: 4, runs: 5, compact: 6, limit: 7, open: 8, stale: 9 };

function read(json) {
  const data = JSON.parse(json);
  const cases = data.cases.map((row) => {
    const [matrix, machine, commit, n, nnz, lu, fill] = data.groups[row[CASE.group]];
    const m = data.matrices[matrix];
    const [variant, settings, device] = data.configs[row[CASE.config]];
    return {
      group: row[CASE.group], config: row[CASE.config], variant, settings, device,
      name: settings ? `${variant} ${settings}` : variant,
      matrix: m[MATRIX.name], slug: m[MATRIX.slug], kind: data.kinds[m[MATRIX.kind]], n, nnz, lu, fill,
      machine: data.machines[machine][0], machineShort: data.machines[machine][1], machineText: data.machines[machine][2],
      commit: data.commits[commit], whole: row[CASE.ms], low: row[CASE.low], high: row[CASE.high], runs: row[CASE.runs],
      compact: row[CASE.compact], limit: row[CASE.limit], open: row[CASE.open], stale: row[CASE.stale],
    };
  });
  for (const c of cases) {
    c.text = [c.matrix, c.name, c.device, c.kind, c.machineText, c.commit.slice(0, 12)].join(" ").toLowerCase();
  }
  return { ...data, cases };
}

const DEFAULTS = { view: "variants", base: "", time: "whole", q: "", device: "", machine: "", kind: "", nmin: "", nmax: "", sort: "" };

function encode(state) {
  const said = Object.entries(state).filter(([key, value]) => key in DEFAULTS && value !== DEFAULTS[key]);
  return new URLSearchParams(said).toString();
}

function decode(hash) {
  const state = { ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (key in DEFAULTS) state[key] = value;
  }
  return state;
}

// Milliseconds of a case as the state has them; null of one that was ended by its limit.
const time = (c, state) => (c.whole === null ? null : state.time === "bare" ? c.whole - c.compact : c.whole);

function filtered(cases, state) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const least = state.nmin === "" ? -Infinity : Number(state.nmin);
  const most = state.nmax === "" ? Infinity : Number(state.nmax);
  return cases.filter((c) =>
    (!state.device || c.device === state.device) && (!state.machine || c.machine === state.machine) &&
    (!state.kind || c.kind === state.kind) && c.n >= least && c.n <= most && words.every((w) => c.text.includes(w)));
}

// The baseline is taken from all cases: a filter chooses rows, not what they are divided by.
function withRatios(all, chosen, state, baseline) {
  const base = new Map();
  for (const c of all) if (c.name === baseline && c.whole !== null) base.set(c.group, time(c, state));
  return chosen.map((c) => {
    const mine = time(c, state);
    return { ...c, ms: mine, ratio: mine !== null && base.has(c.group) ? base.get(c.group) / mine : null };
  });
}

function mean(logs) {
  return logs.reduce((a, b) => a + b, 0) / logs.length;
}

function byVariant(rows) {
  const groups = new Map();
  for (const c of rows) {
    const key = `${c.config} ${c.machine} ${c.commit}`;
    if (!groups.has(key)) groups.set(key, { ...c, matrices: new Map() });
    const of = groups.get(key).matrices;
    if (!of.has(c.matrix)) of.set(c.matrix, []);
    if (c.ratio !== null) of.get(c.matrix).push(Math.log(c.ratio));
    groups.get(key).stale |= c.stale;
  }
  return [...groups.values()].map((row) => {
    // A matrix that was prepared in several ways counts once.
    const logs = [...row.matrices.values()].filter((v) => v.length).map(mean);
    const some = logs.length > 0;
    return {
      ...row, count: row.matrices.size, common: logs.length, ratio: some ? Math.exp(mean(logs)) : null,
      least: some ? Math.exp(Math.min(...logs)) : null, most: some ? Math.exp(Math.max(...logs)) : null,
    };
  });
}

function byMatrix(rows) {
  const groups = new Map();
  for (const c of rows) {
    if (!groups.has(c.matrix)) groups.set(c.matrix, { ...c, variants: new Set(), cases: 0, best: null });
    const row = groups.get(c.matrix);
    // Of a stand-in that changed, and of several orders, the most.
    for (const key of ["n", "nnz", "lu", "fill"]) if (c[key] !== null) row[key] = Math.max(row[key] ?? 0, c[key]);
    row.variants.add(c.variant);
    row.cases += 1;
    if (c.ms !== null && (row.best === null || c.ms < row.best.ms)) row.best = c;
  }
  return [...groups.values()].map((row) => ({ ...row, count: row.variants.size, ms: row.best?.ms ?? null }));
}

const whole = (x) => (x === null ? "–" : x.toLocaleString("en"));
const digits = (x, k = 4) => (x === null ? "–" : x >= 10 ** k ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(k))));
const times = (x) => (x === null ? "–" : x >= 100 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(3))));

function matrixLink(c) {
  return element("a", { href: `matrix/${encodeURIComponent(c.slug)}.html`, textContent: c.matrix });
}

// A line may break after an underscore.
const breakable = (name) => name.split(/(?<=_)/).flatMap((part, k) => (k ? [element("wbr"), part] : [part]));

function variantCell(c) {
  const cell = element("span", {}, ...breakable(c.variant));
  if (c.settings) cell.append(" ", element("span", { className: "small" }, ...breakable(c.settings)));
  return cell;
}

// The interval of a bare time is that of the whole one, without the same seconds.
function interval(c, state) {
  if (c.whole === null) return "ended";
  if (c.low === null) return "not repeated";
  const less = state.time === "bare" ? c.compact : 0;
  return `${digits(c.low - less)} – ${digits(c.high - less)}`;
}

const marks = (c) => [c.open ? "○ unverified" : "", c.stale ? "† stale" : ""].filter(Boolean).join(", ");
const machineCell = (c) => element("span", { textContent: c.machineShort, title: c.machineText });
const commitCell = (c) => element("code", { textContent: c.commit.slice(0, 7) });

// id, head, value to sort by, what a cell shows; number: right-aligned, at first the largest above.
const COLUMNS = {
  variants: [
    ["name", "variant and settings", (c) => c.name, variantCell],
    ["ratio", "times as fast as baseline (×)", (c) => c.ratio, (c) => times(c.ratio), true],
    ["least", "least (×)", (c) => c.least, (c) => times(c.least), true],
    ["most", "most (×)", (c) => c.most, (c) => times(c.most), true],
    ["common", "matrices in common (number)", (c) => c.common, (c) => whole(c.common), true],
    ["count", "matrices (number)", (c) => c.count, (c) => whole(c.count), true],
    ["device", "device", (c) => c.device],
    ["machine", "machine", (c) => c.machineShort, machineCell],
    ["commit", "commit", (c) => c.commit, commitCell],
    ["note", "note", marks],
  ],
  cases: [
    ["matrix", "matrix", (c) => c.matrix, matrixLink],
    ["variant", "variant and settings", (c) => c.name, variantCell],
    ["ms", "median (ms)", (c) => c.ms ?? c.limit, (c) => (c.ms === null ? `> ${digits(c.limit)}` : digits(c.ms)), true],
    ["interval", "interval of 95 % (ms)", (c) => c.low, interval, true],
    ["ratio", "times as fast as baseline (×)", (c) => c.ratio, (c) => times(c.ratio), true],
    ["runs", "runs (number)", (c) => c.runs, (c) => whole(c.runs), true],
    ["n", "order n (rows)", (c) => c.n, (c) => whole(c.n), true],
    ["lu", "nnz(L+U) (entries)", (c) => c.lu, (c) => whole(c.lu), true],
    ["kind", "kind", (c) => c.kind],
    ["device", "device", (c) => c.device],
    ["machine", "machine", (c) => c.machineShort, machineCell],
    ["commit", "commit", (c) => c.commit, commitCell],
    ["note", "note", marks],
  ],
  matrices: [
    ["matrix", "matrix", (c) => c.matrix, matrixLink],
    ["kind", "kind", (c) => c.kind],
    ["n", "order n (rows)", (c) => c.n, (c) => whole(c.n), true],
    ["nnz", "nnz (entries)", (c) => c.nnz, (c) => whole(c.nnz), true],
    ["lu", "nnz(L+U) (entries)", (c) => c.lu, (c) => whole(c.lu), true],
    ["fill", "fill-ins (entries)", (c) => c.fill, (c) => whole(c.fill), true],
    ["count", "variants (number)", (c) => c.count, (c) => whole(c.count), true],
    ["cases", "cases (number)", (c) => c.cases, (c) => whole(c.cases), true],
    ["best", "fastest", (c) => c.best?.name, (c) => (c.best ? variantCell(c.best) : "–")],
    ["ms", "its median (ms)", (c) => c.ms, (c) => digits(c.ms), true],
    ["machine", "its machine", (c) => c.best?.machineShort, (c) => (c.best ? machineCell(c.best) : "–")],
  ],
};
const FIRST_SORT = { variants: "-ratio", cases: "n", matrices: "n" };
const SHORT = new Set(["kind", "device", "machine", "commit", "note"]);  // columns whose text is not broken
const PAGE = 200;

class Board {
  constructor(json) {
    this.data = read(json);
    this.form = document.getElementById("controls");
    this.table = document.getElementById("board");
    this.said = document.getElementById("status");
    this.more = document.getElementById("more");
    this.names = new Map();  // of what can be a baseline, with its matrices
    for (const c of this.data.cases) {
      if (c.whole === null) continue;
      if (!this.names.has(c.name)) this.names.set(c.name, new Set());
      this.names.get(c.name).add(c.matrix);
    }
    const options = (select, pairs) => select.append(...pairs.map(([value, text]) => new Option(text, value)));
    const fields = this.form.elements;
    options(fields.base, [...this.names].sort((a, b) => compare(a[0], b[0]))
      .map(([name, of]) => [name, `${name} (${of.size} ${of.size === 1 ? "matrix" : "matrices"})`]));
    options(fields.device, [...new Set(this.data.cases.map((c) => c.device))].sort().map((d) => [d, d]));
    options(fields.machine, this.data.machines.map(([key, , text]) => [key, text]));
    options(fields.kind, this.data.kinds.map((k) => [k, k]));
    this.form.hidden = false;
    this.form.addEventListener("input", () => this.fromForm());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("reset", (event) => {
      event.preventDefault();
      this.set({ ...DEFAULTS, view: this.state.view });
    });
    this.more.onclick = () => {
      this.shown += PAGE * 5;
      this.body();
    };
    addEventListener("hashchange", () => this.set(decode(location.hash), false));
    this.set(decode(location.hash), false);
  }

  baseline() {
    return this.names.has(this.state.base) ? this.state.base : this.data.baseline;
  }

  fromForm() {
    const entries = Object.fromEntries(new FormData(this.form));
    const state = { ...this.state, ...entries };
    if (state.base === this.data.baseline) state.base = "";
    if (state.view !== this.state.view) state.sort = "";
    this.set(state);
  }

  // address: whether the state goes to the address, too.
  set(state, address = true) {
    this.state = state;
    if (!(state.view in COLUMNS)) state.view = DEFAULTS.view;
    const fields = this.form.elements;
    for (const key of Object.keys(DEFAULTS)) {
      const value = key === "base" ? this.baseline() : state[key];
      if (fields[key] && fields[key].value !== value) fields[key].value = value;
    }
    if (address) history.replaceState(null, "", `#${encode(state)}`);
    this.shown = PAGE;
    this.draw();
  }

  sorting() {
    const columns = COLUMNS[this.state.view];
    const named = this.state.sort || FIRST_SORT[this.state.view];
    const descending = named.startsWith("-");
    const column = columns.find(([id]) => id === named.replace(/^-/, ""));
    return column ? { column, descending } : { column: columns[0], descending: false };
  }

  draw() {
    const { state } = this;
    const chosen = withRatios(this.data.cases, filtered(this.data.cases, state), state, this.baseline());
    const rows = { variants: byVariant, matrices: byMatrix, cases: (x) => x }[state.view](chosen);
    const { column, descending } = this.sorting();
    this.rows = rows.sort((a, b) => compare(column[2](a), column[2](b), descending));
    const caption = {
      variants: `Times as fast as ${this.baseline()}, geometric mean over the matrices that both have on the machine at the commit`,
      cases: `Cases and how many times as fast as ${this.baseline()} on the same prepared matrix, machine and commit`,
      matrices: "Matrices with the fastest case on any machine",
    }[state.view];
    this.table.caption.firstElementChild.textContent = `${caption}; ${state.time === "bare" ? "without digests of rows" : "whole runs"}`;
    this.head(column, descending);
    this.body();
  }

  head(column, descending) {
    const before = document.activeElement?.closest?.("#board th")?.dataset.column;
    const row = element("tr");
    for (const c of COLUMNS[this.state.view]) {
      const th = element("th", { scope: "col", textContent: c[1] });
      th.dataset.column = c[0];
      if (c === column) th.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortButton(th, () => {
        const mine = this.sorting();
        const down = mine.column === c ? !mine.descending : Boolean(c[4]) && c[0] !== "ms";
        this.set({ ...this.state, sort: (down ? "-" : "") + c[0] });
      });
      row.append(th);
    }
    this.table.tHead.replaceChildren(row);
    if (before) row.querySelector(`[data-column="${before}"] button`)?.focus();
  }

  body() {
    const columns = COLUMNS[this.state.view];
    const rows = this.rows.slice(0, this.shown).map((c) => element("tr", {}, ...columns.map(([id, , value, show, number], k) => {
      const cell = element(k ? "td" : "th", { className: number ? "number" : SHORT.has(id) ? "short" : "" });
      if (!k) cell.scope = "row";
      cell.append((show ?? value)(c, this.state) ?? "–");
      return cell;
    })));
    this.table.tBodies[0].replaceChildren(...rows);
    this.more.hidden = rows.length === this.rows.length;
    const noun = { variants: "rows", cases: "cases", matrices: "matrices" }[this.state.view];
    this.said.textContent = rows.length === this.rows.length ? `${whole(rows.length)} ${noun}` :
      `The first ${whole(rows.length)} of ${whole(this.rows.length)} ${noun}`;
  }
}

// --- self-test ---------------------------------------------------------------------------------

// #selftest: uses the controls of the page as a reader would and writes what it saw into #selftest-result.
function selftest(board) {
  const results = [];
  const check = (name, passed) => results.push({ name, passed: Boolean(passed) });
  const sorted = (values, descending) => values.every((v, k) => k === 0 || compare(values[k - 1], v, descending) <= 0);
  const ratios = {};
  if (board) {
    const fields = board.form.elements;
    const use = (name, value) => {
      if (name === "view") board.form.querySelector(`[name=view][value="${value}"]`).checked = true;
      else fields[name].value = value;
      board.form.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const cells = (k) => [...board.table.tBodies[0].rows].map((row) => row.cells[k].textContent);
    const click = (id) => board.table.querySelector(`th[data-column="${id}"] button`).click();
    check("the table has rows", board.rows.length > 0 && board.table.tBodies[0].rows.length > 0);
    check("every head has a column and a button", [...board.table.tHead.rows[0].cells].every((th) => th.querySelector("button")));
    check("the baseline is chosen and has ratios", fields.base.value === board.data.baseline &&
      board.rows.some((r) => r.ratio !== null && r.ratio !== 1));
    check("the largest ratio is first", sorted(board.rows.map((r) => r.ratio), true));
    click("ratio");
    check("a click turns the order", sorted(board.rows.map((r) => r.ratio), false) &&
      board.table.querySelector('th[data-column="ratio"]').getAttribute("aria-sort") === "ascending");
    check("one column alone is marked as sorted", [...board.table.querySelectorAll("th[aria-sort]")]
      .filter((th) => th.getAttribute("aria-sort") !== "none").length === 1);
    for (const name of [board.data.baseline, "cpu_bitmap_panels"]) {
      use("base", name);
      const itself = board.rows.filter((r) => r.name === name);
      check(`the baseline ${name} is 1 of itself`, itself.length > 0 && itself.every((r) => Math.abs(r.ratio - 1) < 1e-9));
      ratios[name] = board.rows.filter((r) => r.ratio !== null).map((r) => [r.name, r.machine, r.commit, r.ratio, r.least, r.most, r.common]);
    }
    use("view", "cases");
    const all = board.rows.length;
    for (const [id] of COLUMNS.cases) {
      click(id);
      const { column, descending } = board.sorting();
      check(`cases sort by ${id}`, column[0] === id && sorted(board.rows.map(column[2]), descending));
    }
    use("device", "gpu");
    check("the filter of devices", board.rows.length > 0 && board.rows.length < all && cells(9).every((d) => d === "gpu"));
    use("nmin", "10000");
    use("nmax", "100000");
    check("the filter of n", board.rows.length > 0 && board.rows.every((r) => r.n >= 10000 && r.n <= 100000));
    use("kind", "real");
    check("the filter of kinds", board.rows.length > 0 && cells(8).every((k) => k === "real"));
    use("q", "BCSSTK18 maxid");
    check("the filter of text", board.rows.length > 0 && board.rows.every((r) => r.matrix === "bcsstk18" && r.variant.includes("maxid")));
    const address = location.hash;
    const before = JSON.stringify(board.state);
    check("the address has the state", address.includes("q=BCSSTK18") && address.includes("nmin=10000") && address.includes("view=cases"));
    check("the state comes back from the address", JSON.stringify(decode(address)) === before && `#${encode(decode(address))}` === address);
    use("machine", board.rows[0].machine);
    check("the filter of machines", new Set(board.rows.map((r) => r.machine)).size === 1);
    use("q", "no such matrix");
    check("nothing found is said", board.rows.length === 0 && board.said.textContent === "0 cases");
    fields.q.form.querySelector("[type=reset]").click();
    check("reset shows all again", board.rows.length === all && fields.device.value === "" && fields.q.value === "");
    check("more rows are behind a button", !board.more.hidden);
    board.more.click();
    check("the button shows more", board.table.tBodies[0].rows.length > PAGE);
    use("time", "bare");
    check("times without digests are no longer", board.rows.every((r) => r.ms === null || r.ms <= r.whole));
    use("view", "matrices");
    check("a row for each matrix", new Set(board.rows.map((r) => r.matrix)).size === board.rows.length);
    use("view", "variants");
    const mixed = board.data.groups.some(([, machine, commit]) => machine === undefined || commit === undefined);
    check("a group has one machine and one commit", !mixed);
  }
  document.querySelectorAll("table.sortable").forEach((table, t) => {
    [...table.tHead.rows[0].cells].forEach((th, k) => {
      th.querySelector("button").click();
      const number = th.hasAttribute("data-number");
      const values = [...table.tBodies[0].rows].map((row) => {
        const text = row.cells[k].dataset.sort ?? row.cells[k].textContent.trim();
        return number ? parseFloat(text.replaceAll(",", "")) : text;
      });
      check(`table ${t} sorts by column ${k}`, th.getAttribute("aria-sort") === "ascending" && sorted(values, false));
    });
  });
  const axis = document.querySelector("#axis input[value=lu]");
  if (axis) {
    axis.click();
    check("the other axis is shown", [...document.querySelectorAll("[data-axis]")].every((c) => c.hidden === (c.dataset.axis !== "lu")));
  }
  const button = document.getElementById("theme");
  const was = theme();
  button.click();
  check("the button changes the theme", theme() !== was && document.documentElement.dataset.theme === theme());
  button.click();
  check("no page is wider than its window", document.documentElement.scrollWidth <= innerWidth);
  check("tables have scopes", [...document.querySelectorAll("thead th")].every((th) => th.scope === "col"));
  const out = element("script", { id: "selftest-result", type: "application/json" });
  out.textContent = JSON.stringify({ results, errors: failures, ratios }).replaceAll("<", "\\u003c");
  document.body.append(out);
}

addEventListener("DOMContentLoaded", () => {
  const asked = location.hash === "#selftest";
  initTheme();
  document.querySelectorAll("table.sortable").forEach(initSortable);
  initAxis();
  const data = document.getElementById("data");
  const board = data ? new Board(data.textContent) : null;
  if (asked) selftest(board);
});

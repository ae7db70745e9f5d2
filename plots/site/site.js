// Theme, tables that sort, and a field that filters a table. Every page is complete without this script.
"use strict";

// A browser may refuse to store anything for a page opened by file://.
function stored(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;
const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
if (["dark", "light"].includes(stored("theme"))) root.dataset.theme = stored("theme");

function initTheme() {
  const button = document.getElementById("theme");
  const show = () => {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
  };
  button.hidden = false;
  button.onclick = () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    stored("theme", theme());
    show();
  };
  dark.addEventListener("change", show);
  show();
}

// Cells of a column in its type; an empty cell comes last in both directions.
function valueOf(row, k, number) {
  const text = row.cells[k].dataset.sort ?? row.cells[k].textContent.trim();
  return number ? parseFloat(text.replaceAll(",", "")) : text;
}

function compare(a, b, descending) {
  const absent = (x) => x === "" || Number.isNaN(x);
  if (absent(a) || absent(b)) return absent(a) - absent(b);
  const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  return descending ? -order : order;
}

function initSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((th, k) => {
    const button = document.createElement("button");
    button.className = "sort";
    button.append(...th.childNodes);
    th.append(button);
    button.onclick = () => {
      const descending = th.ariaSort === "ascending";
      const key = (row) => valueOf(row, k, "number" in th.dataset);
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => compare(key(a), key(b), descending)));
      for (const h of heads) h.ariaSort = h === th ? (descending ? "descending" : "ascending") : "none";
    };
  });
}

function initFilter(field) {
  field.hidden = false;
  field.oninput = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of document.getElementById(field.dataset.filters).tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  };
}

addEventListener("DOMContentLoaded", () => {
  initTheme();
  document.querySelectorAll("table.sortable").forEach(initSortable);
  document.querySelectorAll("[data-filters]").forEach(initFilter);
});

// The page: unpacks the data of the run, lists and filters its cases, and opens one by its link or by a key.
"use strict";

/**
 * @typedef {object} Entry a line of the index
 * @property {string} id
 * @property {string} [case]
 * @property {string} path
 * @property {number} line
 * @property {string} [provider]
 * @property {string} outcome
 * @property {string} [state]
 * @property {string} [renamed]
 * @property {number[]} [changes]
 * @property {number} block
 * @property {number} at
 */
/** @typedef {{entries: Entry[], name: string, row: HTMLElement | null}} Case one row: a case with all of its providers */

// Rows beside those in sight, so that scrolling and the tab key find them.
const SPARE_ROWS = 12;

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** @type {Case[]} */
let cases = [];
/** @type {Case[]} those that the filters leave */
let shownCases = [];
/** @type {Map<string, {entry: Entry, case: Case}>} */
const byLink = new Map();
/** @type {Promise<CaseBody[]>[]} */
const blocks = [];
/** @type {Map<string, string>} */
const searched = new Map();
const filters = { text: "", path: "", provider: "", outcome: "", change: -1 };
let filtering = 0;
/** @type {Case | null} */
let openCase = null;
/** @type {Case | null} where the keys stand */
let cursor = null;

/** @param {Element} element @returns {Promise<any>} */
async function unpack(element) {
  const packed = Uint8Array.from(atob(element.textContent || ""), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** @param {number} number @returns {Promise<CaseBody[]>} */
function readBlock(number) {
  return (blocks[number] ??= unpack(document.getElementsByClassName("block")[number]));
}

/** @param {Entry} entry @returns {Promise<CaseBody>} */
const readBody = async (entry) => (await readBlock(entry.block))[entry.at];

/** @param {string} id */
const linkOf = (id) => encodeURIComponent(id.replace(/\p{Cs}/gu, "\ufffd"));

/** @param {Entry} entry */
const isChanged = (entry) => entry.state === "different" || entry.state === "new";
/** @param {Entry} entry */
const needsAttention = (entry) => isChanged(entry) || entry.outcome === "failed" || entry.outcome === "error";

// --- the list

/** @param {Entry[]} entries @returns {Case[]} */
function groupCases(entries) {
  /** @type {Map<string, Case>} */
  const groups = new Map();
  for (const entry of entries) {
    const key = entry.case ? `${entry.path}\n${entry.case}` : entry.id;
    const name = entry.case || entry.id.slice(entry.id.indexOf("::") + 2);
    const found = groups.get(key) || { entries: [], name, row: null };
    found.entries.push(entry);
    groups.set(key, found);
    byLink.set(linkOf(entry.id), { entry, case: found });
  }
  // What needs a look stands first, each part in the order of the run.
  const all = [...groups.values()];
  return [...all.filter((one) => one.entries.some(needsAttention)), ...all.filter((one) => !one.entries.some(needsAttention))];
}

/** @param {Entry} entry */
const markOf = (entry) => (entry.renamed ? "renamed" : isChanged(entry) ? (entry.state === "new" ? "new" : "changed") : entry.outcome);

/** @param {Case} one */
function makeRow(one) {
  const marks = make("span", { class: "marks" });
  for (const entry of one.entries) {
    const mark = markOf(entry);
    marks.append(make("span", { class: `mark ${mark}` }, entry.provider ? isolated(entry.provider) : "", make("span", { class: entry.provider ? "sr" : "" }, ` ${mark}`)), " ");
  }
  const first = one.entries.find(needsAttention) || one.entries[0];
  const link = make("a", { href: `#case=${linkOf(first.id)}` }, make("span", { class: "name" }, isolated(one.name)), " ", make("span", { class: "where" }, isolated(first.path)), " ", marks);
  return make("li", {}, link);
}

/** Show the rows in sight: the list has as many elements as fit, however many cases there are. */
function drawRows() {
  const list = byId("rows");
  if (!shownCases.length) {
    list.replaceChildren();
    return;
  }
  shownCases[0].row ??= makeRow(shownCases[0]);
  if (!list.children.length) list.append(shownCases[0].row);
  const height = list.firstElementChild.offsetHeight || 1;
  const scroller = byId("list");
  const first = Math.max(0, Math.min(Math.floor(scroller.scrollTop / height), shownCases.length) - SPARE_ROWS);
  const last = Math.min(shownCases.length, first + Math.ceil(scroller.clientHeight / height) + 2 * SPARE_ROWS);
  const rows = shownCases.slice(first, last).map((one, number) => {
    const row = (one.row ??= makeRow(one));
    row.setAttribute("aria-setsize", String(shownCases.length));
    row.setAttribute("aria-posinset", String(first + number + 1));
    if (one === openCase) row.firstElementChild?.setAttribute("aria-current", "true");
    else row.firstElementChild?.removeAttribute("aria-current");
    return row;
  });
  const wanted = new Set(rows);
  for (const row of [...list.children]) if (!wanted.has(row)) row.remove();
  // Rows that are there already stay: moving one would take the focus from it.
  let next = list.firstElementChild;
  for (const row of rows) {
    if (row === next) next = row.nextElementSibling;
    else list.insertBefore(row, next);
  }
  list.style.paddingTop = `${first * height}px`;
  list.style.paddingBottom = `${(shownCases.length - last) * height}px`;
}

/** Scroll the list to a case. @param {Case} one */
function scrollToRow(one) {
  const list = byId("list");
  const height = byId("rows").firstElementChild?.offsetHeight || 1;
  const top = shownCases.indexOf(one) * height;
  if (top >= 0 && top < list.scrollTop) list.scrollTop = top;
  else if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
  drawRows();
}

/** Offer the files and providers to filter by, where there are several. */
function addOptions() {
  for (const name of /** @type {const} */ (["path", "provider"])) {
    const values = new Set(cases.flatMap((one) => one.entries.map((entry) => entry[name] || "")).filter(Boolean));
    for (const value of [...values].sort()) byId(name).append(make("option", { value }, value));
    byId(name).parentElement.hidden = values.size < 2;
  }
}

/** @param {Entry} entry */
function matches(entry) {
  if (filters.path && entry.path !== filters.path) return false;
  if (filters.provider && entry.provider !== filters.provider) return false;
  if (filters.change >= 0 && !entry.changes?.includes(filters.change)) return false;
  switch (filters.outcome) {
    case "": return true;
    case "attention": return needsAttention(entry);
    case "changed": return entry.state === "different";
    case "new": return entry.state === "new";
    case "renamed": return Boolean(entry.renamed);
    default: return entry.outcome === filters.outcome;
  }
}

/** @param {Entry} entry @param {string[]} words */
async function holds(entry, words) {
  let text = searched.get(entry.id);
  if (text === undefined) {
    const body = await readBody(entry);
    const parts = [entry.id, entry.provider, body.sent?.payload, body.stored?.payload, body.response?.text, body.error?.message, ...(body.checks || []).map((check) => `${check.text} ${check.reason}`)];
    text = parts.filter(Boolean).join("\n").toLowerCase();
    searched.set(entry.id, text);
  }
  const known = text;
  return words.every((word) => known.includes(word));
}

/** @param {Case[]} found */
function showRows(found) {
  shownCases = found;
  byId("list").scrollTop = 0;
  drawRows();
}

/** Show the cases that the filters leave. */
async function filterCases() {
  const turn = ++filtering;
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) {
    // Names are known at once; the texts of thousands of cases take seconds to unpack.
    const isNamed = (/** @type {Entry} */ entry) => matches(entry) && words.every((word) => entry.id.toLowerCase().includes(word));
    showRows(cases.filter((one) => one.entries.some(isNamed)));
    byId("status").textContent = "Searching…";
  }
  /** @type {Case[]} */
  const found = [];
  let number = 0;
  for (const one of cases) {
    const entries = one.entries.filter(matches);
    for (const entry of entries) {
      if (!words.length || (await holds(entry, words))) {
        found.push(one);
        break;
      }
    }
    if (words.length && ++number % 200 === 0) {
      byId("status").textContent = `Searching, ${number} of ${count(cases.length, "case")}…`;
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (turn !== filtering) return;
  }
  showRows(found);
  byId("status").textContent = found.length === cases.length ? count(cases.length, "case") : `${found.length.toLocaleString("en")} of ${count(cases.length, "case")}`;
}

/** @param {number} change its index; -1 for all */
function filterByChange(change) {
  filters.change = change;
  const button = byId("clear-change");
  button.hidden = change < 0;
  button.textContent = `Change ${change + 1} ✕`;
  button.setAttribute("aria-label", `Show all changes again, not only change ${change + 1}`);
  filterCases();
}

// --- one case

/** Follow the link in the address. @param {boolean} isStart */
async function follow(isStart = false) {
  const [, kind, value] = /^#(case|change)=(.*)$/.exec(location.hash) || [];
  if (kind === "case") {
    await showCase(value);
    return;
  }
  openCase = null;
  byId("detail").hidden = true;
  byId("overview").hidden = false;
  document.body.classList.remove("open");
  document.title = pageTitle;
  markCurrent();
  const id = kind ? `change-${value}` : location.hash === "#cases" ? "cases" : "changes-title";
  const target = byId(id);
  if (target && (location.hash || !isStart)) {
    target.scrollIntoView({ block: "start" });
    target.focus({ preventScroll: true });
  }
}

/** @param {string} link */
async function showCase(link) {
  let known = byLink.get(link);
  try {
    known ??= byLink.get(linkOf(decodeURIComponent(link)));
  } catch {
    // A link that somebody cut short.
  }
  openCase = cursor = known ? known.case : null;
  const bodies = known ? await Promise.all(known.case.entries.map(readBody)) : [];
  if ((known ? known.case : null) !== openCase) return;
  const opened = known ? known.case.entries.map((entry, number) => ({ entry, body: bodies[number] })) : [];
  const detail = byId("detail");
  const heading = make("h2", { tabindex: "-1", id: "detail-title" }, known ? isolated(known.case.name) : "There is no such case in this run");
  const back = make("a", { class: "back", href: "#" }, "← What changed");
  detail.replaceChildren(make("nav", { "aria-label": "Back" }, back), heading);
  const current = opened.find(({ entry }) => entry === known?.entry);
  if (current) detail.append(...caseParts(current, opened).filter(Boolean));
  byId("overview").hidden = true;
  detail.hidden = false;
  document.body.classList.add("open");
  document.title = `${known ? known.case.name : "?"} · ${pageTitle}`;
  markCurrent();
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/**
 * @param {{entry: Entry, body: CaseBody}} current
 * @param {{entry: Entry, body: CaseBody}[]} opened
 */
function caseParts({ entry, body }, opened) {
  const isUneven = entry.state === "different";
  const where = make("p", { class: "where" }, badge(markOf(entry)), " ", make("code", {}, isolated(`${entry.path}:${entry.line}`)), body.snapshot && make("span", {}, " shown in ", make("code", {}, isolated(body.snapshot))));
  const providers = make("nav", { class: "providers", "aria-label": "Providers" });
  for (const other of opened) {
    if (opened.length > 1) providers.append(make("a", { href: `#case=${linkOf(other.entry.id)}`, "aria-current": other.entry === entry ? "true" : undefined, class: `mark ${markOf(other.entry)}` }, isolated(other.entry.provider || other.entry.id), make("span", { class: "sr" }, ` ${markOf(other.entry)}`)));
  }
  const notes = make("ul", { class: "notes" });
  if (entry.renamed) notes.append(make("li", {}, "renamed from ", isolated(entry.renamed)));
  if (entry.changes) {
    const links = entry.changes.map((number) => make("a", { href: `#change=${number + 1}`, class: "number" }, `${number + 1}`));
    notes.append(make("li", {}, entry.changes.length > 1 ? "distinct changes " : "distinct change ", ...links));
  }
  for (const finding of body.findings || []) notes.append(make("li", { class: "finding" }, isolated(finding)));
  for (const adjustment of body.adjustments || []) notes.append(make("li", {}, "adjusted: ", isolated(adjustment)));
  const accept = body.accept && make("div", { class: "accept" }, make("span", {}, "To accept it:"), " ", make("code", {}, isolated(body.accept)), " ", make("button", { type: "button", class: "quiet copy" }, "Copy"));
  const isTold = isUneven || entry.state === "new" || (body.response && opened.length);
  const error = body.error && !isTold && make("p", { class: "problem" }, isolated(body.error.message), body.error.path ? make("code", {}, isolated(` ${body.error.path}:${body.error.line}`)) : "");
  // Offline only what is sent is graded.
  const requestChecks = !body.response && checksView(body.checks);
  const sent = body.sent || body.stored || body.hunks ? make("div", { class: isUneven ? "sent" : "sent beside" }, (body.sent || body.stored) && conversationView(body), payloadView(body)) : make("p", { class: "calm" }, "Nothing is known of what it sends: it did not come to that.");
  return [where, opened.length > 1 && providers, notes.children.length && notes, error, accept, answersView(opened), requestChecks, sent].map((part) => part || "");
}

/** Mark the row of the open case. */
function markCurrent() {
  if (openCase) scrollToRow(openCase);
  else drawRows();
}

// --- keys

/** @param {number} step */
function move(step) {
  const row = document.activeElement?.closest("#rows li");
  const from = openCase || shownCases.find((one) => row && one.row === row) || cursor;
  const at = from ? shownCases.indexOf(from) : -1;
  const next = shownCases[at < 0 ? (step > 0 ? 0 : shownCases.length - 1) : at + step];
  if (!next) return;
  cursor = next;
  scrollToRow(next);
  const link = /** @type {HTMLAnchorElement} */ (next.row?.firstElementChild);
  if (openCase) location.hash = link.hash;
  else link.focus({ preventScroll: true });
}

/** @param {KeyboardEvent} event */
function pressKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (target.matches("input, select, textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (event.key === "Escape" && openCase) location.hash = "";
  if (!byId("keys").checked && event.key.length === 1) return;
  const actions = { j: () => move(1), k: () => move(-1), "/": () => byId("search").focus(), "?": () => byId("help").showModal() };
  const action = actions[/** @type {keyof typeof actions} */ (event.key)];
  if (action) {
    event.preventDefault();
    action();
  }
}

/** @param {MouseEvent} event */
async function click(event) {
  const button = /** @type {HTMLElement} */ (event.target).closest("button");
  if (button?.classList.contains("show-cases")) {
    filterByChange(Number(button.dataset.change));
    byId("cases").scrollIntoView();
    byId("cases").focus({ preventScroll: true });
  } else if (button?.classList.contains("copy")) {
    const code = button.parentElement?.querySelector("code");
    try {
      await navigator.clipboard.writeText(code?.textContent || "");
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(/** @type {Node} */ (code));
    }
  }
}

// --- the start

const pageTitle = document.title;

async function start() {
  document.addEventListener("keydown", pressKey);
  document.addEventListener("click", click);
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("filters").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
  byId("clear-change").addEventListener("click", () => filterByChange(-1));
  let waiting = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      filters.text = byId("search").value;
      filterCases();
    }, 150);
  });
  for (const name of /** @type {const} */ (["path", "provider", "outcome"])) {
    byId(name).addEventListener("change", () => {
      filters[name] = byId(name).value;
      filterCases();
    });
  }
  if (!("DecompressionStream" in window)) {
    byId("status").textContent = "This browser is too old to unpack the cases: it needs Chrome 80, Firefox 113 or Safari 16.4.";
    return;
  }
  const index = await unpack(byId("index"));
  cases = groupCases(index.cases);
  addOptions();
  byId("list").addEventListener("scroll", drawRows, { passive: true });
  addEventListener("resize", drawRows);
  await filterCases();
  addEventListener("hashchange", () => follow());
  await follow(true);
  document.documentElement.dataset.ready = "true";
}

start();

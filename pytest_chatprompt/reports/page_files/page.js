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
 * @property {number} number its place in the index
 * @property {string} names what it is called, in small letters
 */
/** @typedef {{entries: Entry[], name: string, row: HTMLElement | null}} Case one row: a case with all of its providers */

// Rows beside those in sight, so that scrolling and the tab key find them; others replace them once few of them are left.
const SPARE_ROWS = 24;
const LEAST_SPARE_ROWS = 8;
// While texts are still unpacked, a search shows what it has found so often.
const NEXT_MILLISECONDS = 400;

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** @type {Case[]} */
let cases = [];
let entryCount = 0;
/** @type {Case[]} those that the filters leave */
let shownCases = [];
/** @type {Map<string, {entry: Entry, case: Case}>} */
const byLink = new Map();
/** @type {Promise<CaseBody[]>[]} */
const blocks = [];
const filters = { text: "", path: "", provider: "", outcome: "", change: -1 };
let filtering = 0;
/** The rows in the list: their height in pixels, and which of those that are shown they are. */
const drawn = { height: 1, first: 0, last: 0 };
/** @type {Case | null} */
let openCase = null;
/** @type {Case | null} where the keys stand */
let cursor = null;

/** @param {number} number @returns {Promise<CaseBody[]>} */
function readBlock(number) {
  return (blocks[number] ??= unpack(document.getElementsByClassName("block")[number]));
}

/** @param {Entry} entry @returns {Promise<CaseBody>} */
async function readBody(entry) {
  const body = (await readBlock(entry.block))[entry.at];
  for (const name of /** @type {const} */ (["sent", "stored"])) {
    const side = body[name];
    if (side) side.payload ??= await readText(entry.number, name);
  }
  return body;
}

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
    const name = entry.case || entry.id.replace(/^.*?::/s, "");
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

/** The rows in sight with others around them. @param {number} spare how many on each side */
function rowsInSight(spare) {
  const scroller = byId("list");
  const top = Math.min(Math.floor(scroller.scrollTop / drawn.height), shownCases.length);
  const bottom = top + Math.ceil(scroller.clientHeight / drawn.height);
  return { first: Math.max(0, top - spare), last: Math.min(shownCases.length, bottom + spare) };
}

/** Go on with the rows while somebody scrolls. */
function scrollRows() {
  const { first, last } = rowsInSight(LEAST_SPARE_ROWS);
  if (first < drawn.first || last > drawn.last) drawRows();
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
  drawn.height = list.firstElementChild.offsetHeight || 1;
  const { first, last } = Object.assign(drawn, rowsInSight(SPARE_ROWS));
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
  list.style.paddingTop = `${first * drawn.height}px`;
  list.style.paddingBottom = `${(shownCases.length - last) * drawn.height}px`;
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
  let found = cases.filter((one) => one.entries.some((entry) => matches(entry) && words.every((word) => entry.names.includes(word))));
  showRows(found);
  const breaks = new Breaks(() => turn !== filtering);
  // Names are known at once, texts as they are unpacked.
  for (let isWhole = !words.length; !isWhole; ) {
    byId("status").textContent = `Searching, ${found.length.toLocaleString("en")} of ${count(cases.length, "case")} so far…`;
    const known = caseTexts.length;
    const lines = await findLines(words, breaks);
    if (!lines) return;
    const holds = (/** @type {Entry} */ entry) => lines.every((one) => entry.names.includes(one.word) || textsHold(entry.number, one));
    found = cases.filter((one) => one.entries.some((entry) => matches(entry) && holds(entry)));
    shownCases = found;
    drawRows();
    isWhole = known === entryCount;
    if (!isWhole) await Promise.race([readTexts(), new Promise((resolve) => setTimeout(resolve, NEXT_MILLISECONDS))]);
    if (turn !== filtering) return;
  }
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
    byId("status").textContent = "This browser is too old to unpack the cases: it needs Chrome 86, Firefox 113 or Safari 16.4.";
    return;
  }
  const index = await unpack(byId("index"));
  index.cases.forEach((/** @type {Entry} */ entry, /** @type {number} */ number) => {
    entry.number = number;
    entry.names = `${entry.id}\n${entry.provider || ""}`.toLowerCase();
  });
  entryCount = index.cases.length;
  cases = groupCases(index.cases);
  addOptions();
  byId("list").addEventListener("scroll", scrollRows, { passive: true });
  addEventListener("resize", drawRows);
  await filterCases();
  addEventListener("hashchange", () => follow());
  await follow(true);
  document.documentElement.dataset.ready = "true";
  // Before somebody searches them.
  readTexts();
}

start();

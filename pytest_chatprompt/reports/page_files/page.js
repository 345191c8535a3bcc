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
 * @property {string} [kind] of a comparison: what became of it
 * @property {string[]} [answers] of a comparison: both in a line each, if they differ
 * @property {string} [answer] its beginning
 * @property {string} [facts] what it took, in words
 * @property {number} block
 * @property {number} at
 * @property {string} names what it is called, in small letters
 * @property {string} [text] what is searched of it, once it was
 */
/** @typedef {{id: string, removed?: string, added?: string, moved?: string}} Change its lines */
/** @typedef {{entries: Entry[], name: string, group: string, row: HTMLElement | null}} Case one row: a case with all of its providers */
/** @typedef {{title: string, change: number, size: number, row: HTMLElement | null}} Group a row that says what the cases below it share */

// Rows beside those in sight, so that scrolling and the tab key find them; others replace them once few of them are left.
const SPARE_ROWS = 24;
const LEAST_SPARE_ROWS = 8;
// Cases of the table of providers that are shown at first, and with each click.
const GRID_ROWS = 30;
// So long the page may be busy before it answers keys and scrolling again.
const BUSY_MILLISECONDS = 12;

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** @type {Case[]} */
let cases = [];
/** @type {Entry[]} in the order of the run, as they stand in the blocks */
let entries = [];
/** @type {Case[]} those that the filters leave */
let shownCases = [];
/** @type {(Case | Group)[]} the same with what groups them */
let shownRows = [];
/** @type {Change[]} */
let changes = [];
/** @type {string[]} */
let providers = [];
let gridRows = GRID_ROWS;
let hasSeveralFiles = false;
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

/** @param {Element} element @returns {Promise<any>} */
async function unpack(element) {
  const text = atob(element.textContent || "");
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** @param {Entry} entry @returns {Promise<CaseBody>} */
async function readBody({ block, at }) {
  blocks[block] ??= unpack(document.getElementsByClassName("block")[block]);
  return (await blocks[block])[at];
}

/** What is searched of a case beside its names, in small letters. @param {CaseBody} body */
function searchedText(body) {
  const attempts = body.repeats?.attempts || [];
  const checks = [body, ...attempts].flatMap((one) => one.checks || []).map((check) => `${check.text} ${check.reason}`);
  const answers = [body.response, ...(body.answers || []), ...attempts.map((attempt) => attempt.response)].map((answer) => answer?.text);
  return [body.stored?.payload, body.sent?.payload, ...answers, ...checks, body.error?.message].join("\n").toLowerCase();
}

/** @param {string} id */
const linkOf = (id) => encodeURIComponent(id.replace(/\p{Cs}/gu, "\ufffd"));

/** @param {Entry} entry */
const isChanged = (entry) => entry.state === "different" || entry.state === "new";
/** @param {Entry} entry */
const needsAttention = (entry) => (entry.kind ? entry.kind !== "same" : isChanged(entry) || entry.outcome === "failed" || entry.outcome === "error");

// --- the list

/** @param {Entry[]} entries @returns {Case[]} */
function groupCases(entries) {
  /** @type {Map<string, Case>} */
  const groups = new Map();
  for (const entry of entries) {
    const key = entry.case ? `${entry.path}\n${entry.case}` : entry.id;
    const name = entry.case || entry.id.replace(/^.*?::/s, "");
    const found = groups.get(key) || { entries: [], name, group: "", row: null };
    found.entries.push(entry);
    groups.set(key, found);
    byLink.set(linkOf(entry.id), { entry, case: found });
  }
  const all = [...groups.values()];
  for (const one of all) one.group = groupOf(one);
  // Sorting keeps the order of the run within each group.
  return all.sort((one, other) => groupRank(one) - groupRank(other));
}

// In this order after those that have a change.
const GROUPS = ["worse", "better", "changed", "new", "renamed", "error", "failed", "same", "passed", "skipped"];

/** What groups a case: its first change, or else the mark that asks most for a look. @param {Case} one */
function groupOf(one) {
  const numbers = one.entries.flatMap((entry) => (entry.kind ? [] : entry.changes || []));
  if (numbers.length) return String(Math.min(...numbers));
  const marks = one.entries.map(markOf);
  return GROUPS.find((mark) => marks.includes(mark)) || "";
}

/** @param {Case} one */
const groupRank = (one) => (/^\d/.test(one.group) ? Number(one.group) : changes.length + GROUPS.indexOf(one.group));

/** The cases with a row before those of each group. @param {Case[]} found @returns {(Case | Group)[]} */
function withGroups(found) {
  const sizes = new Map();
  for (const { group } of found) sizes.set(group, (sizes.get(group) || 0) + 1);
  if (sizes.size < 2 && !changes.length) return found;
  return found.flatMap((one, at) => {
    if (at && found[at - 1].group === one.group) return [one];
    const change = /^\d/.test(one.group) ? Number(one.group) : -1;
    return [{ title: change < 0 ? one.group : `change ${changes[change].id}`, change, size: sizes.get(one.group), row: null }, one];
  });
}

/** @param {Entry} entry */
const markOf = (entry) => entry.kind || (entry.renamed ? "renamed" : isChanged(entry) ? (entry.state === "new" ? "new" : "changed") : entry.outcome);

/** A mark with its word for who does not see it. @param {Entry} entry @param {string} name */
const markView = (entry, name = "") => make("span", { class: `mark ${markOf(entry)}` }, make("span", { class: "sr" }, ` ${name} ${markOf(entry)}`));

/** @param {Case} one */
function makeRow(one) {
  const marks = make("span", { class: "marks" }, ...one.entries.map((entry) => markView(entry, visibleText(entry.provider || ""))));
  const first = one.entries.find(needsAttention) || one.entries[0];
  const where = hasSeveralFiles && make("span", { class: "where" }, isolated(first.path));
  return make("li", {}, make("a", { href: `#case=${linkOf(first.id)}` }, make("span", { class: "name" }, isolated(one.name)), " ", where, " ", marks));
}

/** @param {Group} group */
function makeGroupRow({ title, change, size }) {
  const name = change < 0 ? title : make("a", { href: `#change=${changes[change].id}` }, title);
  return make("li", { class: "group" }, make("span", {}, name, ` · ${size.toLocaleString("en")}`));
}

/** The rows in sight with others around them. @param {number} spare how many on each side */
function rowsInSight(spare) {
  const scroller = byId("list");
  const top = Math.min(Math.floor(scroller.scrollTop / drawn.height), shownRows.length);
  const bottom = top + Math.ceil(scroller.clientHeight / drawn.height);
  return { first: Math.max(0, top - spare), last: Math.min(shownRows.length, bottom + spare) };
}

/** Go on with the rows while somebody scrolls. */
function scrollRows() {
  const { first, last } = rowsInSight(LEAST_SPARE_ROWS);
  if (first < drawn.first || last > drawn.last) drawRows();
}

/** @param {Case | Group} one */
const rowOf = (one) => (one.row ??= "entries" in one ? makeRow(one) : makeGroupRow(one));

/** Show the rows in sight: the list has as many elements as fit, however many cases there are. */
function drawRows() {
  const list = byId("rows");
  if (!shownRows.length) {
    list.replaceChildren();
    return;
  }
  if (!list.children.length) list.append(rowOf(shownRows[0]));
  drawn.height = list.firstElementChild.offsetHeight || 1;
  const { first, last } = Object.assign(drawn, rowsInSight(SPARE_ROWS));
  const rows = shownRows.slice(first, last).map((one, number) => {
    const row = rowOf(one);
    row.setAttribute("aria-setsize", String(shownRows.length));
    row.setAttribute("aria-posinset", String(first + number + 1));
    if (openCase && one === openCase) row.firstElementChild?.setAttribute("aria-current", "true");
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
  list.style.paddingBottom = `${(shownRows.length - last) * drawn.height}px`;
}

/** Scroll the list to a case. @param {Case} one */
function scrollToRow(one) {
  const list = byId("list");
  const height = byId("rows").firstElementChild?.offsetHeight || 1;
  const top = shownRows.indexOf(one) * height;
  if (top >= 0 && top < list.scrollTop) list.scrollTop = top;
  else if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
  drawRows();
}

/** Offer the files and providers to filter by, where there are several. */
function addOptions() {
  for (const name of /** @type {const} */ (["path", "provider"])) {
    const values = new Set(entries.map((entry) => entry[name] || "").filter(Boolean));
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
    case "changed": return entry.kind ? entry.kind === "changed" : entry.state === "different";
    case "new": return (entry.kind || entry.state) === "new";
    case "renamed": return Boolean(entry.renamed);
    default: return entry.outcome === filters.outcome || entry.kind === filters.outcome;
  }
}

/** @param {Case[]} found */
function showRows(found) {
  shownCases = found;
  shownRows = withGroups(found);
  byId("list").scrollTop = 0;
  gridRows = GRID_ROWS;
  drawRows();
  drawGrid();
}

/** Show the cases in rows: where some have several providers, each of these has a column. */
function drawGrid() {
  const hasColumns = cases.some((one) => one.entries.length > 1);
  byId("by-provider").hidden = !hasColumns && !entries.some((entry) => entry.answer);
  if (byId("by-provider").hidden) return;
  byId("grid-title").textContent = hasColumns ? "Cases by provider" : "Cases and answers";
  const columns = hasColumns ? providers : [null];
  const names = columns.map((name) => make("th", { scope: "col" }, name === null ? "answer" : isolated(name || "own code")));
  const rows = shownCases.slice(0, gridRows).map((one) => {
    const cells = columns.map((name) => {
      const of = one.entries.filter((entry) => name === null || (entry.provider || "") === name);
      return make("td", {}, ...of.map(cellView));
    });
    return make("tr", {}, make("th", { scope: "row" }, isolated(one.name)), ...cells);
  });
  const head = make("tr", {}, make("th", { scope: "col" }, "case"), ...names);
  byId("grid").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  byId("more-rows").hidden = shownCases.length <= gridRows;
  byId("more-rows").textContent = `Show more (${count(shownCases.length - gridRows, "case")} left)`;
}

/** @param {Entry} entry */
function cellView(entry) {
  const answer = entry.answer && make("span", { class: "answer-start" }, isolated(entry.answer));
  const facts = entry.facts && make("span", { class: "cell-facts" }, entry.facts);
  const head = make("span", { class: "cell-head" }, make("span", { class: `mark ${markOf(entry)}` }, markOf(entry)), " ", facts);
  return make("a", { href: `#case=${linkOf(entry.id)}` }, head, " ", answer);
}

/** Show what each change removes and adds, and which words of an answer changed. */
function drawChanges() {
  for (const element of document.querySelectorAll(".diff")) {
    const { removed, added, moved } = changes[Number(/** @type {HTMLElement} */ (element).dataset.change)];
    if (moved) element.append(make("div", { class: "moved-lines" }, make("span", { class: "side-name" }, "moved"), ...moved.split("\n").map((line) => make("p", { class: "line", dir: "auto" }, visible(line)))));
    if (removed !== undefined || added !== undefined) element.append(changeView(removed, added));
  }
  for (const element of document.querySelectorAll(".told")) {
    const [before, after] = byLink.get(element.querySelector("a")?.hash.slice("#case=".length) || "")?.entry.answers || [];
    if (before !== undefined) element.append(changeView(before, after));
  }
}

/** Show the cases that the filters leave. */
async function filterCases() {
  const turn = ++filtering;
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  /** @type {Set<Entry>} */
  const holding = new Set();
  const findShown = () => cases.filter((one) => one.entries.some((entry) => matches(entry) && (!words.length || holding.has(entry))));
  if (words.length) {
    // Names are known at once, texts as they are unpacked.
    for (const entry of entries) if (words.every((word) => entry.names.includes(word))) holding.add(entry);
    let isBusySince = performance.now();
    for (const entry of entries) {
      if (entry.at === 0) {
        // A block has to be unpacked: what was found so far is shown.
        shownCases = findShown();
        shownRows = withGroups(shownCases);
        drawRows();
        byId("status").textContent = `Searching, ${shownCases.length.toLocaleString("en")} of ${count(cases.length, "case")} so far…`;
      }
      const text = (entry.text ??= searchedText(await readBody(entry)));
      if (words.every((word) => entry.names.includes(word) || text.includes(word))) holding.add(entry);
      if (performance.now() - isBusySince > BUSY_MILLISECONDS) {
        await new Promise((resolve) => setTimeout(resolve));
        isBusySince = performance.now();
      }
      if (turn !== filtering) return;
    }
  }
  const found = findShown();
  showRows(found);
  byId("status").textContent = found.length === cases.length ? count(cases.length, "case") : `${found.length.toLocaleString("en")} of ${count(cases.length, "case")}`;
}

/** @param {number} change its index; -1 for all */
function filterByChange(change) {
  filters.change = change;
  const button = byId("clear-change");
  button.hidden = change < 0;
  const id = changes[change]?.id;
  button.textContent = `Change ${id} ✕`;
  button.setAttribute("aria-label", `Show all changes again, not only change ${id}`);
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
  const back = make("a", { class: "back", href: "#" }, `← ${byId("changes-title").textContent}`);
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
    const links = entry.changes.map((number) => make("a", { href: `#change=${changes[number].id}`, class: "number" }, changes[number].id));
    notes.append(make("li", {}, entry.changes.length > 1 ? "distinct changes " : "distinct change ", ...links));
  }
  for (const finding of body.findings || []) notes.append(make("li", { class: "finding" }, isolated(finding)));
  for (const adjustment of body.adjustments || []) notes.append(make("li", {}, "adjusted: ", isolated(adjustment)));
  const accept = body.accept && make("div", { class: "accept" }, make("span", {}, "To accept it:"), " ", make("code", {}, isolated(body.accept)), " ", make("button", { type: "button", class: "quiet copy" }, "Copy"));
  const isTold = isUneven || entry.state === "new" || (body.response && opened.length);
  const error = body.error && !isTold && make("p", { class: "problem" }, isolated(body.error.message), body.error.path ? make("code", {}, isolated(` ${body.error.path}:${body.error.line}`)) : "");
  // Offline only what is sent is graded.
  const requestChecks = !body.response && checksView(body.checks);
  const conversation = (body.sent || body.stored) && conversationView(body);
  const sent = conversation ? make("div", { class: isUneven ? "sent" : "sent beside" }, !body.is_change_first && conversation, payloadView(body)) : make("p", { class: "calm" }, "Nothing is known of what it sends: it did not come to that.");
  return [where, opened.length > 1 && providers, notes.children.length && notes, error, accept, body.is_change_first && conversation, answersView(opened), requestChecks, sent].map((part) => part || "");
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

/** @type {Record<string, (event: KeyboardEvent) => void>} */
const keyActions = { j: () => move(1), k: () => move(-1), "/": () => byId("search").focus(), "?": () => byId("help").showModal() };

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
  const action = keyActions[event.key];
  if (action) {
    event.preventDefault();
    action(event);
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
  byId("more-rows").addEventListener("click", () => {
    gridRows += GRID_ROWS;
    drawGrid();
  });
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
  ({ cases: entries, changes } = await unpack(byId("index")));
  for (const entry of entries) entry.names = `${entry.id}\n${entry.provider || ""}`.toLowerCase();
  cases = groupCases(entries);
  providers = [...new Set(entries.map((entry) => entry.provider || ""))];
  hasSeveralFiles = new Set(entries.map((entry) => entry.path)).size > 1;
  drawChanges();
  addOptions();
  byId("list").addEventListener("scroll", scrollRows, { passive: true });
  addEventListener("resize", drawRows);
  await filterCases();
  addEventListener("hashchange", () => follow());
  await follow(true);
  document.documentElement.dataset.ready = "true";
}

const started = start();

// The view of one case: its answers, its conversation and its payload. page.js opens it.
// Whatever a prompt holds is set as text, never as markup, and no attribute is made of it but labels and links to a case.
"use strict";

/** @typedef {string | {kind: string, text?: string, name?: string, id?: string, parts?: Part[]}} Part */
/** @typedef {{role: string, parts: Part[]}} Turn */
/** @typedef {{endpoint?: string, settings?: string[][], tools?: string[], turns: Turn[], kept?: number, earlier?: number}} SentRequest of its turns, `kept` begin as in an earlier one */
/** @typedef {{name: string, characters: number, tokens: number, is_estimate: boolean}} PromptPart */
/** @typedef {{payload: string, requests: SentRequest[]}} Side */
/**
 * @typedef {object} Answer
 * @property {string} text
 * @property {any[]} tool_calls
 * @property {string | null} finish_reason
 * @property {number | null} input_tokens
 * @property {number | null} output_tokens
 * @property {number | null} cache_read_tokens
 * @property {number | null} reasoning_tokens
 * @property {number | null} cost_usd
 * @property {number | null} latency_seconds
 * @property {number} retries
 * @property {number} requests
 * @property {boolean} is_replayed
 */
/** @typedef {{rate: string, attempts: {number: number, outcome: string, problem: string, response: Answer | null, checks: Check[]}[]}} Repeats */
/** @typedef {{verdict: string, text: string, reason: string, place: string}} Check */
/**
 * @typedef {object} CaseBody
 * @property {string[]} [findings]
 * @property {string[]} [adjustments]
 * @property {Answer} [response]
 * @property {Answer[]} [answers] of an application that asked several times, which the response sums up
 * @property {Check[]} [checks]
 * @property {Repeats} [repeats]
 * @property {{message: string, path: string, line: number}} [error]
 * @property {string} [snapshot]
 * @property {Side} [stored]
 * @property {Side} [sent]
 * @property {PromptPart[][]} [parts] of each request that is sent, the longest first
 * @property {string} [parting] the first step at which it parts from the stored run
 * @property {string} [accept]
 * @property {boolean} [is_change_first] whether what is sent comes before the answers
 * @property {CaseBody & {outcome: string}} [before] in an earlier run, that this one is compared with
 */

const LONGEST_TEXT = 20000;
// Of long equal parts of a changed line, in the list of changes.
const SHOWN_AROUND = 120;
const NEXT_TEXT = 200000;
const MOST_ROWS = 1500;
// Equal lines around a change that stay in sight, and how many in a row are worth a button.
const CONTEXT_ROWS = 3;
const LEAST_FOLDED = 5;
// What cannot be seen, or changes the order of what can: shown by its number. Joiners within emoji stay.
const INVISIBLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\p{Cs}]/gu;

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, string | boolean | undefined>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/**
 * A text with what is invisible in it made visible.
 * @param {string} text
 * @returns {DocumentFragment}
 */
function visible(text) {
  const fragment = document.createDocumentFragment();
  let start = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    const code = (match[0].codePointAt(0) || 0).toString(16).toUpperCase().padStart(4, "0");
    fragment.append(text.slice(start, match.index), make("span", { class: "invisible" }, `U+${code}`));
    start = match.index + match[0].length;
  }
  fragment.append(text.slice(start));
  return fragment;
}

/** @param {string} text */
const visibleText = (text) => visible(text).textContent || "";

/** @param {string} text */
const isolated = (text) => make("bdi", {}, visible(text));

/**
 * A text of any length, its beginning at first.
 * @param {string} text
 * @param {string} className
 */
function longText(text, className = "text") {
  const element = make("div", { class: className, dir: "auto" });
  let shown = 0;
  const showNext = (/** @type {number} */ length) => {
    // Not between the halves of a character.
    let end = Math.min(text.length, shown + length);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1])) end++;
    const piece = make("span", {}, visible(text.slice(shown, end)));
    shown = end;
    if (more) more.before(piece);
    else element.append(piece);
    if (more && shown >= text.length) more.remove();
    else if (more) more.textContent = `Show more (${count(text.length - shown, "character")} left)`;
  };
  /** @type {HTMLElement | null} */
  let more = null;
  if (text.length > LONGEST_TEXT) {
    more = make("button", { type: "button", class: "quiet fold" });
    more.addEventListener("click", () => showNext(NEXT_TEXT));
    element.append(more);
  }
  showNext(LONGEST_TEXT);
  return element;
}

/** @param {number} number @param {string} noun */
function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * JSON of a tool call on lines of its own; a text that is no JSON as it is.
 * @param {string} text
 */
function indented(text) {
  try {
    const data = JSON.parse(text);
    // Numbers that JavaScript would round, and keys that it would reorder, stay as they were sent.
    return JSON.stringify(data) === text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1") ? JSON.stringify(data, null, 2) : text;
  } catch {
    return text;
  }
}

// --- one turn

/**
 * @param {Part} part
 * @returns {HTMLElement}
 */
function partView(part) {
  if (typeof part === "string") return longText(part);
  if (part.kind === "media") return make("p", { class: "media" }, isolated(part.text || ""));
  if (part.kind === "thought") {
    return make("div", { class: "thought" }, make("span", { class: "label" }, "Thought"), part.text ? longText(part.text) : " encrypted");
  }
  const named = [isolated(part.name || ""), part.id ? make("small", {}, " ", isolated(part.id)) : null];
  if (part.kind === "call") {
    return make("div", { class: "call" }, make("span", { class: "label" }, "Calls "), ...named, longText(indented(part.text || ""), "text code"));
  }
  const parts = (part.parts || []).map(partView);
  return make("div", { class: "result" }, make("span", { class: "label" }, "Result "), ...named, ...parts);
}

/** @param {Part} part @returns {string} */
function partText(part) {
  if (typeof part === "string") return part;
  const name = [part.name, part.id].filter(Boolean).join(" ");
  if (part.kind === "call") return `Calls ${name}\n${indented(part.text || "")}`;
  if (part.kind === "result") return [`Result ${name}`, ...(part.parts || []).map(partText)].join("\n");
  return part.kind === "thought" ? `Thought: ${part.text || "encrypted"}` : part.text || "";
}

/** @param {Turn} turn */
const turnText = (turn) => turn.parts.map(partText).join("\n");

/** @param {string} role */
const roleClass = (role) => (/^[a-z]+$/.test(role) ? role : "other");

/** @param {Turn} turn @param {string} note */
function turnView(turn, note = "") {
  const head = make("h5", {}, isolated(turn.role), note && make("small", {}, ` ${note}`));
  const parts = turn.parts.length ? turn.parts.map(partView) : [make("p", { class: "calm" }, "empty")];
  return make("li", { class: `turn ${roleClass(turn.role)}` }, head, ...parts);
}

// --- before and after

/** @param {Marked | null} line @param {"before" | "after"} side @param {boolean} isEqual */
function lineView(line, side, isEqual) {
  if (line === null) return make("div", { class: `line ${side} none` });
  const element = make("div", { class: `line ${side} ${isEqual ? "same" : "changed"}`, dir: "auto" });
  if (!isEqual) element.append(make("span", { class: "sr" }, `${side}: `));
  const isWhole = line.every((piece) => !piece.equal);
  for (const piece of line) {
    const text = piece.text.length > LONGEST_TEXT ? `${piece.text.slice(0, LONGEST_TEXT)}… (${count(piece.text.length - LONGEST_TEXT, "character")} more)` : piece.text;
    if (piece.equal || isWhole) element.append(visible(text));
    else element.append(make(side === "before" ? "del" : "ins", {}, visible(text)));
  }
  return element;
}

/**
 * The lines of a change; of long lines what is around the changed words.
 * @param {string | undefined} before
 * @param {string | undefined} after
 */
function changeView(before, after) {
  if (before === undefined || after === undefined) {
    const turn = { role: "", parts: [before ?? after ?? ""] };
    return oneSide(turn, after === undefined ? "before" : "after");
  }
  return sidesView(before, after, (line) => line && line.map((piece, at) => ({ ...piece, text: piece.equal ? middleCut(piece.text, at > 0, at < line.length - 1) : piece.text })));
}

/** An equal part of a line without what is far from a change. @param {string} text @param {boolean} isAfter @param {boolean} isBefore a change */
function middleCut(text, isAfter, isBefore) {
  const start = isAfter ? SHOWN_AROUND : 0;
  const end = isBefore ? SHOWN_AROUND : 0;
  if (text.length <= start + end + SHOWN_AROUND) return text;
  // Whole words, where there are blanks.
  return `${text.slice(0, start).replace(/\s\S*$/, "")}…${text.slice(text.length - end).replace(/^\S*\s/, "")}`;
}

/**
 * Two texts side by side, long equal parts folded.
 * @param {string} before
 * @param {string} after
 * @param {(line: Marked | null) => Marked | null} shown of a line
 */
function sidesView(before, after, shown = (line) => line) {
  const element = make("div", { class: "sides" });
  const rows = compareTexts(before, after);
  const isNear = rows.map(() => false);
  rows.forEach((row, index) => {
    if (row.equal) return;
    for (let near = Math.max(0, index - CONTEXT_ROWS); near <= Math.min(rows.length - 1, index + CONTEXT_ROWS); near++) isNear[near] = true;
  });
  /** @param {number} start @param {number} end */
  const cells = (start, end) => {
    const fragment = document.createDocumentFragment();
    const stop = Math.min(end, start + MOST_ROWS);
    for (const row of rows.slice(start, stop)) {
      fragment.append(lineView(shown(row.before), "before", row.equal), lineView(shown(row.after), "after", row.equal));
    }
    if (stop < end) fragment.append(foldButton(stop, end, `Show the next of ${count(end - stop, "line")}`));
    return fragment;
  };
  /** @param {number} start @param {number} end @param {string} label */
  const foldButton = (start, end, label) => {
    const button = make("button", { type: "button", class: "quiet fold" }, label);
    button.addEventListener("click", () => button.replaceWith(cells(start, end)));
    return button;
  };
  let start = 0;
  while (start < rows.length) {
    let end = start + 1;
    while (end < rows.length && isNear[end] === isNear[start]) end++;
    const isFolded = !isNear[start] && end - start >= LEAST_FOLDED;
    element.append(isFolded ? foldButton(start, end, `${count(end - start, "equal line")}`) : cells(start, end));
    start = end;
  }
  return element;
}

/**
 * The turns of two conversations: equal ones once, changed ones side by side.
 * @param {Turn[]} before
 * @param {Turn[]} after
 */
function turnsCompared(before, after) {
  const list = make("ol", { class: "turns compared" });
  const keys = [before, after].map((turns) => turns.map((turn) => JSON.stringify(turn)));
  let [old, now] = [0, 0];
  for (const piece of compareLists(keys[0], keys[1])) {
    if (piece.equal) {
      for (const turn of before.slice(old, old + piece.before.length)) list.append(turnView(turn, "unchanged"));
    } else {
      const sides = [before.slice(old, old + piece.before.length), after.slice(now, now + piece.after.length)];
      for (let number = 0; number < Math.max(sides[0].length, sides[1].length); number++) {
        list.append(changedTurn(sides[0][number], sides[1][number]));
      }
    }
    old += piece.before.length;
    now += piece.after.length;
  }
  return list;
}

/** @param {Turn | undefined} before @param {Turn | undefined} after */
function changedTurn(before, after) {
  const turn = after || before || { role: "", parts: [] };
  const note = !before ? "added" : !after ? "removed" : before.role === after.role ? "changed" : `was ${before.role}`;
  return make(
    "li",
    { class: `turn ${roleClass(turn.role)} changed` },
    make("h5", {}, isolated(turn.role), make("small", { class: "note" }, ` ${note}`)),
    before && after ? sidesView(turnText(before), turnText(after)) : oneSide(turn, before ? "before" : "after")
  );
}

/** @param {Turn} turn @param {"before" | "after"} side */
function oneSide(turn, side) {
  const lines = turnText(turn).split("\n");
  const cells = lines.slice(0, MOST_ROWS).flatMap((line) => {
    const marked = [{ equal: false, text: line }];
    return [lineView(side === "before" ? marked : null, "before", false), lineView(side === "after" ? marked : null, "after", false)];
  });
  const more = lines.length > MOST_ROWS && make("p", { class: "more" }, `and ${count(lines.length - MOST_ROWS, "more line")}: see the payload`);
  return make("div", { class: "sides" }, ...cells, more);
}

// --- what is sent

/**
 * A setting or a tool, and whether it is new, gone or changed.
 * @param {string} name
 * @param {string | undefined} before
 * @param {string | undefined} after
 */
function factView(name, before, after) {
  const value = before === after ? make("b", {}, isolated(after || "")) : null;
  const old = before !== after && before !== undefined && make("del", {}, make("span", { class: "sr" }, "before: "), isolated(before));
  const now = before !== after && after !== undefined && make("ins", {}, make("span", { class: "sr" }, "after: "), isolated(after));
  return make("li", {}, isolated(name), " ", value, old, old && now && " ", now);
}

/**
 * What a request says beside its turns.
 * @param {SentRequest | undefined} before
 * @param {SentRequest | undefined} after
 */
function factsView(before, after) {
  const facts = make("ul", { class: "facts" });
  const [old, now] = [before || after, after || before].map((request) => ({
    settings: new Map((request?.settings || []).map(([key, value]) => [key, value])),
    tools: new Set(request?.tools || []),
    endpoint: request?.endpoint,
  }));
  if (old.endpoint !== now.endpoint) facts.append(factView("endpoint", old.endpoint, now.endpoint));
  else if (now.endpoint) facts.append(make("li", {}, make("code", {}, isolated(now.endpoint))));
  for (const key of new Set([...now.settings.keys(), ...old.settings.keys()])) {
    facts.append(factView(key, old.settings.get(key), now.settings.get(key)));
  }
  for (const tool of new Set([...now.tools, ...old.tools])) {
    facts.append(factView("tool", old.tools.has(tool) ? tool : undefined, now.tools.has(tool) ? tool : undefined));
  }
  return facts;
}

/**
 * The turns that an earlier request has had, folded.
 * @param {SentRequest} request
 */
function keptView(request) {
  if (!request.kept) return null;
  const kept = request.turns.slice(0, request.kept);
  const button = make("button", { type: "button", class: "quiet fold kept" }, `${count(kept.length, "turn")} as in request ${request.earlier}`);
  button.addEventListener("click", () => button.replaceWith(make("ol", { class: "turns kept" }, ...kept.map((turn) => turnView(turn)))));
  return button;
}

/**
 * What fills the window of the model.
 * @param {PromptPart[]} parts
 */
function partsView(parts) {
  const sum = (/** @type {"characters" | "tokens"} */ unit) => parts.reduce((total, part) => total + part[unit], 0);
  const about = parts.some((part) => part.is_estimate) ? "about " : "";
  const rows = parts.map((part) => {
    const bar = make("span", { class: "bar" });
    bar.style.inlineSize = `${(100 * part.characters) / sum("characters")}%`;
    const cells = [part.characters, part.tokens].map((size) => make("td", {}, size.toLocaleString("en")));
    return make("tr", {}, make("th", { scope: "row" }, isolated(part.name), bar), ...cells);
  });
  const heads = ["part", "characters", `${about}tokens`].map((name) => make("th", { scope: "col" }, name));
  const summary = make("summary", {}, `${count(sum("characters"), "character")}, ${about}${count(sum("tokens"), "token")}`);
  return make("details", { class: "parts" }, summary, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)));
}

/** @param {CaseBody} body */
function conversationView(body) {
  const section = make("section", { class: "conversation", "aria-label": "Conversation" }, make("h3", {}, "Conversation"));
  const [stored, sent] = [body.stored?.requests || [], body.sent?.requests || []];
  const total = Math.max(stored.length, sent.length);
  if (body.parting) section.append(make("p", { class: "parting" }, isolated(body.parting)));
  let step = 0;
  // Of an agent the first one is its prompt, which may have no parts; those to a judge come last, and have none.
  const measured = sent.filter((request) => !request.endpoint?.startsWith("to the judge")).length;
  for (let number = 0; number < total; number++) {
    const [before, after] = [stored[number], sent[number]];
    const shown = after || before;
    const [old, now] = [before, after].map((request) => (request?.turns || []).slice(request?.kept || 0));
    const turns = before && after ? turnsCompared(old, now) : make("ol", { class: "turns" });
    if (!before || !after) for (const turn of [...old, ...now]) turns.append(turnView(turn, before ? "no longer sent" : ""));
    const parts = body.parts?.[number - measured + body.parts.length];
    if (total > 1) for (const turn of turns.children) turn.querySelector("h5")?.prepend(`${++step}. `);
    const title = total > 1 && make("h4", {}, `Request ${number + 1} of ${total}`);
    section.append(make("div", { class: "request" }, title, factsView(before, after), parts?.length && after ? partsView(parts) : null, keptView(shown), turns));
  }
  if (!total) section.append(make("p", { class: "calm" }, "This is no request of a known API: see the payload."));
  return section;
}

/** @param {CaseBody} body */
function payloadView(body) {
  const section = make("section", { class: "payload", "aria-label": "Payload" }, make("h3", {}, "Payload"));
  if (body.stored && body.sent) {
    const [before, after] = [body.stored.payload, body.sent.payload];
    // The line break at the end is no line; one that is missing is.
    const end = before.endsWith("\n") && after.endsWith("\n") ? -1 : undefined;
    section.append(sidesView(before.slice(0, end), after.slice(0, end)));
  } else if (body.sent || body.stored) section.append(longText((body.sent || body.stored)?.payload || "", "text code"));
  return section;
}

// --- answers

/** @param {{entry: Entry, body: CaseBody}[]} opened all providers of a case */
function answersView(opened) {
  const columns = opened.filter(({ body }) => body.response || body.before?.response).map((one) => (one.body.before ? comparedAnswers(one) : answerView(one)));
  if (!columns.length) return null;
  return make("section", { class: "answers", "aria-label": "Answers" }, make("h3", {}, columns.length > 1 ? "Answers" : "Answer"), make("div", { class: "columns" }, ...columns));
}

/** The answers of two runs: their texts beside each other, below each what its checks said. @param {{entry: Entry, body: CaseBody}} opened */
function comparedAnswers({ entry, body }) {
  const before = /** @type {CaseBody & {outcome: string}} */ (body.before);
  const [old, now] = [before, body].map((side) => (side.response ? answerText(side.response) : ""));
  const sides = [before, body].map((side) => {
    const single = side.response ? answerParts(side.response, side.checks).slice(-2) : [];
    const parts = side.repeats ? repeatsView(side.repeats, side.checks) : side.answers && body.is_change_first && side.response ? applicationView(side.response, side.answers).slice(0, -1) : single;
    return make("div", {}, ...parts, side.error && make("p", { class: "problem" }, isolated(side.error.message)));
  });
  return make(
    "article",
    { class: "answer compared" },
    make("h4", {}, isolated(entry.provider || "answer"), make("span", {}, badge(before.outcome), " → ", badge(entry.outcome))),
    old === now ? make("div", {}, make("p", { class: "calm" }, "The answer is the same."), longText(now)) : sidesView(old, now),
    make("div", { class: "both" }, ...sides)
  );
}

/** @param {Answer} answer */
const answerText = (answer) => [...(answer.text ? [answer.text] : []), ...answer.tool_calls.map((call) => partText({ ...callPart(call), id: "" }))].join("\n");

/** @param {{entry: Entry, body: CaseBody}} opened */
function answerView({ entry, body }) {
  const answer = /** @type {Answer} */ (body.response);
  const parts = body.repeats ? repeatsView(body.repeats, body.checks) : body.answers ? applicationView(answer, body.answers) : answerParts(answer, body.checks);
  return make(
    "article",
    { class: "answer" },
    make("h4", {}, isolated(entry.provider || "answer"), " ", badge(entry.outcome)),
    ...parts,
    body.error && entry.state !== "different" && make("p", { class: "problem" }, isolated(body.error.message))
  );
}

/**
 * All answers of a repeated case; those that do not pass are open.
 * @param {Repeats} repeats
 * @param {Check[] | undefined} checks of what is sent
 */
function repeatsView(repeats, checks) {
  const attempts = repeats.attempts.map((attempt) => {
    const parts = attempt.response ? answerParts(attempt.response, attempt.checks) : [longText(attempt.problem)];
    const summary = make("summary", {}, `Answer ${attempt.number} `, badge(attempt.outcome));
    return make("details", { class: "attempt", open: attempt.outcome !== "passed" }, summary, ...parts);
  });
  return [make("p", {}, repeats.rate), ...attempts, checksView(checks)];
}

/** Each answer that an application got, and what all of them took. @param {Answer} total @param {Answer[]} answers */
function applicationView(total, answers) {
  const each = answers.map((answer, number) => {
    const summary = make("summary", {}, `Answer ${number + 1} of ${answers.length}`);
    return make("details", { class: "attempt", open: true }, summary, ...answerParts(answer, undefined));
  });
  return [...each, usageView(total)];
}

/**
 * An answer, what its checks said, and what it took.
 * @param {Answer} answer
 * @param {Check[] | undefined} checks
 */
function answerParts(answer, checks) {
  const calls = answer.tool_calls.map((call) => partView(callPart(call)));
  return [answer.text ? longText(answer.text) : !calls.length && make("p", { class: "calm" }, "no text"), ...calls, checksView(checks), usageView(answer)];
}

/** What an answer took. @param {Answer} answer */
function usageView(answer) {
  const facts = make("dl", { class: "usage" });
  /** @type {[string, number | string | null, string][]} */
  const rows = [
    ["Requests", answer.requests === 1 ? null : answer.requests, ""],
    ["Latency", answer.latency_seconds === null ? null : answer.latency_seconds.toFixed(2), " s"],
    ["Tokens in", answer.input_tokens, ""],
    ["from the cache", answer.cache_read_tokens || null, ""],
    ["Tokens out", answer.output_tokens, ""],
    ["for thinking", answer.reasoning_tokens || null, ""],
    ["Cost", answer.cost_usd === null ? null : `$${answer.cost_usd.toFixed(answer.cost_usd < 0.1 ? 6 : 2)}`, ""],
    ["Finish", answer.finish_reason, ""],
    ["Retries", answer.retries || null, ""],
    ["Replayed", answer.is_replayed ? "yes" : null, ""],
  ];
  for (const [name, value, unit] of rows) {
    if (value !== null && value !== "") facts.append(make("div", {}, make("dt", {}, name), make("dd", {}, isolated(typeof value === "number" ? value.toLocaleString("en") : value), unit)));
  }
  return facts;
}

/** @param {any} call in the shape of OpenAI's chat completions */
function callPart(call) {
  const called = call?.function || call || {};
  const text = typeof called.arguments === "string" ? called.arguments : JSON.stringify(called.arguments ?? {});
  return { kind: "call", name: String(called.name ?? ""), id: String(call?.id ?? ""), text };
}

/** What the checks said, those that do not pass first. @param {Check[] | undefined} checks */
function checksView(checks) {
  if (!checks?.length) return null;
  const passed = checks.filter((check) => check.verdict === "passed");
  const others = checks.filter((check) => check.verdict !== "passed");
  const items = [...others, ...passed].map((check) => {
    const word = make("span", { class: "verdict" }, check.verdict);
    const place = check.place && make("span", { class: "where" }, " ", isolated(check.place));
    return make("li", { class: check.verdict === "passed" ? "passed" : "failed" }, word, " ", make("code", {}, isolated(check.text)), ": ", isolated(check.reason), place);
  });
  return make("div", { class: "checks" }, make("h5", {}, `${passed.length} of ${count(checks.length, "check")} passed`), make("ul", {}, ...items));
}

/** @param {string} word */
function badge(word) {
  return make("span", { class: `badge ${word}` }, word);
}

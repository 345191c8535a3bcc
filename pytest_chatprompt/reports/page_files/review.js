// The review: a decision for each change, which pytest writes at once. page.js shows the changes.
"use strict";

/** @typedef {[outcome: string, told: string, problems: string[]]} Decision */

const decidable = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".decide")]);
/** @param {Element} one */
const changeOf = (one) => /** @type {HTMLElement} */ (one.closest(".change"));
const findLeft = () => decidable.filter((one) => one.querySelector(".take"));

/** Say what became of a change, and what is left. @param {string} told */
function tell(told) {
  const left = findLeft().length;
  const rest = left ? `${left} of ${decidable.length} left to decide` : "All is decided: you can close this page.";
  byId("left").className = left || document.querySelector(".decide .problem") ? "" : "done";
  byId("left").replaceChildren(visible(told && `${told}. `), make("strong", {}, rest));
}

/** Mark the next change that is left, from a place on; the status if there is none. @param {Element | null} place */
function goOn(place) {
  const left = findLeft();
  const next = left.find((one) => place && place.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING && !place.contains(one)) || left[0];
  const target = next ? changeOf(next) : byId("left");
  if (next && openCase) location.hash = `#change=${next.dataset.id}`;
  else {
    target.scrollIntoView({ block: "nearest" });
    target.focus({ preventScroll: true });
  }
}

/** @param {string} word @param {HTMLElement} one */
async function take(word, one) {
  if (changeOf(one).ariaBusy === "true") return;
  changeOf(one).ariaBusy = "true";
  /** @type {Record<string, Decision>} */
  let decisions;
  try {
    const response = await fetch(`${word}/${one.dataset.id}`, { method: "POST" });
    decisions = await response.json();
  } catch {
    byId("left").className = "gone";
    byId("left").textContent = "Pytest does not answer: the review has ended. Run it again to decide what is left.";
    return;
  } finally {
    changeOf(one).ariaBusy = "false";
  }
  for (const other of decidable) if (decisions[other.dataset.id || ""]) showDecision(other, decisions[other.dataset.id || ""]);
  tell(`${one.dataset.id === "new" ? "New" : `Change ${one.dataset.id}`}: ${decisions[one.dataset.id || ""][1]}`);
  goOn(changeOf(one));
}

/** @param {HTMLElement} one @param {Decision} decision */
function showDecision(one, [outcome, told, problems]) {
  const lines = problems.map((problem) => make("p", { class: "problem" }, isolated(problem)));
  one.replaceChildren(make("p", {}, badge(outcome)), ...lines);
  /** @type {Element} */ (one.querySelector(".badge")).textContent = told;
}

/** Decide about the change that is marked, or else mark one. @param {string} word @param {KeyboardEvent} event */
function takeMarked(word, event) {
  const marked = /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest(".change")?.querySelector(".decide:has(.take)"));
  if (event.repeat) return;
  if (marked) take(word, marked);
  else goOn(null);
}

/** Show what a new snapshot holds. @param {Event} event */
async function showContent(event) {
  const details = /** @type {HTMLDetailsElement} */ (event.target);
  const known = byLink.get((details.dataset.case || "").slice("#case=".length));
  if (!known || !details.open || details.children.length > 1) return;
  const body = await readBody(known.entry);
  if (details.children.length === 1) details.append(make("div", { class: "sent" }, conversationView(body), payloadView(body)));
}

document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest(".take"));
  if (button) take(button.dataset.word || "", /** @type {HTMLElement} */ (button.parentElement));
});
document.addEventListener("toggle", showContent, true);
Object.assign(keyActions, {
  a: (/** @type {KeyboardEvent} */ event) => takeMarked("accept", event),
  s: (/** @type {KeyboardEvent} */ event) => takeMarked("skip", event),
  n: () => goOn(document.activeElement?.closest(".change") || null),
});
tell("");
started.then(() => {
  if (!location.hash) goOn(null);
  document.querySelector(".content")?.setAttribute("open", "");
});

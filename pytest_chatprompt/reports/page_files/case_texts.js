// The texts of the cases: unpacked part by part, shown as payloads, and searched. page.js asks for them.
// Each line stands in the page once, however many cases have it; a case has ranges of lines.
"use strict";

/** @typedef {Record<string, number[]>} CaseTexts for each text of a case a start and a length for each range of lines */

// So long the page may be busy before it answers keys and scrolling again.
const BUSY_MILLISECONDS = 12;

/** @type {string[]} */
const textLines = [];
/** @type {string[]} the same in small letters */
const searchedLines = [];
/** @type {CaseTexts[]} in the order of the index */
const caseTexts = [];
/** @type {Promise<void>[]} */
const textParts = [];

/** @param {Element} element @returns {Promise<any>} */
async function unpack(element) {
  const text = atob(element.textContent || "");
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** Let the page answer what happened meanwhile, if it was busy for long. */
class Breaks {
  /** @param {() => boolean} isOver whether nobody wants the result any more */
  constructor(isOver) {
    this.isOver = isOver;
    this.start = performance.now();
  }

  /** @returns {Promise<boolean>} whether to go on */
  async take() {
    if (performance.now() - this.start > BUSY_MILLISECONDS) {
      await new Promise((resolve) => setTimeout(resolve));
      this.start = performance.now();
    }
    return !this.isOver();
  }
}

/** @param {number} number @param {HTMLCollectionOf<Element>} elements @returns {Promise<void>} */
function readTextPart(number, elements) {
  return (textParts[number] ??= (async () => {
    // The lines of a part go on from those of the part before.
    if (number) await readTextPart(number - 1, elements);
    const { lines, cases } = await unpack(elements[number]);
    for (const line of lines) {
      textLines.push(line);
      searchedLines.push(line.toLowerCase());
    }
    for (const ranges of cases) caseTexts.push(ranges);
  })());
}

/** Unpack the texts of the first cases. @param {number} [wanted] how many; all if it is left out */
async function readTexts(wanted = Infinity) {
  const elements = document.getElementsByClassName("texts");
  for (let number = 0; number < elements.length && caseTexts.length < wanted; number++) await readTextPart(number, elements);
}

/** A text of a case. @param {number} number its place in the index @param {string} name @returns {Promise<string>} */
async function readText(number, name) {
  await readTexts(number + 1);
  const ranges = caseTexts[number][name] || [];
  const parts = [];
  for (let at = 0; at < ranges.length; at += 2) parts.push(textLines.slice(ranges[at], ranges[at] + ranges[at + 1]).join("\n"));
  return parts.join("\n");
}

/** @typedef {{word: string, counts: number[]}} WordLines how many lines before each one hold a word, as far as it was searched */

/** @type {WordLines[]} of the words that were searched last */
let searchedWords = [];

/**
 * Find the lines that hold each of some words, among those that are unpacked.
 * @param {string[]} words in small letters
 * @param {Breaks} breaks
 * @returns {Promise<WordLines[] | null>} null if nobody wants it any more
 */
async function findLines(words, breaks) {
  const found = words.map((word) => searchedWords.find((one) => one.word === word) || { word, counts: [0] });
  for (const { word, counts } of found) {
    for (let number = counts.length - 1; number < searchedLines.length; number++) {
      counts.push(counts[number] + (searchedLines[number].includes(word) ? 1 : 0));
      if (number % 256 === 255 && !(await breaks.take())) return null;
    }
  }
  searchedWords = found;
  return found;
}

/** Whether a text of a case holds a word. @param {number} number its place in the index @param {WordLines} lines */
function textsHold(number, { counts }) {
  for (const ranges of Object.values(caseTexts[number] || {})) {
    for (let at = 0; at < ranges.length; at += 2) {
      if (counts[ranges[at] + ranges[at + 1]] > counts[ranges[at]]) return true;
    }
  }
  return false;
}

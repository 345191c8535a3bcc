// Differences: which lines and which words of two texts differ. Pure; case_view.js shows them.
"use strict";

/** @typedef {{equal: boolean, before: string[], after: string[]}} Piece pieces of two lists, in order */
/** @typedef {{equal: boolean, text: string}[]} Marked a line in pieces, and whether they are in both lines */
/** @typedef {{equal: boolean, before: Marked | null, after: Marked | null}} Row */

// Beyond so many edits two texts are two texts, rather than one that changed.
const MOST_EDITS = 1500;
const LONGEST_MARKED_LINE = 50000;

/**
 * Compare two lists by the algorithm of Myers.
 * @param {string[]} before
 * @param {string[]} after
 * @returns {Piece[]}
 */
function compareLists(before, after) {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const middle = compareMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const head = before.slice(0, start);
  const tail = before.slice(before.length - end);
  return joinPieces([{ equal: true, before: head, after: head }, ...middle, { equal: true, before: tail, after: tail }]);
}

/**
 * @param {string[]} before
 * @param {string[]} after
 * @returns {Piece[]}
 */
function compareMiddle(before, after) {
  const n = before.length;
  const m = after.length;
  if (!n || !m) return [{ equal: false, before, after }];
  const most = Math.min(n + m, MOST_EDITS);
  const offset = most + 1;
  let furthest = new Int32Array(2 * most + 3);
  /** @type {Int32Array[]} */
  const trace = [];
  for (let edits = 0; edits <= most; edits++) {
    trace.push(furthest.slice(offset - edits - 1, offset + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const isDown = k === -edits || (k !== edits && furthest[offset + k - 1] < furthest[offset + k + 1]);
      let x = isDown ? furthest[offset + k + 1] : furthest[offset + k - 1] + 1;
      while (x < n && x - k < m && before[x] === after[x - k]) x++;
      furthest[offset + k] = x;
      if (x >= n && x - k >= m) return walkBack(before, after, trace, edits);
    }
  }
  return [{ equal: false, before, after }];
}

/**
 * @param {string[]} before
 * @param {string[]} after
 * @param {Int32Array[]} trace
 * @param {number} last
 * @returns {Piece[]}
 */
function walkBack(before, after, trace, last) {
  /** @type {Piece[]} */
  const pieces = [];
  let x = before.length;
  let y = after.length;
  for (let edits = last; edits >= 0; edits--) {
    const furthest = trace[edits];
    const centre = edits + 1;
    const k = x - y;
    const isDown = k === -edits || (k !== edits && furthest[centre + k - 1] < furthest[centre + k + 1]);
    const previousX = edits === 0 ? 0 : furthest[centre + (isDown ? k + 1 : k - 1)];
    const previousY = edits === 0 ? 0 : previousX - (isDown ? k + 1 : k - 1);
    const startX = edits === 0 ? 0 : isDown ? previousX : previousX + 1;
    if (x > startX) pieces.push({ equal: true, before: before.slice(startX, x), after: before.slice(startX, x) });
    if (edits > 0) {
      if (isDown) pieces.push({ equal: false, before: [], after: after.slice(previousY, previousY + 1) });
      else pieces.push({ equal: false, before: before.slice(previousX, previousX + 1), after: [] });
    }
    x = previousX;
    y = previousY;
  }
  return pieces.reverse();
}

/**
 * @param {Piece[]} pieces
 * @returns {Piece[]}
 */
function joinPieces(pieces) {
  /** @type {Piece[]} */
  const joined = [];
  for (const piece of pieces) {
    if (!piece.before.length && !piece.after.length) continue;
    const last = joined[joined.length - 1];
    if (last && last.equal === piece.equal) {
      last.before = last.before.concat(piece.before);
      last.after = last.after.concat(piece.after);
    } else joined.push({ ...piece });
  }
  return joined;
}

/**
 * Two lines with their changed words marked; whole if too little of them is the same.
 * @param {string} before
 * @param {string} after
 * @returns {[Marked, Marked]}
 */
function compareWords(before, after) {
  /** @type {[Marked, Marked]} */
  const whole = [[{ equal: false, text: before }], [{ equal: false, text: after }]];
  if (Math.max(before.length, after.length) > LONGEST_MARKED_LINE) return whole;
  // Japanese and Chinese have no blanks between words: there each character counts as one.
  const words = /(?:(?![\p{Script=Han}\p{Script=Hira}\p{Script=Kana}])[\p{L}\p{N}_])+|\s+|\S/gu;
  const pieces = compareLists(before.match(words) || [], after.match(words) || []);
  // A blank between two changed words belongs to the change.
  const filled = joinPieces(
    pieces.map((piece, index) => {
      const isBetween = piece.equal && index > 0 && index < pieces.length - 1 && !piece.before.join("").trim();
      return isBetween ? { ...piece, equal: false } : piece;
    })
  );
  const shared = filled.reduce((sum, piece) => sum + (piece.equal ? piece.before.join("").length * 2 : 0), 0);
  if (shared < 0.4 * (before.length + after.length)) return whole;
  /** @param {"before" | "after"} side @returns {Marked} */
  const marked = (side) =>
    filled.map((piece) => ({ equal: piece.equal, text: piece[side].join("") })).filter((piece) => piece.text);
  return [marked("before"), marked("after")];
}

/**
 * Two texts line by line: the rows of a view side by side.
 * @param {string} before
 * @param {string} after
 * @returns {Row[]}
 */
function compareTexts(before, after) {
  /** @type {Row[]} */
  const rows = [];
  /** @param {string | undefined} line @returns {Marked | null} */
  const whole = (line) => (line === undefined ? null : [{ equal: false, text: line }]);
  for (const piece of compareLists(before.split("\n"), after.split("\n"))) {
    const isPaired = !piece.equal && piece.before.length === piece.after.length;
    for (let number = 0; number < Math.max(piece.before.length, piece.after.length); number++) {
      const [old, now] = [piece.before[number], piece.after[number]];
      if (piece.equal) {
        const line = [{ equal: true, text: old }];
        rows.push({ equal: true, before: line, after: line });
      } else if (isPaired) {
        const [left, right] = compareWords(old, now);
        rows.push({ equal: false, before: left, after: right });
      } else rows.push({ equal: false, before: whole(old), after: whole(now) });
    }
  }
  return rows;
}

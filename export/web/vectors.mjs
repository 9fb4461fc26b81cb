// Test vectors that all languages share.

import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';

export const FOLDER = new URL('../testvectors/', import.meta.url);

export async function read(name = 'vectors.json') {
  return JSON.parse(await readFile(new URL(name, FOLDER), 'utf8'));
}

/** The text of a vector: a string, which may have half a surrogate pair, or any bytes. */
export function given(vector) {
  if (vector.raw !== undefined) return Uint8Array.from(Buffer.from(vector.raw, 'hex'));
  return vector.text ?? String.fromCharCode(...vector.utf16);
}

/** The largest difference between the probabilities of tagged words and those of a vector. */
export function compareWords(words, vector) {
  const found = words.map(({start, end, label}) => [start, end, label]);
  assert.deepEqual(found, vector.words.map((word) => word.slice(0, 3)), JSON.stringify(vector));
  const text = given(vector);
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  for (const {word, start, end} of words) {
    // what Node's own decoder makes of the bytes, which may be cut in a character
    assert.equal(word, Buffer.from(bytes.subarray(start, end)).toString(), JSON.stringify(vector));
  }
  const differences = words.map(({probability}, n) => Math.abs(probability - vector.words[n][3]));
  return Math.max(0, ...differences);
}

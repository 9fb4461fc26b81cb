// Test vectors that all languages share.

import {readFile} from 'node:fs/promises';

export const FOLDER = new URL('../testvectors/', import.meta.url);

export async function read() {
  return JSON.parse(await readFile(new URL('vectors.json', FOLDER), 'utf8'));
}

/** The text of a vector: a string, which may have half a surrogate pair, or any bytes. */
export function given(vector) {
  if (vector.raw !== undefined) return Uint8Array.from(Buffer.from(vector.raw, 'hex'));
  return vector.text ?? String.fromCharCode(...vector.utf16);
}

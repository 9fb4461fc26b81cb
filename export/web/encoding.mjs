// Test of package/textin.js in Node: the numbers of every test vector, and the labels of the file.

import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';

import {encode, readMetadata} from './package/textin.js';
import {FOLDER, given, read} from './vectors.mjs';

const {file, max_bytes: size, vectors} = await read();
const {labels, text} = readMetadata(new Uint8Array(await readFile(new URL(file, FOLDER))));
assert.equal(text.max_bytes, size);
for (const vector of vectors) {
  const numbers = new Int32Array(size);
  numbers.set(vector.numbers);
  assert.deepEqual(encode(given(vector), size), numbers, JSON.stringify(vector));
  assert.equal(labels[vector.class], vector.label);
}
console.log(`${vectors.length} texts: the numbers are those of Python.`);

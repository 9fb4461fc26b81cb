// Test of package/textin.js in Node: the numbers of every test vector, and the labels of the file;
// and of package/inflate.js against Node's zlib.

import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {constants, deflateRawSync} from 'node:zlib';

import {encode, readMetadata} from './package/textin.js';
import {inflate} from './package/inflate.js';
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
const texts = ['', 'a', 'yes, no, '.repeat(5000), JSON.stringify([...Array(3000).keys()])];
texts.push(JSON.stringify(vectors));
const {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_FIXED} = constants;
for (const text of texts) {
  for (const strategy of [Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_FIXED]) {
    for (const level of [0, 1, 9]) {
      const stream = deflateRawSync(text, {level, strategy});
      assert.equal(new TextDecoder().decode(inflate(stream)), text);
      if (text) assert.throws(() => inflate(stream.subarray(0, stream.length - 1)), /are cut/);
    }
  }
}
console.log(`${vectors.length} texts: the numbers are those of Python.`);

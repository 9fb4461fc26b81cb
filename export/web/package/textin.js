// Text encoder and metadata reader, which an app needs in addition to the runtime.
// Runs in browsers and in Node, without dependencies.

import {inflate} from './inflate.js';

const HEAD = '{"crc32":"00000000"}'.length; // behind which the other entries may be deflated

/**
 * The UTF-8 bytes of a text as the file's input: filled up with zeros, or cut.
 *
 * The file ignores zeros at the end. So a text that itself ends in NUL characters gets a -1 behind
 * them. Half a surrogate pair becomes U+FFFD.
 *
 * @param {string | Uint8Array} text
 * @param {number} maxBytes length of the input, `text.max_bytes` of the metadata
 * @returns {Int32Array}
 */
export function encode(text, maxBytes) {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const endsInNul = (kept) => kept.length > 0 && kept[kept.length - 1] === 0;
  let kept = bytes.subarray(0, maxBytes);
  if (endsInNul(kept)) kept = kept.subarray(0, maxBytes - 1);
  const numbers = new Int32Array(maxBytes);
  numbers.set(kept);
  if (kept.length < maxBytes && endsInNul(bytes.subarray(0, kept.length))) {
    numbers[kept.length] = -1;
  }
  return numbers;
}

/** Metadata as JSON, all of it or but for the checksum deflated. */
function parse(content) {
  const text = (bytes) => new TextDecoder().decode(bytes);
  const isWhole = content.length === HEAD || content[HEAD - 1] !== '}'.charCodeAt(0);
  if (isWhole) return JSON.parse(text(content));
  const head = JSON.parse(text(content.subarray(0, HEAD)));
  return {...head, ...JSON.parse(text(inflate(content.subarray(HEAD))))};
}

/**
 * The JSON that kerascompact wrote into a file: labels, sizes, recipe, token rules.
 *
 * A .tflite file is a flatbuffer: a table starts with the distance back to its list of fields,
 * which has the position of each. `Model` has `buffers` as field 4 and `metadata` as field 6,
 * `Metadata` has `name` and `buffer`, `Buffer` has `data`.
 *
 * @param {Uint8Array} file
 * @returns {object | null} null if another exporter wrote the file
 */
export function readMetadata(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const uint32 = (at) => view.getUint32(at, true);
  const follow = (at) => at + uint32(at);
  const field = (table, number) => {
    const fields = table - view.getInt32(table, true);
    const entry = 4 + 2 * number;
    const offset = entry < view.getUint16(fields, true) ? view.getUint16(fields + entry, true) : 0;
    return offset === 0 ? 0 : table + offset;
  };
  const bytes = (at) => file.subarray(follow(at) + 4, follow(at) + 4 + uint32(follow(at)));
  const text = (at) => new TextDecoder().decode(bytes(at));

  if (new TextDecoder().decode(file.subarray(4, 8)) !== 'TFL3') {
    throw new Error('This is not a .tflite file.');
  }
  const model = follow(0);
  const entries = field(model, 6);
  if (entries === 0) return null;
  const list = follow(entries);
  for (let i = 0; i < uint32(list); i++) {
    const entry = follow(list + 4 + 4 * i);
    if (text(field(entry, 0)) !== 'kerascompact') continue;
    const place = field(entry, 1);
    const number = place === 0 ? 0 : uint32(place);
    const buffer = follow(follow(field(model, 4)) + 4 + 4 * number);
    return parse(bytes(field(buffer, 0)));
  }
  return null;
}

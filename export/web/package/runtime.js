// A .tflite file that takes text, on @litertjs/core, LiteRT's runtime for browsers, which runs all
// forms. In Node it runs on the processor, too.

import {loadAndCompile, loadLiteRt, Tensor} from '@litertjs/core';

import {encode, readMetadata} from './textin.js';

const inNode = globalThis.process?.versions?.node !== undefined;
let loading = null;

/** Loads the runtime once; `wasm` is the folder of its .wasm files. */
function runtime(wasm) {
  if (inNode) return (loading ??= import('./node.js').then(({load}) => load(loadLiteRt, wasm)));
  // Where npm puts them beside this package, if a page serves node_modules as it is.
  return (loading ??= loadLiteRt(wasm ?? new URL('../@litertjs/core/wasm/', import.meta.url).href));
}

async function bytesOf(source) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (source instanceof Uint8Array) return source;
  if (typeof source !== 'string' && !(source instanceof URL)) {
    throw new TypeError(`source must be an address, an ArrayBuffer or a Uint8Array: ${source}`);
  }
  if (inNode && !/^https?:/.test(`${source}`)) return (await import('./node.js')).read(source);
  const answer = await fetch(source);
  if (!answer.ok) throw new Error(`${source}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** What a classifier and a tagger share: a file that takes text and has labels. */
export class TextModel {
  static async load(source, {wasm} = {}) {
    const file = await bytesOf(source);
    const metadata = readMetadata(file);
    const name = typeof source === 'object' && !(source instanceof URL) ? 'The file' : source;
    if (!metadata?.text || !metadata.text.max_bytes || !metadata.labels) {
      throw new Error(`${name} must take text of a fixed number of bytes, and have labels.`);
    }
    await runtime(wasm);
    // Gathering rows of integer tables is work for the CPU, not for WebGPU.
    const model = await loadAndCompile(file, {accelerator: 'wasm'});
    try {
      return new this(model, metadata, file.length);
    } catch (error) {
      model.delete();
      throw new Error(`${name} ${error.message}`);
    }
  }

  constructor(model, metadata, bytes) {
    this.model = model;
    this.metadata = metadata;
    this.bytes = bytes;
    this.labels = metadata.labels;
    this.maxBytes = metadata.text.max_bytes;
  }

  /** Runs the file on a text; gives an array for each output, in their order. */
  async outputs(text) {
    const input = new Tensor(encode(text, this.maxBytes), [1, this.maxBytes]);
    try {
      const found = [];
      for (const output of await this.model.run([input])) {
        found.push((await output.data()).slice()); // a view of memory that is freed
        output.delete();
      }
      return found;
    } finally {
      input.delete(); // the garbage collector does not free the runtime's memory
    }
  }

  delete() {
    this.model.delete();
  }
}

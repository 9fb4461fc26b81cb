// Text classifier for a .tflite file that takes text, on @litertjs/core, LiteRT's runtime for
// browsers, which runs all forms. In Node it runs on the processor, too.

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

export class TextClassifier {
  static async load(source, {wasm} = {}) {
    const file = await bytesOf(source);
    const metadata = readMetadata(file);
    if (!metadata?.text || !metadata.text.max_bytes || !metadata.labels) {
      const name = typeof source === 'object' && !(source instanceof URL) ? 'The file' : source;
      throw new Error(`${name} must take text of a fixed number of bytes, and have labels.`);
    }
    await runtime(wasm);
    // Gathering rows of integer tables is work for the CPU, not for WebGPU.
    const model = await loadAndCompile(file, {accelerator: 'wasm'});
    return new TextClassifier(model, metadata, file.length);
  }

  constructor(model, metadata, bytes) {
    this.model = model;
    this.metadata = metadata;
    this.bytes = bytes;
    this.labels = metadata.labels;
    this.maxBytes = metadata.text.max_bytes;
    this.multiLabel = metadata.multi_label === true;
  }

  async run(text) {
    const input = new Tensor(encode(text, this.maxBytes), [1, this.maxBytes]);
    try {
      const [output] = await this.model.run([input]);
      const probabilities = Float32Array.from(await output.data());
      output.delete();
      return probabilities;
    } finally {
      input.delete(); // the garbage collector does not free the runtime's memory
    }
  }

  async predict(text, count = 3) {
    const start = performance.now();
    const probabilities = await this.run(text);
    const milliseconds = performance.now() - start;
    const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
    const all = order.map((number) => {
      return {label: this.labels[number], probability: probabilities[number]};
    });
    const answers = this.multiLabel ? all.filter(({probability}) => probability >= 0.5) : [all[0]];
    return {best: all.slice(0, count), answers: answers.map(({label}) => label), milliseconds};
  }

  delete() {
    this.model.delete();
  }
}

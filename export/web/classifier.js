// Text classifier for a .tflite file that takes text, on @litertjs/core, LiteRT's runtime for
// browsers. It runs all forms (`make bench ARGS=browser`), so its predecessor tfjs-tflite, which
// never left alpha, is not needed.

import {loadAndCompile, loadLiteRt, Tensor} from '@litertjs/core';

import {encode, readMetadata} from './textin.js';

// The runtime's .wasm files, where `npm ci` puts them; nothing comes from another server.
const RUNTIME = new URL('./node_modules/@litertjs/core/wasm/', import.meta.url).pathname;
let loading = null;

export class Classifier {
  /** @param {string} url of the file */
  static async load(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
    const file = new Uint8Array(await answer.arrayBuffer());
    const metadata = readMetadata(file);
    if (!metadata?.text || !metadata.text.max_bytes || !metadata.labels) {
      throw new Error(`${url} must take text of a fixed number of bytes, and have labels.`);
    }
    loading ??= loadLiteRt(RUNTIME);
    await loading;
    // Gathering rows of integer tables is work for the CPU, not for WebGPU.
    const model = await loadAndCompile(file, {accelerator: 'wasm'});
    return new Classifier(model, metadata, file.length);
  }

  constructor(model, metadata, bytes) {
    this.model = model;
    this.metadata = metadata;
    this.bytes = bytes;
    this.labels = metadata.labels;
    this.maxBytes = metadata.text.max_bytes;
  }

  /**
   * @param {string | Uint8Array} text
   * @returns {Promise<Float32Array>} a probability for each label
   */
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

  /** The `count` likeliest labels of a text, `{label, probability}`, and how long that took. */
  async predict(text, count = 3) {
    const start = performance.now();
    const probabilities = await this.run(text);
    const milliseconds = performance.now() - start;
    const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
    const best = order.slice(0, count).map((number) => {
      return {label: this.labels[number], probability: probabilities[number]};
    });
    return {best, milliseconds};
  }
}

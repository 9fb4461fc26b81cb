// Text tagger: a text in, a label for each of its words out. The file says where the words are.

import {TextModel} from './runtime.js';

const utf8 = new TextDecoder('utf-8', {ignoreBOM: true}); // a byte order mark is part of its word

export class TextTagger extends TextModel {
  constructor(model, metadata, bytes) {
    super(model, metadata, bytes);
    const outputs = model.getOutputDetails();
    this.spans = outputs.findIndex(({name}) => name === 'spans');
    if (outputs.length !== 2 || this.spans < 0) {
      throw new Error('must have one output for each word, and their places, `spans`.');
    }
    // The runtime for browsers does not resize outputs.
    if (!metadata.text.length) throw new Error('must have a fixed number of words.');
  }

  async predict(text) {
    const start = performance.now();
    const outputs = await this.outputs(text);
    const milliseconds = performance.now() - start;
    const spans = outputs[this.spans], probabilities = outputs[1 - this.spans];
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    const kept = bytes.subarray(0, this.maxBytes);
    const words = [];
    // Places without a word have the span 0, 0.
    for (let place = 0; spans[2 * place + 1] > spans[2 * place]; place++) {
      const [first, last] = spans.subarray(2 * place, 2 * place + 2);
      const begin = place * this.labels.length;
      const row = probabilities.subarray(begin, begin + this.labels.length);
      const best = row.indexOf(Math.max(...row));
      words.push({
        word: utf8.decode(kept.subarray(first, last)),
        label: this.labels[best],
        probability: row[best],
        start: first,
        end: last,
      });
    }
    return {words, milliseconds};
  }
}

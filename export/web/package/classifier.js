// Text classifier: a text in, labels out.

import {TextModel} from './runtime.js';

export class TextClassifier extends TextModel {
  constructor(model, metadata, bytes) {
    super(model, metadata, bytes);
    if (model.getOutputDetails().length !== 1) throw new Error('must have one output.');
    // One output says of one label whether a text has it.
    this.multiLabel = metadata.multi_label === true || this.labels.length === 1;
  }

  async run(text) {
    const [probabilities] = await this.outputs(text);
    return probabilities;
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
}

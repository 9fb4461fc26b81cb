// Checked by `tsc`, never run: what a user of the package may write, and what is an error.

import {
  encode, readMetadata, TextClassifier, TextTagger, type Prediction, type TaggedWord,
} from './package/index.js';

export async function labels(file: Uint8Array): Promise<string[]> {
  const size: number = readMetadata(file)?.text?.max_bytes ?? 0;
  const numbers: Int32Array = encode('a text', size);
  const classifier = await TextClassifier.load(new URL('https://example.org/a.tflite'), {wasm: '/'});
  const found: Prediction = await classifier.predict('a text', numbers.length);
  // @ts-expect-error: a file has a source
  await TextClassifier.load();
  // @ts-expect-error: labels cannot be set
  classifier.labels = [];
  return found.best.map(({label}) => label).concat(found.answers);
}

export async function tags(file: ArrayBuffer): Promise<string[]> {
  const tagger = await TextTagger.load(file);
  const {words}: {words: TaggedWord[]} = await tagger.predict('a text');
  // @ts-expect-error: a tagger has no probability for each label of a text
  await tagger.run('a text');
  tagger.delete();
  return words.map(({word, label, probability, start, end}) => {
    return `${word} ${label} ${probability + start + end}`;
  });
}

// Web page that classifies a text while it is typed.

import {TextClassifier} from './package/index.js';

const MODEL = '/testvectors/intents.tflite';
// Where `npm ci` puts the runtime; nothing comes from another server.
const WASM = new URL('./node_modules/@litertjs/core/wasm/', import.meta.url).pathname;
const $ = (id) => document.getElementById(id);

function show(best) {
  const rows = best.map(({label, probability}) => {
    const row = document.createElement('li');
    const [name, bar, percent] = ['span', 'meter', 'span'].map((tag) => {
      return row.appendChild(document.createElement(tag));
    });
    name.textContent = label.replaceAll('_', ' ');
    bar.value = probability;
    percent.textContent = `${(100 * probability).toFixed(1)} %`;
    return row;
  });
  $('best').replaceChildren(...rows);
}

async function main() {
  const asked = new URLSearchParams(location.search).get('model'); // ?model=/my.tflite
  const classifier = await TextClassifier.load(asked ?? MODEL, {wasm: WASM});
  const times = [];
  const classify = async () => {
    const text = $('text').value;
    const used = new TextEncoder().encode(text).length;
    const {best, milliseconds} = await classifier.predict(text);
    times.push(milliseconds);
    if (text !== $('text').value) return; // the text has changed by now
    const sorted = times.slice(-50).sort((a, b) => a - b);
    show(text.trim() ? best : []);
    $('latency').textContent = `${sorted[sorted.length >> 1].toFixed(2)} ms`;
    $('used').textContent = `${Math.min(used, classifier.maxBytes)} of ${classifier.maxBytes}`;
    $('cut').hidden = used <= classifier.maxBytes;
    document.body.dataset.shown = text;
  };
  $('size').textContent = `${(classifier.bytes / 1024).toFixed(1)} KiB`;
  $('words').textContent = classifier.metadata.vocabulary?.size.toLocaleString('en') ?? 'any';
  $('classes').textContent = classifier.labels.length;
  for (let i = 0; i < 20; i++) await classifier.predict($('text').value); // warm
  $('text').addEventListener('input', classify);
  await classify();
  window.classifier = classifier; // for drive.mjs, and for the console
  document.body.dataset.state = 'ready';
}

main().catch((error) => {
  $('error').textContent = error.message;
  document.body.dataset.state = 'failed';
});

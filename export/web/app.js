// Web page that runs small files on a text while it is typed.

import {TextClassifier, TextTagger} from './package/index.js';

// Where `make gallery` writes; without it, the page has the file of the test vectors.
const GALLERY = './gallery/';
const SHIPPED = {name: 'intents', file: '/testvectors/intents.tflite', kind: 'classifier'};
const KINDS = {classifier: TextClassifier, tagger: TextTagger};
// Where `npm ci` puts the runtime; nothing comes from another server.
const WASM = new URL('./node_modules/@litertjs/core/wasm/', import.meta.url).pathname;
const $ = (id) => document.getElementById(id);
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`;

function element(name, text, options = {}) {
  return Object.assign(document.createElement(name), {textContent: text, ...options});
}

/** The files to choose from: one by the address, those of the gallery, or the shipped one. */
async function entries() {
  const asked = new URLSearchParams(location.search); // ?model=/my.tflite&kind=tagger
  if (asked.has('model')) {
    return [{...SHIPPED, file: asked.get('model'), kind: asked.get('kind') ?? SHIPPED.kind}];
  }
  const answer = await fetch(`${GALLERY}gallery.json`);
  if (!answer.ok) return [SHIPPED];
  const {files} = await answer.json();
  return files.map((entry) => ({...entry, file: GALLERY + entry.file}));
}

/** Gets the bytes of a file. All are fetched at once, so that the page goes on without a network. */
function fetched(entry) {
  entry.fetched ??= fetch(entry.file).then(async (answer) => {
    if (!answer.ok) throw new Error(`${entry.file}: ${answer.status} ${answer.statusText}`);
    return new Uint8Array(await answer.arrayBuffer());
  });
  entry.fetched.catch(() => (entry.fetched = undefined)); // the next choice tries again
  return entry.fetched;
}

async function load(entry) {
  const kind = KINDS[entry.kind];
  if (!kind) throw new Error(`kind must be one of ${Object.keys(KINDS)}: ${entry.kind}`);
  const model = await kind.load(await fetched(entry), {wasm: WASM});
  for (let i = 0; i < 20; i++) await model.predict($('text').value); // warm
  return {entry, model, times: []};
}

function rows({best, words}) {
  if (words) {
    return words.map(({word, label, probability}) => {
      const row = element('li', '', {title: percent(probability)});
      row.append(element('span', word), ' ', element('span', label));
      return row;
    });
  }
  return best.map(({label, probability}) => {
    const row = document.createElement('li');
    const name = label.replaceAll('_', ' ');
    const bar = element('meter', '', {value: probability, ariaLabel: `probability of ${name}`});
    row.append(element('span', name), bar, element('span', percent(probability)));
    return row;
  });
}

let loaded = null; // what is shown

async function answer() {
  const {entry, model, times} = loaded;
  const text = $('text').value;
  const used = new TextEncoder().encode(text).length;
  const found = await model.predict(text);
  times.push(found.milliseconds);
  if (text !== $('text').value || loaded.model !== model) return; // changed by now
  const sorted = times.slice(-50).sort((a, b) => a - b);
  $('best').className = found.words ? 'tags' : 'labels';
  $('best').replaceChildren(...(text.trim() ? rows(found) : []));
  $('latency').textContent = `${sorted[sorted.length >> 1].toFixed(2)} ms`;
  $('used').textContent = `${Math.min(used, model.maxBytes)} of ${model.maxBytes}`;
  $('cut').hidden = used <= model.maxBytes;
  document.body.dataset.shown = text;
  document.body.dataset.file = entry.name;
}

function fact(name, value) {
  const pair = element('div', '', {className: 'measured'});
  pair.append(element('dt', name), element('dd', value));
  return pair;
}

async function show({entry, model}) {
  const {about, accuracy, misspelt = [], examples = []} = entry;
  $('size').textContent = kib(model.bytes);
  $('words').textContent = model.metadata.vocabulary?.size.toLocaleString('en') ?? 'any';
  $('classes').textContent = model.labels.length;
  const measured = misspelt.map(({share, accuracy}) => {
    return fact(`${100 * share} % misspelt`, percent(accuracy));
  });
  if (accuracy !== undefined) measured.unshift(fact('test accuracy', percent(accuracy)));
  document.querySelectorAll('.measured').forEach((pair) => pair.remove());
  $('facts').append(...measured);
  $('about').textContent = about ?? '';
  $('about').hidden = !about;
  const buttons = examples.map(({text}) => {
    const item = document.createElement('li');
    item.append(element('button', text, {type: 'button', onclick: () => type(text)}));
    return item;
  });
  $('examples').replaceChildren(...buttons);
  $('examples').hidden = !buttons.length;
  await answer();
}

async function type(text) {
  $('text').value = text;
  await answer();
}

let chosen = null;

async function choose(entry) {
  chosen = entry;
  try {
    entry.loading ??= load(entry);
    const ready = await entry.loading;
    if (chosen !== entry) return; // another one by now
    loaded = ready;
    window.model = ready.model; // for tests, and for the console
    $('error').textContent = '';
    await show(ready);
  } catch (error) {
    entry.loading = undefined;
    if (chosen === entry) $('error').textContent = error.message;
    throw error;
  }
}

function chooser(files) {
  const options = files.map((entry) => {
    const label = document.createElement('label');
    const checked = entry === files[0];
    const radio = element('input', '', {type: 'radio', name: 'file', value: entry.file, checked});
    radio.addEventListener('change', () => choose(entry).catch(() => {})); // it is shown
    label.append(radio, element('span', entry.name));
    return label;
  });
  $('files').replaceChildren(...options);
  $('chooser').hidden = files.length < 2;
}

async function main() {
  const files = await entries();
  if (files[0].examples?.length) $('text').value = files[0].examples[0].text;
  chooser(files);
  for (const entry of files) fetched(entry);
  await choose(files[0]);
  $('text').addEventListener('input', answer);
  document.body.dataset.state = 'ready';
}

main().catch((error) => {
  $('error').textContent = error.message;
  document.body.dataset.state = 'failed';
});

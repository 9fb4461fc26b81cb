// Test of the page with a gallery in headless Chromium: with two files of the test vectors, then with
// what `make gallery` built, if it is there. Files are chosen by the keyboard, found by their names as
// a screen reader finds them, without a network, and on a screen of 360 pixels. `node gallery.mjs
// [--screenshot FILE]` prints JSON in its last line.

import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {copyFile, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

import {open} from './browser.mjs';
import {compareWords, FOLDER, given, read} from './vectors.mjs';

const BUILT = fileURLToPath(new URL('./gallery/', import.meta.url));
const TOLERANCE = 1e-5; // as in drive.mjs
const NARROW = {width: 360, height: 640};

/** A gallery of the files that are committed, one of each kind; the second has long texts. */
async function shipped(folder) {
  const files = [
    {name: 'intents', file: 'intents.tflite', kind: 'classifier', accuracy: 0.875,
      misspelt: [{share: 0.2, accuracy: 0.75}], about: 'What does a person want?',
      examples: [{text: 'wake me up at seven', label: 'alarm'}]},
    {name: 'places of words', file: 'tagger.tflite', kind: 'tagger',
      about: 'x'.repeat(200), // no place to break the line
      examples: [{text: 'Turn it up!',
        words: [['Turn', 'first'], ['it', 'word'], ['up', 'last'], ['!', 'mark']]}]},
  ];
  for (const {file} of files) await copyFile(new URL(file, FOLDER), join(folder, file));
  await writeFile(join(folder, 'gallery.json'), JSON.stringify({files}));
}

/** Waits until the page shows what a file makes of a text. */
async function shown(page, file, text) {
  const wanted = ({file, text}) => {
    return document.body.dataset.file === file && document.body.dataset.shown === text;
  };
  await page.waitForFunction(wanted, {file, text});
  assert.equal(await page.textContent('#error'), '');
}

/** What the page shows: the words with their labels, or the likeliest label. */
async function answer(page) {
  const rows = await page.locator('#best li').evaluateAll((items) => items.map((item) => {
    return [...item.querySelectorAll('span')].map((part) => part.textContent);
  }));
  return (await page.getAttribute('#best', 'class')) === 'tags' ? rows : rows[0][0];
}

/** No part of the page is wider than the screen, or beside it. */
async function fits(page) {
  const {wide, beside} = await page.evaluate(() => {
    const {scrollWidth, clientWidth} = document.documentElement;
    const out = [...document.body.querySelectorAll('*')].filter((element) => {
      const {left, right} = element.getBoundingClientRect();
      return left < 0 || right > clientWidth + 0.5;
    });
    return {wide: scrollWidth > clientWidth, beside: out.map((element) => element.outerHTML)};
  });
  assert.deepEqual(beside, []);
  assert(!wide, 'the page scrolls to the side');
}

/** Chooses each file by the keyboard, without a network, and tries its examples. */
async function tour({page, foreign}, folder) {
  const {files} = JSON.parse(await readFile(join(folder, 'gallery.json'), 'utf8'));
  const field = page.getByRole('textbox', {name: 'Sentence', exact: true});
  const options = page.getByRole('group', {name: 'File'}).getByRole('radio');
  await page.waitForLoadState('networkidle'); // the page fetches all files
  await page.context().setOffline(true);
  assert.equal(await options.count(), files.length);
  await options.first().focus();
  const latency = {};
  for (const [number, {name, about, bytes, examples}] of files.entries()) {
    if (number) await page.keyboard.press('ArrowDown');
    const option = page.getByRole('radio', {name, exact: true});
    assert(await option.isChecked(), name);
    assert(await option.evaluate((radio) => radio === document.activeElement));
    await shown(page, name, await field.inputValue());
    assert.equal(await page.textContent('#about'), about);
    if (bytes) assert.equal(await page.textContent('#size'), `${(bytes / 1024).toFixed(1)} KiB`);
    for (const {text, label, words} of examples) {
      await page.getByRole('button', {name: text, exact: true}).focus();
      await page.keyboard.press('Enter');
      await shown(page, name, text);
      assert.equal(await field.inputValue(), text);
      assert.deepEqual(await answer(page), words ?? label.replaceAll('_', ' '));
      await fits(page);
    }
    latency[name] = Number.parseFloat(await page.textContent('#latency'));
    assert(latency[name] > 0);
    await option.focus();
  }
  // the longest word, and nothing
  await field.fill('x'.repeat(600));
  await shown(page, files.at(-1).name, 'x'.repeat(600));
  assert(await page.isVisible('#cut'));
  await fits(page);
  await field.fill(' ');
  await shown(page, files.at(-1).name, ' ');
  assert.equal(await page.locator('#best li').count(), 0);
  await page.context().setOffline(false);
  assert.deepEqual(foreign, [], 'everything must come from this machine');
  return latency;
}

/** From the top of the page to its end by Tab: a file, the sentence, the examples. */
async function tabs(page, examples) {
  await page.evaluate(() => {
    const main = document.querySelector('main');
    main.tabIndex = -1;
    main.focus();
  });
  const order = [];
  for (let step = 0; step < 2 + examples; step++) {
    await page.keyboard.press('Tab');
    order.push(await page.evaluate(() => document.activeElement.type));
  }
  assert.deepEqual(order, ['radio', 'text', ...Array(examples).fill('button')]);
}

/** Types the vectors of the tagger, and runs those that cannot be typed. */
async function vectors(page) {
  const found = await read('tagger.json');
  let largest = 0;
  for (const vector of found.vectors) {
    const text = given(vector);
    const values = typeof text === 'string' ? text : [...text];
    const words = await page.evaluate(async (values) => {
      const text = typeof values === 'string' ? values : Uint8Array.from(values);
      return (await window.model.predict(text)).words;
    }, values);
    largest = Math.max(largest, compareWords(words, vector));
    if (!vector.text?.trim() || /[\0\r\n]/.test(vector.text)) continue;
    await page.fill('#text', vector.text);
    await shown(page, 'places of words', vector.text);
    assert.deepEqual(await answer(page), words.map(({word, label}) => [word, label]));
  }
  assert(largest < TOLERANCE, `probabilities differ by ${largest}`);
  return {tagged: found.vectors.length, largest_difference: largest};
}

/** A file that cannot be had is named, and the others go on. */
async function missing(folder) {
  await rm(join(folder, 'tagger.tflite'));
  const {page, close} = await open('', folder);
  try {
    await page.getByRole('radio').last().check();
    await page.getByRole('alert').filter({hasText: 'tagger.tflite: 404'}).waitFor();
    await page.getByRole('radio').first().check();
    await page.waitForFunction(() => document.querySelector('#error').textContent === '');
    await page.fill('#text', 'turn it up');
    await shown(page, 'intents', 'turn it up');
  } finally {
    await close();
  }
}

/** Takes a picture of the page with the last file of a gallery. */
async function screenshot(gallery, path) {
  const {page, close} = await open('', gallery);
  try {
    const {files} = JSON.parse(await readFile(join(gallery, 'gallery.json'), 'utf8'));
    const {name, examples: [{text}]} = files.at(-1);
    await page.getByRole('radio', {name, exact: true}).check();
    await page.fill('#text', '');
    await page.locator('#text').pressSequentially(text, {delay: 20}); // a prediction for each letter
    await shown(page, name, text);
    await page.screenshot({path, fullPage: true});
  } finally {
    await close();
  }
}

const folder = await mkdtemp(join(tmpdir(), 'gallery-'));
const report = {};
try {
  await shipped(folder);
  for (const gallery of [folder, BUILT].filter((one) => existsSync(join(one, 'gallery.json')))) {
    const opened = await open('', gallery);
    const {browser, page, close} = opened;
    try {
      await page.setViewportSize(NARROW);
      const latency = await tour(opened, gallery);
      report.browser = `Chromium ${browser.version()}`;
      await tabs(page, await page.locator('#examples button').count());
      if (gallery === folder) Object.assign(report, await vectors(page));
      else report.milliseconds = latency;
    } finally {
      await close();
    }
  }
  const shot = process.argv.indexOf('--screenshot');
  if (shot > 0) {
    const built = existsSync(join(BUILT, 'gallery.json'));
    await screenshot(built ? BUILT : folder, process.argv[shot + 1]);
  }
  await missing(folder);
  console.log(JSON.stringify(report));
} finally {
  await rm(folder, {recursive: true});
}

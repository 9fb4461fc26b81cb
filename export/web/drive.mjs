// Test of the page in headless Chromium: types every test vector that can be typed, runs the others,
// and compares with Python's answers. `node drive.mjs` prints JSON in its last line. Set CHROMIUM to
// use another browser than Debian's.

import assert from 'node:assert/strict';

import {open} from './browser.mjs';
import {given, read} from './vectors.mjs';

const TOLERANCE = 1e-5; // float32 sums of about ten terms in another order, then a softmax

const {vectors} = await read();
const {browser, page, foreign, close} = await open();
try {
  let largest = 0, typed = 0;
  for (const vector of vectors) {
    const text = given(vector);
    const [found, probability] = await page.evaluate(async (values) => {
      const text = typeof values === 'string' ? values : Uint8Array.from(values);
      const {best: [first]} = await window.model.predict(text);
      return [first.label, first.probability];
    }, typeof text === 'string' ? text : [...text]);
    assert.equal(found, vector.label, JSON.stringify(vector));
    largest = Math.max(largest, Math.abs(probability - vector.probability));
    // A text field cannot hold line breaks or half a surrogate pair.
    if (vector.text?.trim() && !/[\0\r\n]/.test(vector.text)) {
      await page.fill('#text', vector.text);
      await page.waitForFunction((text) => document.body.dataset.shown === text, vector.text);
      const shown = await page.textContent('#best li span');
      typed++;
      assert.equal(shown, vector.label.replaceAll('_', ' '), vector.text);
    }
  }
  assert(largest < TOLERANCE, `probabilities differ by ${largest}`);

  const milliseconds = await page.evaluate(async () => {
    const times = [];
    for (let i = 0; i < 1000; i++) {
      times.push((await window.model.predict('please wake me up at seven')).milliseconds);
    }
    return times.sort((a, b) => a - b)[500];
  });
  assert.deepEqual(foreign, [], 'everything must come from this machine');
  console.log(JSON.stringify({
    browser: `Chromium ${browser.version()}`,
    texts: vectors.length,
    typed,
    largest_difference: largest,
    median_milliseconds: milliseconds,
  }));
} finally {
  await close();
}

// Runs a file for MediaPipe Tasks in MediaPipe's own runtime for browsers, in headless Chromium.
// `node mediapipe.mjs FILE TEXTS.json` prints label and score of each text, as JSON in its last line.

import {readFile} from 'node:fs/promises';

import {open} from './browser.mjs';

const [file, texts] = await Promise.all(process.argv.slice(2).map((name) => readFile(name)));
const {page, close} = await open('mediapipe.html');
try {
  const given = [[...file], JSON.parse(texts)];
  console.log(JSON.stringify(await page.evaluate((words) => window.classify(...words), given)));
} finally {
  await close();
}

// Headless Chromium with a page, for the tests and forms.mjs.

import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';

import {chromium} from 'playwright-core';

import {serve} from './server.mjs';

/**
 * Opens a page; `foreign` collects the addresses that it requests from other servers.
 *
 * @param {string} gallery its folder; '': the page has none, and the file of the test vectors
 */
export async function open(name = '', gallery = '') {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  assert(existsSync(executablePath), `There is no ${executablePath}: apt install chromium`);
  const {url, close: stop} = await serve(0, gallery);
  // Containers run as root, for whom Chromium has no sandbox.
  const chromiumSandbox = process.getuid?.() !== 0;
  const browser = await chromium.launch({executablePath, chromiumSandbox});
  const close = async () => {
    await browser.close();
    stop();
  };
  try {
    const viewport = {width: 640, height: 520};
    const page = await browser.newPage({viewport, deviceScaleFactor: 1.5});
    const foreign = [];
    const here = (asked) => asked.startsWith('data:') || asked.startsWith(new URL('/', url).href);
    page.on('request', (asked) => here(asked.url()) || foreign.push(asked.url()));
    await page.goto(url + name);
    await page.waitForSelector('body[data-state]', {state: 'attached'});
    assert.equal(await page.textContent('#error'), '');
    return {browser, page, foreign, close};
  } catch (error) {
    await close();
    throw error;
  }
}

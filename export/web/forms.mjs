// Runner of files in headless Chromium: `node forms.mjs FOLDER OUT` runs every NAME.tflite of the
// folder on the rows of NAME.npy and writes OUT/NAME.npy. The last line names the browser. Set
// CHROMIUM to use another browser than Debian's.

import {mkdir, readFile, readdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';

import {open} from './browser.mjs';

const TYPES = {'<i4': Int32Array, '|u1': Uint8Array, '<f4': Float32Array};

/** Reads an .npy file: 8 magic bytes, the length of the header, the header, the numbers. */
function parse(bytes) {
  const start = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, start);
  const [, type] = header.match(/'descr': '([^']+)'/);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((n) => n.trim());
  const data = new TYPES[type](Uint8Array.from(bytes.subarray(start)).buffer);
  return {data, shape: shape.map(Number)};
}

function format(data, shape) {
  const [type] = Object.entries(TYPES).find(([, array]) => data instanceof array);
  const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  const padded = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.from('\x93NUMPY\x01\x00\0\0' + padded, 'latin1');
  head.writeUInt16LE(padded.length, 8);
  return Buffer.concat([head, Buffer.from(data.buffer)]);
}

/** Runs in the page: the only output of a file for each row. */
async function run({file, rows, width}) {
  const {loadAndCompile, Tensor} = await import('@litertjs/core');
  const model = await loadAndCompile(Uint8Array.from(file), {accelerator: 'wasm'});
  const outputs = [];
  let type, shape;
  for (let start = 0; start < rows.length; start += width) {
    const input = new Tensor(Int32Array.from(rows.slice(start, start + width)), [1, width]);
    const [output] = await model.run([input]);
    ({dtype: type, layout: {dimensions: shape}} = output.type);
    outputs.push(...await output.data());
    input.delete();
    output.delete();
  }
  model.delete();
  return {outputs, type, shape: [...shape].slice(1)};
}

const [folder, out] = process.argv.slice(2);
await mkdir(out, {recursive: true});
const {browser, page, close} = await open();
try {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.tflite'));
  for (const name of names.map((name) => name.slice(0, -'.tflite'.length))) {
    const file = [...await readFile(join(folder, `${name}.tflite`))];
    const {data, shape: [count, width]} = parse(await readFile(join(folder, `${name}.npy`)));
    const {outputs, type, shape} = await page.evaluate(run, {file, rows: [...data], width});
    const kind = {float32: Float32Array, int32: Int32Array, uint8: Uint8Array}[type];
    await writeFile(join(out, `${name}.npy`), format(kind.from(outputs), [count, ...shape]));
  }
  const {dependencies} = JSON.parse(await readFile(new URL('package.json', import.meta.url)));
  console.log(JSON.stringify({
    where: `Chromium ${browser.version()}`,
    litert: `@litertjs/core ${dependencies['@litertjs/core']}`,
  }));
} finally {
  await close();
}

// Test of the npm package as a user has it: packed, unpacked into a project, imported by its name in
// Node, run on every test vector. `node packed.mjs` prints JSON in its last line.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtemp, mkdir, readFile, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

import {compareWords, FOLDER, given, read} from './vectors.mjs';

const LARGEST = 20 * 1024; // bytes of the package, without the runtime
const TOLERANCE = 1e-5; // as in drive.mjs
const here = fileURLToPath(new URL('.', import.meta.url));

const project = await mkdtemp(join(tmpdir(), 'packed-'));
try {
  const run = (command, ...words) => execFileSync(command, words, {cwd: project, encoding: 'utf8'});
  const [{filename, size}] = JSON.parse(run('npm', 'pack', '--json', join(here, 'package')));
  assert(size < LARGEST, `the package has ${size} bytes`);
  const installed = join(project, 'node_modules', 'kerascompact');
  await mkdir(installed, {recursive: true});
  run('tar', '-xzf', filename, '-C', installed, '--strip-components=1');
  await symlink(join(here, 'node_modules', '@litertjs'), join(project, 'node_modules', '@litertjs'));
  await writeFile(join(project, 'one.mjs'), "export * from 'kerascompact';\n");
  const {TextClassifier, TextTagger, encode, readMetadata} = await import(
    pathToFileURL(join(project, 'one.mjs')).href
  );

  const {file, vectors} = await read();
  const path = fileURLToPath(new URL(file, FOLDER));
  const bytes = new Uint8Array(await readFile(path));
  assert.equal(encode('a', 2).length, readMetadata(bytes).text ? 2 : 0);
  await assert.rejects(TextClassifier.load(new Uint8Array(20)), /not a .tflite file/);
  await assert.rejects(TextClassifier.load(3), /source must be an address/);
  let largest = 0;
  for (const source of [path, pathToFileURL(path).href, bytes, bytes.slice().buffer]) {
    const classifier = await TextClassifier.load(source);
    for (const vector of vectors) {
      const {best: [first, second, ...more], answers} = await classifier.predict(given(vector));
      assert.equal(first.label, vector.label, JSON.stringify(vector));
      assert.deepEqual([answers, more.length], [[first.label], 1]);
      assert(second.probability <= first.probability);
      largest = Math.max(largest, Math.abs(first.probability - vector.probability));
    }
    classifier.delete();
  }
  const tagged = await read('tagger.json');
  const source = new URL(tagged.file, FOLDER);
  const tagger = await TextTagger.load(source);
  for (const vector of tagged.vectors) {
    const {words} = await tagger.predict(given(vector));
    largest = Math.max(largest, compareWords(words, vector));
  }
  tagger.delete();
  await assert.rejects(TextClassifier.load(source), /tagger.tflite must have one output/);
  await assert.rejects(TextTagger.load(path), /must have one output for each word/);
  const outputs = {getOutputDetails: () => [{name: 'spans'}, {name: 'tags'}]};
  const open = {...tagger.metadata, text: {...tagger.metadata.text, length: null}};
  assert.throws(() => new TextTagger(outputs, open, 1), /must have a fixed number of words/);
  const facts = {labels: ['spam'], text: {max_bytes: 9}};
  const one = new TextClassifier({getOutputDetails: () => [{name: 'spam'}]}, facts, 1);
  assert(one.multiLabel); // one output says of one label whether a text has it
  assert(largest < TOLERANCE, `probabilities differ by ${largest}`);
  console.log(JSON.stringify({
    bytes: size,
    texts: vectors.length,
    tagged: tagged.vectors.length,
    largest_difference: largest,
  }));
} finally {
  await rm(project, {recursive: true});
}
process.exit(0); // the runtime's threads would keep Node alive

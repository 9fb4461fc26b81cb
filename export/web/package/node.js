// LiteRT's runtime for browsers in Node: it loads a script as a web worker does, which is shown here
// what it looks for. Node's own `require` serves the script, which knows Node.

import {readFile} from 'node:fs/promises';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {runInThisContext} from 'node:vm';

const require = createRequire(import.meta.url);

export async function read(source) {
  return new Uint8Array(await readFile(`${source}`.startsWith('file:') ? new URL(source) : source));
}

export async function load(loadLiteRt, wasm) {
  const folder = wasm ?? join(dirname(require.resolve('@litertjs/core/package.json')), 'wasm/');
  const path = `${folder}`.startsWith('file:') ? fileURLToPath(folder) : `${folder}`;
  const shown = {
    self: globalThis,
    require,
    __dirname: path,
    __filename: join(path, 'runtime.js'),
    importScripts: (script) => runInThisContext(readFileSync(script, 'utf8'), {filename: script}),
  };
  const before = Object.keys(shown).map((name) => [name, name in globalThis, globalThis[name]]);
  Object.assign(globalThis, shown);
  globalThis.Module = {locateFile: (name) => join(path, name)};
  try {
    return await loadLiteRt(path);
  } finally {
    for (const [name, there, value] of before) {
      if (there) globalThis[name] = value;
      else if (name !== 'self') delete globalThis[name]; // the runtime goes on to look at `self`
    }
  }
}

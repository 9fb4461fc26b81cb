// Web server of export/, for this machine only: run `npm start` and open the address it prints.

import {createServer} from 'node:http';
import {readFile} from 'node:fs/promises';
import {extname, join, normalize, sep} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url)); // the folder export/
const GALLERY = '/web/gallery/';
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.tflite': 'application/octet-stream',
  '.wasm': 'application/wasm',
};

/**
 * @param {number} port 0: any that is free
 * @param {string} gallery folder of the gallery; '': none. Default: where `make gallery` writes
 * @returns {Promise<{url: string, close: () => void}>} the address of the page
 */
export async function serve(port = 0, gallery = join(ROOT, GALLERY)) {
  const server = createServer(async (request, response) => {
    try {
      const asked = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
      const built = asked.startsWith(GALLERY);
      if (built && !gallery) throw new Error('none');
      const folder = normalize(join(built ? gallery : ROOT, sep));
      const path = normalize(join(folder, built ? asked.slice(GALLERY.length) : asked));
      if (!path.startsWith(folder)) throw new Error('outside');
      const file = path.endsWith(sep) ? join(path, 'index.html') : path;
      const body = await readFile(file);
      response.writeHead(200, {
        'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream',
        // Only an isolated page gets a clock with microseconds.
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Embedder-Policy': 'require-corp',
      });
      response.end(body);
    } catch {
      response.writeHead(404).end('not found\n');
    }
  });
  await new Promise((done, failed) => server.on('error', failed).listen(port, '127.0.0.1', done));
  const url = `http://127.0.0.1:${server.address().port}/web/`;
  return {url, close: () => server.close()};
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const {url} = await serve(Number(process.env.PORT ?? 8000));
  console.log(`${url}   (stop with Ctrl-C)`);
}

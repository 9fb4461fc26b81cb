// Opens files with Netron's own reader, as its page does, and prints what it shows of each as JSON.
// `node netron.mjs NETRON FILE...`, where NETRON is the folder of the package `netron` of PyPI.

import {readFile} from 'node:fs/promises';
import {basename, join} from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, ...files] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, name)).href);
const view = await load('view.js');
const {BinaryStream} = await load('base.js');
const raise = (error) => {
  throw error;
};

const service = new view.ModelFactoryService({exception: raise, require: (id) => load(`${id}.js`)});
const found = [];
for (const file of files) {
  const model = await service.open({
    identifier: basename(file),
    stream: new BinaryStream(new Uint8Array(await readFile(file))),
    entries: new Map(),
    request: (name, encoding) => readFile(join(folder, name), encoding ?? undefined),
    require: (id) => load(`${id}.js`),
    error: raise,
  });
  const [graph] = model.modules;
  const ports = (list) => list.flatMap((port) => port.value.map((value) => value.name.split('\n')[0]));
  const constants = graph.nodes.flatMap((node) => node.inputs).flatMap((port) => port.value)
    .filter((value) => value?.initializer);
  found.push({
    format: model.format,
    operators: graph.nodes.map((node) => node.type.name),
    inputs: ports(graph.inputs),
    outputs: ports(graph.outputs),
    constants: constants.map((value) => `${value.type}`),
  });
}
console.log(JSON.stringify(found));

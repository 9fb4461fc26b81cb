// Decompression of raw DEFLATE streams (RFC 1951), without waiting as DecompressionStream does.

const LARGEST = 2 ** 24; // bytes of metadata; a hostile file could ask for gigabytes
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Values of a code by the numbers of its bits: `counts` of each length, `values` in their order. */
function huffman(lengths) {
  const counts = new Array(16).fill(0);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  const values = [];
  for (let length = 1; length < 16; length++) {
    lengths.forEach((own, value) => own === length && values.push(value));
  }
  return {counts, values};
}

/** First value and extra bits of each step: `group` steps have as many, then one more. */
function steps(first, group, count) {
  const found = [];
  for (let i = 0, value = first; i < count; i++) {
    const extra = Math.max(0, Math.floor(i / group) - 1);
    found.push([value, extra]);
    value += 1 << extra;
  }
  return found;
}

const LENGTHS = [...steps(3, 4, 28), [258, 0]];
const DISTANCES = steps(1, 2, 30);

/**
 * @param {Uint8Array} data
 * @returns {Uint8Array}
 */
export function inflate(data) {
  const out = [];
  let at = 0; // in bits
  const bits = (count) => {
    let value = 0;
    for (let i = 0; i < count; i++, at++) {
      if (at >> 3 >= data.length) throw new Error('The metadata of the file are cut.');
      value |= ((data[at >> 3] >> (at & 7)) & 1) << i;
    }
    return value;
  };
  const decode = ({counts, values}) => {
    for (let length = 1, code = 0, first = 0, index = 0; length < 16; length++) {
      code |= bits(1);
      if (code - first < counts[length]) return values[index + code - first];
      index += counts[length];
      first = (first + counts[length]) << 1;
      code <<= 1;
    }
    throw new Error('The metadata of the file are damaged.');
  };
  for (let last = 0; !last; ) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      at = (at + 7) & ~7;
      const size = bits(16);
      bits(16);
      for (let i = 0; i < size; i++) out.push(bits(8));
      continue;
    }
    const fixed = Array.from({length: 288}, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
    let literals = huffman(fixed), distances = huffman(new Array(30).fill(5));
    if (kind === 2) {
      const count = bits(5) + 257, all = count + bits(5) + 1, own = bits(4) + 4;
      const sizes = new Array(19).fill(0);
      for (let i = 0; i < own; i++) sizes[ORDER[i]] = bits(3);
      const code = huffman(sizes), lengths = [];
      while (lengths.length < all) {
        const value = decode(code);
        if (value < 16) lengths.push(value);
        else if (value === 16) lengths.push(...new Array(bits(2) + 3).fill(lengths.at(-1)));
        else lengths.push(...new Array(value === 17 ? bits(3) + 3 : bits(7) + 11).fill(0));
      }
      literals = huffman(lengths.slice(0, count));
      distances = huffman(lengths.slice(count));
    }
    for (let value; (value = decode(literals)) !== 256; ) {
      if (value < 256) {
        out.push(value);
        continue;
      }
      const [length, more] = LENGTHS[value - 257];
      const size = length + bits(more);
      const [distance, further] = DISTANCES[decode(distances)];
      const back = distance + bits(further);
      if (back > out.length || out.length > LARGEST) {
        throw new Error('The metadata of the file are damaged.');
      }
      for (let i = 0; i < size; i++) out.push(out[out.length - back]);
    }
  }
  return Uint8Array.from(out);
}

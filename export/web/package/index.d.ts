/** What kerascompact wrote into a file. Files of several models have more entries. */
export interface Metadata {
  readonly kerascompact: string;
  readonly labels?: readonly string[];
  readonly multi_label?: boolean;
  /** The input of a file that takes text. */
  readonly text?: {
    readonly input: string;
    readonly max_bytes: number | null;
    readonly length: number | null;
    readonly max_words: number | null;
    readonly rules: string;
    readonly bytes: number;
  };
  readonly vocabulary?: {
    readonly size: number;
    readonly rules: string;
    readonly bytes: number;
    readonly sha256: string;
  };
  readonly recipe?: {readonly name: string; readonly tables: string};
  readonly [entry: string]: unknown;
}

/** A label of a text, and its probability. */
export interface Answer {
  readonly label: string;
  readonly probability: number;
}

export interface Prediction {
  /** The likeliest labels, the first one first. */
  readonly best: Answer[];
  /** The labels of the text: the likeliest, or all from 0.5 on if a text may have several. */
  readonly answers: string[];
  /** How long the runtime took. */
  readonly milliseconds: number;
}

export interface LoadOptions {
  /**
   * Folder of the runtime's .wasm files, which @litertjs/core has in `wasm/`. Default: where npm
   * puts it beside this package. A bundler moves files: serve that folder, and name it here.
   */
  readonly wasm?: string | URL;
}

/** A word of a text, and its likeliest label. */
export interface TaggedWord extends Answer {
  /** The word, as the text has it. */
  readonly word: string;
  /** Its first byte in the UTF-8 of the text. */
  readonly start: number;
  /** The byte after its last one. */
  readonly end: number;
}

export interface Tagging {
  /** The words that the file reads, in their order. */
  readonly words: TaggedWord[];
  /** How long the runtime took. */
  readonly milliseconds: number;
}

/** What a classifier and a tagger share: a file that takes text and has labels. */
interface TextModel {
  readonly metadata: Metadata;
  readonly labels: readonly string[];
  /** Size of the file. */
  readonly bytes: number;
  /** Bytes of a text that the file reads; the rest is cut. */
  readonly maxBytes: number;

  /** Frees the runtime's memory, which the garbage collector does not. */
  delete(): void;
}

/** Classifies texts with a .tflite file that takes text and has labels. */
export class TextClassifier implements TextModel {
  /**
   * Loads the runtime, once, and a file.
   *
   * @param source address of the file (in Node, also a path), or its bytes
   * @throws Error, if the file cannot be read, takes no text of a fixed number of bytes, has no
   *   labels or several outputs
   */
  static load(
    source: string | URL | ArrayBuffer | Uint8Array,
    options?: LoadOptions,
  ): Promise<TextClassifier>;

  readonly metadata: Metadata;
  readonly labels: readonly string[];
  readonly bytes: number;
  readonly maxBytes: number;
  /** Whether a text may have several labels, or none. */
  readonly multiLabel: boolean;

  /** A probability for each label, in their order. */
  run(text: string | Uint8Array): Promise<Float32Array>;

  /** The `count` (3) likeliest labels of a text. */
  predict(text: string | Uint8Array, count?: number): Promise<Prediction>;

  delete(): void;
}

/** Labels the words of a text with a .tflite file that takes text. */
export class TextTagger implements TextModel {
  /**
   * Loads the runtime, once, and a file.
   *
   * @param source address of the file (in Node, also a path), or its bytes
   * @throws Error, if the file cannot be read, takes no text of a fixed number of bytes and words,
   *   has no labels, or no output for each word
   */
  static load(
    source: string | URL | ArrayBuffer | Uint8Array,
    options?: LoadOptions,
  ): Promise<TextTagger>;

  readonly metadata: Metadata;
  readonly labels: readonly string[];
  readonly bytes: number;
  readonly maxBytes: number;

  /** The words of a text with their labels. */
  predict(text: string | Uint8Array): Promise<Tagging>;

  delete(): void;
}

/**
 * The UTF-8 bytes of a text as the file's input: filled up with zeros, or cut.
 *
 * @param maxBytes length of the input, `text.max_bytes` of the metadata
 */
export function encode(text: string | Uint8Array, maxBytes: number): Int32Array;

/**
 * The JSON that kerascompact wrote into a file: labels, sizes, recipe, token rules.
 *
 * @returns null if another exporter wrote the file
 * @throws Error, if it is no .tflite file
 */
export function readMetadata(file: Uint8Array): Metadata | null;

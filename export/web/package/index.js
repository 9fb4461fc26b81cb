export {TextClassifier} from './classifier.js';
export {TextTagger} from './tagger.js';
export {encode, readMetadata} from './textin.js';

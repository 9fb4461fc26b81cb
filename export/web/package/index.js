export {TextClassifier} from './classifier.js';
export {encode, readMetadata} from './textin.js';

export type * from './addon-types.js';

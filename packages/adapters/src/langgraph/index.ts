export { StemmaSaver, type StemmaSaverOptions } from "./saver/stemma-saver.js";
export { StemmaStore, type StemmaStoreOptions } from "./store/stemma-store.js";

export { StemmaSaver, type StemmaSaverOptions } from "./langgraph/saver/stemma-saver.js";
export { StemmaStore, type StemmaStoreOptions } from "./langgraph/store/stemma-store.js";

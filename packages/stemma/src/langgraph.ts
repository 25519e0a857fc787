export { StemmaSaver, type StemmaSaverOptions, StemmaStore, type StemmaStoreOptions } from "@stemma/adapters/langgraph";

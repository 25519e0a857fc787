export { StemmaSaver, type StemmaSaverOptions } from "./langgraph/saver/stemma-saver.js";

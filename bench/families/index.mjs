import { measureAppend, measureBatch } from "./append.mjs";
import { measureHistory, measureRecent } from "./history.mjs";
import { measureSize } from "./size.mjs";

/** What `--only` names, in the order in which it is measured: reads come before what changes the databases. */
export const FAMILIES = {
  history: measureHistory,
  recent: measureRecent,
  append: measureAppend,
  batch: measureBatch,
  size: measureSize,
};

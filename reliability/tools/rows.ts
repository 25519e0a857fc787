import { faultsRow } from "../rows/faults.js";
import { kills } from "../rows/kills.js";
import { eightProcesses, fullWriters } from "../rows/several-processes.js";
import { terminatedConnections } from "../rows/terminated-connections.js";
import { blockAppends, editsDuringCompaction, parallelAppends } from "../rows/together.js";
import type { Row } from "./row.js";

/** In the order in which they run, and stand in the table. */
export const ROWS: readonly Row[] = [
  kills,
  faultsRow,
  terminatedConnections,
  eightProcesses,
  parallelAppends,
  blockAppends,
  fullWriters,
  editsDuringCompaction,
];

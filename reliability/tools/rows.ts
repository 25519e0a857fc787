import { canaries } from "../rows/canaries.js";
import { damagedLogs } from "../rows/damaged-logs.js";
import { databaseSettings } from "../rows/database-settings.js";
import { erasing } from "../rows/erasing.js";
import { escapes } from "../rows/escapes.js";
import { eventLoop } from "../rows/event-loop.js";
import { faultsRow } from "../rows/faults.js";
import { fileClaims } from "../rows/file-claims.js";
import { forgedHeaders } from "../rows/forged-headers.js";
import { fullDisk } from "../rows/full-disk.js";
import { levelHeap } from "../rows/heap.js";
import { kills } from "../rows/kills.js";
import { appendCost, coldOpen, completeHistory } from "../rows/long-sessions.js";
import { embeddedModels, postgresModels } from "../rows/models.js";
import { powerCuts, powerCutsNormal } from "../rows/power-cuts.js";
import { randomQueries } from "../rows/random-queries.js";
import { eightProcesses, fullWriters } from "../rows/several-processes.js";
import { shapes } from "../rows/shapes.js";
import { terminatedConnections } from "../rows/terminated-connections.js";
import { flippedDatabases, foreignHosts, rowsOfColdObject, scriptsInStudio, upgrades } from "../rows/tests.js";
import { blockAppends, editsDuringCompaction, parallelAppends } from "../rows/together.js";
import type { Row } from "./row.js";

/** In the order in which they run, and stand in the table. */
export const ROWS: readonly Row[] = [
  kills,
  damagedLogs,
  faultsRow,
  fullDisk,
  fileClaims,
  terminatedConnections,
  eightProcesses,
  parallelAppends,
  blockAppends,
  fullWriters,
  editsDuringCompaction,
  embeddedModels,
  postgresModels,
  flippedDatabases,
  randomQueries,
  shapes,
  upgrades,
  appendCost,
  coldOpen,
  completeHistory,
  eventLoop,
  rowsOfColdObject,
  levelHeap,
  canaries,
  forgedHeaders,
  scriptsInStudio,
  escapes,
  foreignHosts,
  erasing,
  powerCuts,
  powerCutsNormal,
  databaseSettings,
];

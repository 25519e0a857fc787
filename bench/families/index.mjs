import { measureAppend, measureBatch } from "./append.mjs";
import { measureBundle } from "./bundle.mjs";
import { measureClients } from "./clients.mjs";
import { measureDurableObject } from "./durable-object.mjs";
import { measureHistory, measureRecent } from "./history.mjs";
import { measurePeers } from "./peers.mjs";
import { measurePostgres } from "./postgres.mjs";
import { measureSearch } from "./search.mjs";
import { measureSize } from "./size.mjs";
import { measureStream } from "./stream.mjs";
import { measureDelete, measureFork, measurePaths } from "./tree.mjs";

/** What `--only` names, in the order in which it is measured: reads come before what changes the databases. */
export const FAMILIES = {
  history: measureHistory,
  recent: measureRecent,
  stream: measureStream,
  search: measureSearch,
  append: measureAppend,
  batch: measureBatch,
  fork: measureFork,
  delete: measureDelete,
  paths: measurePaths,
  size: measureSize,
  peers: measurePeers,
  postgres: measurePostgres,
  clients: measureClients,
  "durable-object": measureDurableObject,
  bundle: measureBundle,
};

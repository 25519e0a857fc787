export type {
  Block,
  Compaction,
  Entry,
  Erased,
  ErasureReceipt,
  FoundEntry,
  Hit,
  Message,
  Operation,
  Rows,
  Session,
  StoredRecord,
  Token,
  TreeNode,
  Version,
} from "./api.js";
export type { Change, ChangesQuery } from "./changes.js";
export { type NewToken, StemmaClient } from "./client.js";
export type { ReadInit, StemmaClientOptions, WriteInit } from "./client-options.js";
export type { Page, Pages } from "./pages.js";
export type { Owner } from "./resources/resource.js";

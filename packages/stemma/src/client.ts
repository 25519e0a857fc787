export type {
  Block,
  Change,
  ChangesQuery,
  Compaction,
  Entry,
  Erased,
  ErasureReceipt,
  FoundEntry,
  Hit,
  Message,
  NewToken,
  Operation,
  Owner,
  Page,
  Pages,
  ReadInit,
  Rows,
  Session,
  StemmaClientOptions,
  StoredRecord,
  Token,
  TreeNode,
  Version,
  WriteInit,
} from "@stemma/client";
export { StemmaClient } from "@stemma/client";
export type { ErrorCode } from "@stemma/model";
export { StemmaError } from "@stemma/model";

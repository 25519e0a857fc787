import { describePool } from "../../postgres/conformance.js";
import { EMBEDDED } from "../../postgres/engines.js";

/** What Postgres does in a way of its own. It meets all topics in test/engines/postgres. */
const OWN_WAYS = [
  "messages",
  "branches",
  "history",
  "search",
  "search groups",
  "embeddings",
  "records",
  "sessions",
  "session lists",
  "forks",
  "compaction",
  "deleting messages",
  "blocks of users and keys",
  "learned facts",
  "turns",
  "asked again",
];

describePool("postgres", EMBEDDED, { differsIn: OWN_WAYS });

import { readFileSync } from "node:fs";
import { ROOT } from "../package/manifest.js";

/** The SQL that the page shows for tenants. */
export const POLICIES = /^```sql\n(CREATE FUNCTION current_tenant[\s\S]*?)^```$/m.exec(
  readFileSync(`${ROOT}docs/stores/postgres.md`, "utf8"),
)?.[1] as string;

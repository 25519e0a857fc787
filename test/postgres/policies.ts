import { readFileSync } from "node:fs";
import { ROOT } from "../package/manifest.js";

/** The SQL that the page on Postgres shows for tenants. */
export const POLICIES = /^## Tenants$[\s\S]*?^```sql\n([\s\S]*?)^```$/m.exec(
  readFileSync(`${ROOT}docs/stores/postgres.md`, "utf8"),
)?.[1] as string;

import { readFileSync } from "node:fs";
import { ROOT } from "../package/manifest.js";

/** The SQL that the page on tenants shows. */
export const POLICIES = /^```sql\n([\s\S]*?)^```$/m.exec(
  readFileSync(`${ROOT}docs/stores/tenants.md`, "utf8"),
)?.[1] as string;

// npm run bench -- profile [--only search,postgres,bundle] [--messages 100000]
//
// Where the time and the bytes go of what the benchmark does not show to meet its target: the ranking of a search, an
// append on Postgres, and the bundle.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildStemma } from "./prepare.mjs";

const { values } = parseArgs({
  options: { only: { type: "string" }, messages: { type: "string", default: "100000" } },
});
await buildStemma();
const { createDatasets } = await import("./datasets.mjs");
const { profileBundle } = await import("./profiles/bundle.mjs");
const { profilePostgres } = await import("./profiles/postgres.mjs");
const { profileSearch } = await import("./profiles/search.mjs");

const PROFILES = { search: profileSearch, postgres: profilePostgres, bundle: profileBundle };
const folder = mkdtempSync(join(tmpdir(), "stemma-profile-"));
const datasets = createDatasets(folder);
try {
  for (const name of values.only?.split(",") ?? Object.keys(PROFILES)) {
    await PROFILES[name]({ datasets, messages: Number(values.messages) });
  }
} finally {
  await datasets.close();
  rmSync(folder, { recursive: true, force: true });
}

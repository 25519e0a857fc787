// Puts checkpoints into one thread of a database, and prints each as JSON once it is stored with a write to it.
import { writeSync } from "node:fs";
import { StemmaSaver } from "stemma/langgraph";
import { postgres } from "stemma/postgres";
import { sqlite } from "stemma/sqlite";
import { writeCheckpoints } from "./write-checkpoints.js";

const [place = "", name = ""] = process.argv.slice(2);
const store = place.startsWith("postgres:") ? postgres(place) : sqlite(place);
await writeCheckpoints(new StemmaSaver(store), {
  name,
  steps: 60,
  acknowledge: (one) => void writeSync(1, `${JSON.stringify(one)}\n`),
});
await store.close();

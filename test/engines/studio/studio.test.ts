import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeServer } from "../../postgres/server.js";
import { askingOn } from "../../studio/ask.js";
import { describeStudio, type OpenedStudio } from "../../studio/describe-studio.js";
import { fillSample } from "../../studio/sample.js";

async function filled(store: Store): Promise<OpenedStudio> {
  await fillSample(store);
  return { ask: askingOn(store), close: () => store.close() };
}

describeStudio("SQLite", () => filled(memory()));

describeServer("on a server", (server) => {
  describeStudio("Postgres", async () => filled(postgres(await server.createDatabase())));
});

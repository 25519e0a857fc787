import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { createStudio } from "../../../packages/studio/src/create-studio.js";
import { describeServer } from "../../postgres/server.js";
import { describePages, type ServedStudio } from "../../studio/describe-pages.js";
import { fillSample, sampleManager } from "../../studio/sample.js";

const FACTS = { sessionId: "", label: "facts", scope: "user" } as const;

/** `other` is a second connection to the store, which the page knows nothing of. */
async function served(store: Store, other: Store, cleanUp = () => {}): Promise<ServedStudio> {
  await fillSample(store);
  return {
    studio: createStudio(sampleManager(store), { basePath: "/debug", write: true, authorize: () => true }),
    rename: async (name) => void (await other.sessions.update("trip", { name })),
    writeMemory: async (content) =>
      void (await other.blocks.set({ sessionId: "trip", kind: "block", label: "memory" }, content)),
    writeFact: async (content) => void (await other.forUser("ada").entries.set(FACTS, { key: "home", content })),
    fact: async () => (await other.forUser("ada").entries.get(FACTS, "home"))?.content,
    memory: async () => (await other.blocks.get({ sessionId: "trip", kind: "block", label: "memory" }))?.content,
    close: async () => {
      await Promise.all([store.close(), other.close()]);
      cleanUp();
    },
  };
}

describePages("a file of SQLite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stemma-studio-"));
  const path = join(folder, "chats.db");
  return served(sqlite(path), sqlite(path), () => rmSync(folder, { recursive: true, force: true }));
});

describeServer("on a server", (server) => {
  describePages("Postgres", async () => {
    const url = await server.createDatabase();
    return served(postgres(url), postgres(url));
  });
});

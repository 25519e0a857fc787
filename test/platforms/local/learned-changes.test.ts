import { localModel } from "stemma/local";
import { afterAll, describe, expect, it } from "vitest";
import { memory } from "../../../packages/stemma/src/memory.js";
import { measureChanges } from "../../learning/changes.js";
import { findModels } from "../../local/models.js";

const models = findModels();

describe.skipIf(models === null)("learning with a model on this machine", async () => {
  if (models === null) return;
  const model = await localModel({ model: `${models}/all-MiniLM-L6-v2` });
  afterAll(() => model.close());

  it("shows of 500 facts the one that a change is about, and closes no other", async () => {
    const store = memory().withEmbedder(model.embedder());
    const measured = await measureChanges(store, ({ entries }) => entries.map(({ key }) => key));
    expect(measured.shown).toBeGreaterThanOrEqual(0.95);
    expect(measured.closedWithoutCause).toBeLessThanOrEqual(0.01);
    expect(measured.endedInResults).toBe(0);
    await store.close();
  });
});

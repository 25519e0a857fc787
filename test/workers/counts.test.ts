import { expect, it } from "vitest";
import { conversations } from "./conversations.js";
import { describeWorkerd } from "./workerd.js";

const MESSAGES = 10_000;

describeWorkerd("rows that workerd counts", conversations, (workerd) => {
  it.each([
    { search: true, maxWritten: 3 },
    { search: false, maxWritten: 2 },
  ])("are few for an append, with search $search", async ({ search, maxWritten }) => {
    const object = workerd.object("CountedObject", `search ${search}`);
    for (let first = 0; first < MESSAGES; first += 2_000) await object.fill(search, first, 2_000);
    await expect(object.evict()).rejects.toThrow();
    const opening = await object.append(search, MESSAGES, 1);
    const warm = await object.append(search, MESSAGES + 1, 100);
    console.log(
      `${MESSAGES} messages, search ${search}: cold open to first append ${opening.read} rows read, ` +
        `${opening.written} written; an append ${warm.read / 100} read, ${warm.written / 100} written`,
    );
    expect(opening.read).toBeLessThanOrEqual(10);
    expect(opening.written).toBeLessThanOrEqual(maxWritten);
    expect(warm.written / 100).toBeLessThanOrEqual(maxWritten);
  });
});

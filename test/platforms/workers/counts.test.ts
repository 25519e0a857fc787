import { expect, it } from "vitest";
import { textMessage } from "../../helpers/messages.js";
import { conversations } from "../../workers/conversations.js";
import { describeWorkerd } from "../../workers/workerd.js";

const MESSAGES = 10_000;

const say = (id: string) => textMessage(id, `Message ${id}, about the deployment.`);

/** Calls on a session of `MESSAGES` messages, in this order, with the rows that each may read and write. */
const CALLS = [
  { title: "cold open to first append", call: ["appendMessage", say("first")], read: 6, written: 3 },
  { title: "append", call: ["appendMessage", say("second")], read: 4, written: 3 },
  { title: "append of a known id", call: ["appendMessage", say("second")], read: 8, written: 0 },
  { title: "the newest 50 messages", call: ["getRecentHistory", 0, { minMessages: 50 }], read: 100, written: 0 },
  { title: "one message", call: ["getMessage", "message-5000"], read: 5, written: 0 },
  { title: "branch in the middle", call: ["appendMessage", say("branch"), "message-5000"], read: 10, written: 4 },
  { title: "append to the branch", call: ["appendMessage", say("leaf")], read: 5, written: 3 },
  { title: "the siblings of a message", call: ["getSiblings", "branch"], read: 15, written: 0 },
  { title: "the branch of a sibling", call: ["selectBranch", "message-5001"], read: 25, written: 3 },
  { title: "the newest branch", call: ["selectBranch", "branch"], read: 15, written: 3 },
  { title: "choose a leaf", call: ["setActiveLeaf", "second"], read: 10, written: 3 },
  { title: "delete in the middle", call: ["deleteMessages", ["message-4000"]], read: 30, written: 7 },
] as const;

describeWorkerd("rows that workerd counts", conversations, (workerd) => {
  it.each([true, false])("are few, with search %s", async (search) => {
    const object = workerd.object("CountedObject", `search ${search}`);
    for (let first = 0; first < MESSAGES; first += 2_000) await object.fill(search, first, 2_000);
    await expect(object.evict()).rejects.toThrow();
    const report = [`${MESSAGES} messages, search ${search}: rows read, rows written`];
    let dated = Number.NEGATIVE_INFINITY;
    for (const { title, call, read, written } of CALLS) {
      const [method, ...args] = call;
      const rows = await object.cost(search, method, ...args);
      report.push(`  ${String(rows.read).padStart(5)} ${String(rows.written).padStart(3)}  ${title}`);
      const isAppend = method === "appendMessage" && written > 0;
      // An append dates the session, a second after the one that did: its row, and those of two indexes, one of what is due.
      const isDated = isAppend && Date.now() - dated > 900;
      expect(rows.read, title).toBeLessThanOrEqual(read + (isDated ? 1 : 0));
      // The index takes one row of each append.
      const indexed = !search && isAppend ? 1 : 0;
      expect(rows.written, title).toBeLessThanOrEqual(written - indexed + (isDated ? 3 : 0));
      if (isAppend && rows.written > written - indexed) dated = Date.now();
    }
    console.log(report.join("\n"));
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { commandLine, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();

const MODULE = `export default async ({ messages }) => ({
  edits: messages.map(({ id, parts }) => ({ action: "add", label: "memory", content: parts[0].text, messageIds: [id] })),
  usage: { inputTokens: 100, outputTokens: 10, cost: 0.5 },
});`;
const module = join(folder, "learn.mjs");
writeFileSync(module, MODULE);

async function fill(db: string): Promise<void> {
  const store = sqlite(db);
  const manager = SessionManager.create(store);
  const said = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: `Said ${id}.` }] });
  // Imported, and another user's.
  await manager.append("one", said("u1"));
  await manager.forUser("bob").append("two", said("u2"));
  await store.close();
}

async function memoryOf(db: string, userId: string): Promise<string | undefined> {
  const store = sqlite(db).forUser(userId);
  const block = await store.blocks.get({ sessionId: "", kind: "block", label: "memory", scope: "user" });
  await store.close();
  return block?.content;
}

it("learns from all conversations, within what it may cost, and only counts them in a dry run", async () => {
  const { db, ok, run } = commandLine(folder, "learn.db");
  await fill(db);
  expect(await ok("learn", "--all", "--dry-run")).toMatch(
    /^2 messages in 2 conversations to learn from, about \d+ tokens/,
  );
  const learn = ["learn", "--all", "--learn", module, "--user", "ada"];
  expect(await ok(...learn, "--max-cost", "0.4")).toBe(
    "Learned from 1 message in 1 conversation: 1 edit (100 tokens in, 10 out, cost 0.5).\nMore are left: run it again.\n",
  );
  const receipt = JSON.parse(await ok("--json", ...learn));
  expect(receipt).toMatchObject({ sessions: 1, edits: 1, usage: { cost: 0.5 }, isMoreDue: false });
  expect([await memoryOf(db, "ada"), await memoryOf(db, "bob")]).toEqual(["Said u1.", "Said u2."]);
  expect(await ok(...learn)).toContain("Learned from 0 messages");
  for (const [wrong, told] of [
    [["learn"], "pass --all"],
    [["learn", "--all"], "name what learns"],
    [["learn", "--all", "--model", "openai/x", "--max-cost", "1"], "--prices"],
    [["learn", "--all", "--prices", "3"], "two numbers"],
    [["learn", "--all", "--max-cost", "0"], "above 0"],
  ] as const) {
    const { code, err } = await run(...wrong);
    expect([code, err]).toEqual([2, expect.stringContaining(told)]);
  }
});

it("tells what failed, and refuses a module without a function", async () => {
  const { db, run } = commandLine(folder, "failing.db");
  await fill(db);
  const failing = join(folder, "failing.mjs");
  writeFileSync(failing, "export default async () => { throw new Error('no model today'); };");
  const { code, out } = await run("learn", "--all", "--learn", failing, "--user", "ada");
  expect([code, out]).toEqual([1, expect.stringContaining("Failed in one: no model today")]);
  writeFileSync(join(folder, "none.mjs"), "export const learn = 1;");
  for (const path of [join(folder, "none.mjs"), join(folder, "nowhere.mjs")]) {
    expect((await run("learn", "--all", "--learn", path)).err).toContain("--learn cannot be used");
  }
});

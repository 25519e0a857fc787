import { join } from "node:path";
import { Session } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { inLanes, start } from "../tools/process.js";
import type { Row, Scene } from "../tools/row.js";

/** After so many kills the next one has a new database. */
const PER_PLACE = 25;

/** What a killed program was told is stored, in one call. */
interface Acknowledged {
  readonly chat: string;
  readonly messages?: readonly string[];
  readonly block?: string;
  readonly compaction?: string;
}

/** A program writes, is killed without warning after a while, and all that it was told must be there, and fit together. */
async function killAll({ size, programs, place, open }: Scene) {
  const result = { kills: 0, acknowledged: 0, lost: [] as string[], broken: [] as string[] };
  await inLanes(Math.ceil(size / PER_PLACE), 2, async (_, round) => {
    const where = await place();
    await open(where).migrate();
    for (let kill = 0; kill < Math.min(PER_PLACE, size - round * PER_PLACE); kill += 1) {
      const writer = start(join(programs, "busy-writer.mjs"), where, `w${kill}`);
      await writer.next();
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      writer.child.kill("SIGKILL");
      await writer.ended;
      const store = open(where);
      for (const line of writer.lines) {
        if (!(await holds(store, JSON.parse(line) as Acknowledged))) result.lost.push(line);
      }
      result.broken.push(...(await brokenIn(store)));
      await store.close();
      result.kills += 1;
      result.acknowledged += writer.lines.length;
    }
  });
  return result;
}

async function holds(store: Store, { chat, messages = [], block, compaction }: Acknowledged): Promise<boolean> {
  const session = Session.create(store).forSession(chat).withContext("memory");
  for (const id of messages) if ((await session.getMessage(id)) === null) return false;
  if (block !== undefined && !(await session.readContextBlock("memory"))?.content.split("\n").includes(block))
    return false;
  return compaction === undefined || (await session.getCompactions()).some(({ id }) => id === compaction);
}

/** What does not fit together, by the store's own check, and batches of which only a part is there. */
async function brokenIn(store: Store): Promise<string[]> {
  const problems = ((await store.check?.())?.problems ?? []).map(({ message }) => message);
  for (const chat of ["chat-0", "chat-1", "chat-2"]) {
    const batches = (await store.session(chat).tree()).filter(({ id }) => id.includes("-batch-"));
    if (batches.length % 5 !== 0) problems.push(`${chat} has a part of a batch`);
  }
  return problems;
}

export const kills: Row = {
  number: 1,
  title: "{size} kills of a writing process, each after an acknowledgement (rows 1 and 2)",
  target: "0 lost, 0 invariants broken",
  sizes: { SQLite: [2000, 10], Postgres: [500, 5] },
  async run(scene) {
    const { kills: count, acknowledged, lost, broken } = await killAll(scene);
    return {
      figure: `${lost.length} of ${acknowledged} acknowledged writes lost, ${broken.length} invariants broken`,
      met: lost.length + broken.length === 0 && count === scene.size,
      details: { lost: lost.slice(0, 5), broken: broken.slice(0, 5) },
    };
  },
};

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Session } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { Disk } from "../tools/power-cut.js";
import { Random } from "../tools/random.js";
import { record } from "../tools/recording.js";
import type { Row, Scene } from "../tools/row.js";

/** Cuts the power `size` times in a workload, at places evenly spread over it, and opens what the disk may hold then. */
async function cutPower({ folder, programs, size }: Scene, synchronous: "full" | "normal") {
  const recorded = join(folder, synchronous);
  mkdirSync(recorded);
  const args = [join(recorded, "chats.db"), synchronous];
  const events = record(join(programs, "power-workload.mjs"), args, recorded, join(folder, "trace"));
  const disk = new Disk();
  const said: string[] = [];
  const result = { cuts: 0, lost: 0, corrupt: [] as string[] };
  for (const [index, event] of events.entries()) {
    disk.apply(event);
    if (event.do === "say") said.push(event.line);
    const until = Math.floor(((index + 1) * size) / events.length);
    for (; result.cuts < until; result.cuts += 1) {
      const seed = result.cuts;
      await open(disk.image(new Random(seed)), said).then(
        (lost) => {
          result.lost = Math.max(result.lost, lost);
        },
        (error) => result.corrupt.push(`${synchronous}, seed ${seed}, after ${said.at(-1)}: ${error}`),
      );
    }
  }
  return result;

  /** How many of the acknowledged writes are not there. Throws where those that are there are not the first ones, or do not fit together. */
  async function open(image: ReadonlyMap<string, Buffer>, acknowledged: readonly string[]): Promise<number> {
    const cut = join(folder, "cut");
    mkdirSync(cut);
    for (const [name, bytes] of image) writeFileSync(join(cut, name), bytes);
    const store = sqlite(join(cut, "chats.db"), { synchronous: "normal" });
    try {
      const tree = (await store.session("main").tree()).map(({ id }) => id);
      const session = Session.create(store).forSession("main").withContext("memory");
      const blocks = ((await session.readContextBlock("memory"))?.content ?? "").split("\n").filter(Boolean);
      const problems = (await store.check?.())?.problems ?? [];
      if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join(" "));
      if (tree.some((id, place) => id !== `m${place}`)) throw new Error(`It holds ${tree}.`);
      if (blocks.some((id, place) => id !== `b${place * 5}`)) throw new Error(`The block holds ${blocks}.`);
      const stored = new Set([...tree.map((id) => `message ${id}`), ...blocks.map((id) => `block ${id}`)]);
      await session.appendMessage({ id: "after", role: "user", parts: [] });
      return acknowledged.filter((line) => !stored.has(line)).length;
    } finally {
      await store.close();
      rmSync(cut, { recursive: true });
    }
  }
}

const powerCutsOf = (synchronous: "full" | "normal", target: string): Row => ({
  number: 31,
  title: `{size} power cuts amid writes with \`synchronous: "${synchronous}"\`: any subset of what was written since the last sync`,
  target,
  sizes: { SQLite: synchronous === "full" ? [10_000, 50] : [2_000, 20] },
  async run(scene) {
    const { lost, corrupt } = await cutPower(scene, synchronous);
    const loss = synchronous === "full" ? `${lost} acknowledged lost` : `at most the newest ${lost} lost`;
    return {
      figure: `${loss}, ${corrupt.length} corrupt`,
      met: corrupt.length === 0 && (lost === 0 || synchronous === "normal"),
      details: corrupt.slice(0, 5),
    };
  },
});

export const powerCuts = powerCutsOf("full", "0 acknowledged lost, 0 corrupt");
export const powerCutsNormal = powerCutsOf("normal", "0 corrupt; what is lost is the newest");

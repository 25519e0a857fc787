import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { draftName } from "../../packages/runner/src/storages/file-commit.js";
import { FileSessionStorage } from "../../packages/stemma/src/agent.js";
import { inLanes, type Program, start } from "../tools/process.js";
import type { Row } from "../tools/row.js";

const LIVING = 2;
/** A save makes about twenty calls. */
const CALLS = 25;
/** A process that ended long ago, by its number. */
const DEAD = 4_194_303;

/** Claims that nobody has: of a dead process, of the future, cut short. */
async function plant(directory: string, round: number): Promise<void> {
  const place = Date.now() - 60_000;
  const names = [
    await draftName({ pid: DEAD, place }),
    await draftName({ pid: DEAD, place: Date.now() + 60_000 }),
    await draftName({ pid: process.pid, place: Date.now() + 60_000 }),
    "0000~1.tmp",
  ];
  writeFileSync(join(directory, `.s.json.${names[round % names.length]}`), round % 2 ? "" : '{"id":"s","mess');
}

/** Three processes save one session at once. One of them is killed before any of its system calls, and claims of others lie about. */
export const fileClaims: Row = {
  number: 7,
  title: "{size} kills amid saves of one file by several processes, with planted claims",
  target: "0 false acknowledgements",
  sizes: { files: [1_000, 10] },
  async run({ folder, programs, size }) {
    const program = join(programs, "commit-child.mjs");
    const usage = { input_tokens: 0, output_tokens: 0 };
    const lanes: { directory: string; writers: Program[] }[] = [];
    for (const lane of [0, 1]) {
      const directory = join(folder, `lane-${lane}`);
      mkdirSync(directory);
      await new FileSessionStorage(directory).save({
        id: "s",
        messages: [],
        usage,
        metadata: {},
        createdAt: 1,
        updatedAt: 1,
      });
      const writers = Array.from({ length: LIVING }, () => start(program, directory, "0"));
      for (const writer of writers) await writer.next();
      lanes.push({ directory, writers });
    }
    const wrong: string[] = [];
    let kills = 0;
    for (let round = 0; kills < size; round += 10) {
      await inLanes(Math.min(10, size - kills), lanes.length, async (lane, index) => {
        const { directory, writers } = lanes[lane] as (typeof lanes)[0];
        const victim = start(program, directory, String(1 + ((round + index) % CALLS)));
        await victim.next();
        for (const writer of writers) writer.tell("load");
        for (const writer of writers) await writer.next();
        await plant(directory, round + index);
        const all = [...writers, victim];
        const marks = all.map((_, each) => `${round + index}-${each}`);
        for (const [each, writer] of all.entries()) writer.tell(marks[each] as string);
        const answers = await Promise.all(all.map((writer) => writer.next()));
        victim.child.stdin?.end();
        if (answers.at(-1) === null) kills += 1;
        const stored = (await new FileSessionStorage(directory).load("s"))?.metadata.mark;
        const saved = marks.filter((_, each) => answers[each] === "saved");
        // Whoever is killed may have come as far as to save.
        const possible: unknown[] = saved.length > 0 ? saved : answers.at(-1) === null ? [marks.at(-1)] : [];
        if (saved.length > 1 || !possible.includes(stored))
          wrong.push(`${answers.join()}: ${saved}, stored is ${stored}`);
      });
    }
    for (const { writers } of lanes) for (const writer of writers) writer.child.kill("SIGKILL");
    const left = lanes.flatMap(({ directory }) => readdirSync(directory)).length;
    return {
      figure: `${wrong.length} false, of ${kills} kills`,
      met: wrong.length === 0,
      details: { wrong: wrong.slice(0, 5), left },
    };
  },
};

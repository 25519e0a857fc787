import { join } from "node:path";
import { start } from "../tools/process.js";
import type { Row, Scene } from "../tools/row.js";

const WRITERS = 8;

/** Eight processes append to one session at the same time. Gives what each said, and whether one chain came of it. */
async function writeTogether({ programs, place, open, size }: Scene, synchronous: "full" | "normal") {
  const where = await place();
  await open(where).migrate();
  const program = join(programs, "appender.mjs");
  const writers = Array.from({ length: WRITERS }, (_, writer) =>
    start(program, where, `${writer}-`, String(size), synchronous),
  );
  for (const writer of writers) if ((await writer.next()) !== "ready") await writer.ended;
  for (const writer of writers) writer.tell("go");
  const said = await Promise.all(
    writers.map(async (writer) => JSON.parse((await writer.next()) ?? "{}") as { longest: number; refused: number }),
  );
  const store = open(where);
  const tree = await store.session("s").tree();
  const isChain = tree.every(({ parentId }, index) => parentId === (tree[index - 1]?.id ?? null));
  const isOrdered = writers.every((_, writer) => {
    const own = tree.filter(({ id }) => id.startsWith(`${writer}-`)).map(({ id }) => Number(id.split("-")[1]));
    return own.every((index, at) => at === 0 || index > (own[at - 1] as number));
  });
  await store.close();
  return {
    stored: tree.length,
    refused: said.reduce((sum, { refused }) => sum + refused, 0),
    longest: Math.max(...said.map(({ longest }) => longest)),
    isChain: isChain && isOrdered,
  };
}

export const eightProcesses: Row = {
  number: 9,
  title: "8 processes, each with {size} appends to one session",
  target: "all in one chain",
  sizes: { SQLite: [2000, 50], Postgres: [2000, 25] },
  async run(scene) {
    const { stored, isChain } = await writeTogether(scene, "normal");
    const all = WRITERS * scene.size;
    const figure = `${stored.toLocaleString("en-US")} of ${all.toLocaleString("en-US")} in ${isChain ? "one chain" : "disorder"}`;
    return { figure, met: stored === all && isChain };
  },
};

export const fullWriters: Row = {
  number: 12,
  alone: true,
  title: '8 writers on one file with `synchronous: "full"`, each with {size} appends',
  target: "0 refused; the longest wait is told",
  sizes: { SQLite: [500, 30] },
  async run(scene) {
    const { stored, refused, longest } = await writeTogether(scene, "full");
    return {
      figure: `${refused} refused, longest wait ${(longest / 1000).toFixed(2)} s`,
      met: refused === 0 && stored === WRITERS * scene.size,
    };
  },
};

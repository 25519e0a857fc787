import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { message, numbered } from "../../packages/conformance/src/samples.js";
import { StemmaError } from "../../packages/model/src/errors.js";
import { FileSessionStorage } from "../../packages/stemma/src/agent.js";
import { Session } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { mountDisk, type SmallDisk } from "../tools/mount.js";
import type { Row, Scene } from "../tools/row.js";

const STEP = 2_048;

interface Trial {
  readonly partial: string[];
  /** Points at which it did not go on when the disk was free again. */
  readonly stuck: string[];
  full: number;
}
type Attempt = (disk: SmallDisk, trial: Trial, point: string) => Promise<void>;

/** Batches of messages until the disk is full, and one more when it is free again. */
async function inSqlite(disk: SmallDisk, { partial, stuck }: Trial, point: string): Promise<void> {
  const store = sqlite(join(disk.path, "chats.db"));
  const session = Session.create(store).forSession("s");
  const stored = async () => (await session.getHistory()).map(({ id }) => id).join();
  await session.appendMessage(message("first"));
  disk.leave(Number(point));
  const acknowledged = ["first"];
  for (let batch = 0; ; batch += 1) {
    const ids = numbered(`${batch}-`, 5);
    try {
      await session.appendAll(ids.map((id) => message(id, `${id} `.repeat(100))));
      acknowledged.push(...ids);
    } catch (error) {
      if (!StemmaError.isInstance(error)) partial.push(`${point}: ${error}`);
      break;
    }
  }
  if ((await stored()) !== acknowledged.join()) partial.push(`${point}: it holds ${await stored()}`);
  disk.free();
  try {
    await session.appendMessage(message("freed"));
    if ((await stored()) !== [...acknowledged, "freed"].join()) stuck.push(`${point}: it holds ${await stored()}`);
    const problems = (await store.check?.())?.problems ?? [];
    partial.push(...problems.map((problem) => `${point}: ${problem.message}`));
  } catch (error) {
    stuck.push(`${point}: ${error}`);
  }
  await store.close();
}

/** The state of a session, ever larger, until the disk is full; then the last one that was saved must be there, and nothing beside it. */
async function inFiles(disk: SmallDisk, { partial, stuck }: Trial, point: string): Promise<void> {
  const storage = new FileSessionStorage(disk.path);
  const state = { id: "s", messages: [], usage: { input_tokens: 0, output_tokens: 0 }, createdAt: 1, updatedAt: 1 };
  const save = (size: number) => storage.save({ ...state, metadata: { text: "x".repeat(size) } });
  const saved = async () => String((await new FileSessionStorage(disk.path).load("s"))?.metadata.text).length;
  await save(0);
  disk.leave(Number(point));
  let size = 0;
  for (let next = 1_000; ; next += 5_000) {
    try {
      await save(next);
      size = next;
    } catch {
      break;
    }
  }
  if ((await saved()) !== size) partial.push(`${point}: ${await saved()} of ${size}`);
  const others = readdirSync(disk.path).filter((name) => name !== "ballast" && name !== "s.json");
  if (others.length > 0) partial.push(`${point}: ${others} is left`);
  disk.free();
  await save(7).catch((error) => stuck.push(`${point}: ${error}`));
  if ((await saved()) !== 7) stuck.push(`${point}: ${await saved()} of 7`);
}

async function fill({ folder, size, engine }: Scene): Promise<Trial> {
  const work: Attempt = engine === "files" ? inFiles : inSqlite;
  const trial: Trial = { partial: [], stuck: [], full: 0 };
  const disk = mountDisk(folder, 4_096);
  try {
    for (let point = 0; point < size; point += 1) {
      await work(disk, trial, String(point * STEP));
      for (const name of readdirSync(disk.path)) rmSync(join(disk.path, name));
      trial.full += 1;
    }
  } finally {
    disk.unmount();
  }
  return trial;
}

export const fullDisk: Row = {
  number: 5,
  title: "{size} points at which the disk is full; then it is freed (rows 5 and 6)",
  target: "0 partial; it goes on",
  sizes: { SQLite: [200, 20], files: [200, 20] },
  mounts: true,
  async run(scene) {
    const { partial, stuck, full } = await fill(scene);
    return {
      figure: `${partial.length} partial, went on ${full - stuck.length} of ${full} times`,
      met: partial.length + stuck.length === 0,
      details: { partial: partial.slice(0, 5), stuck: stuck.slice(0, 5) },
    };
  },
};

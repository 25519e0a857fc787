import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session, type SessionMessage } from "stemma";
import { sqlite } from "stemma/sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { textOf } from "../../ai-sdk/chat.js";
import type { RandomChat } from "../../ai-sdk/random-chat.js";
import { Servers } from "../../ai-sdk/servers.js";
import { bundle } from "../../runner/bundle.js";

/** Chats with each major version of the AI SDK; `STEMMA_CHATS=1000 npx vitest run ai-sdk/random-chats` makes them 1,000. */
const CHATS = Number(process.env.STEMMA_CHATS ?? 24);
const PROGRAMS = ["test/ai-sdk/server-child.ts", "test/ai-sdk/random-chat.ts"];
const PACKAGES = { 6: "ai", 7: "ai-7" };
const ACTIONS = 6;
const AT_ONCE = 16;
/** Long enough that a server on a busy machine says in time that it lives. */
const LEASE = "1500";
/** Milliseconds between two kills, on the average. */
const PACE = CHATS > 100 ? 5000 : 2000;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-chats-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const title = `loses no message and answers none twice, in ${CHATS} chats with anything at any time (AI SDK %s)`;
it.each(Object.entries(PACKAGES))(
  title,
  async (major, ai) => {
    const programs = await bundle(`chats-${major}`, PROGRAMS, { ai });
    const user = (await import(join(programs, "random-chat.mjs"))) as { RandomChat: typeof RandomChat };
    const database = join(folder, `chats-${major}.db`);
    const servers = new Servers(join(programs, "server-child.mjs"), [database, LEASE]);
    await Promise.all([servers.start(), servers.start()]);
    let isOver = false;
    const killer = (async () => {
      while (!isOver) {
        await new Promise((wake) => setTimeout(wake, PACE * (0.5 + Math.random())));
        if (!isOver) await servers.restart();
      }
    })();
    const left = Array.from({ length: CHATS }, (_, index) => `chat${index}`);
    const chats: RandomChat[] = [];
    const faults: string[] = [];
    const worker = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const chat = new user.RandomChat(id, servers, Math.random);
        chats.push(chat);
        try {
          for (let action = 0; action < ACTIONS; action += 1) await chat.act();
          await chat.finish();
        } catch (error) {
          faults.push(`${id}: ${error instanceof Error ? error.stack : error}`);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    isOver = true;
    await killer;
    await servers.stop();
    const store = sqlite(database);
    const counts: Record<string, number> = {};
    for (const chat of chats) {
      const session = Session.create(store).forSession(chat.id);
      const tree = await session.getTree();
      const stored = new Map<string, Stored>();
      for (const { id, parentId } of tree) {
        stored.set(id, { message: (await session.getMessage(id)) as SessionMessage, parentId });
      }
      faults.push(...faultsOf(chat, stored));
      for (const { message } of stored.values()) count(counts, message);
    }
    console.log(`AI SDK ${major}: ${CHATS} chats, ${servers.kills} kills, ${JSON.stringify(counts)}`);
    // What was lost says more than who waited.
    const all = [...faults, ...servers.complaints].reverse().map((fault) => fault.slice(0, 4000));
    expect({ faults: all.length, first: all.slice(0, 8) }).toEqual({ faults: 0, first: [] });
    expect((await store.check?.())?.problems).toEqual([]);
    await store.close();
  },
  3_600_000,
);

interface Stored {
  readonly message: SessionMessage;
  readonly parentId: string | null;
}

function count(counts: Record<string, number>, { role, metadata, parts }: SessionMessage): void {
  const { interrupted } = (metadata ?? {}) as { interrupted?: string };
  const tools = parts.filter(({ type }) => type.startsWith("tool-")).map(({ type, state }) => `${type} ${state}`);
  for (const name of [role, ...(interrupted === undefined ? [] : [interrupted]), ...tools])
    counts[name] = (counts[name] ?? 0) + 1;
}

function faultsOf(chat: RandomChat, stored: ReadonlyMap<string, Stored>): string[] {
  const faults: string[] = [];
  const all = [...stored.values()];
  const textsOfUser = new Set(
    all.filter(({ message }) => message.role === "user").map(({ message }) => textOf(message as never)),
  );
  for (const text of chat.acknowledged) if (!textsOfUser.has(text)) faults.push(`${chat.id} lost the question ${text}`);
  for (const [id, text] of chat.answers) {
    const answer = stored.get(id)?.message;
    if (answer === undefined || !textOf(answer as never).includes(text))
      faults.push(`${chat.id} lost the answer ${id}: ${text}`);
  }
  for (const { message, parentId } of all) {
    if (message.role === "assistant" && stored.get(parentId ?? "")?.message.role !== "user") {
      faults.push(`${chat.id}: the answer ${message.id} stands below no question`);
    }
    if (message.role === "assistant" && message.parts.every(({ type }) => type === "step-start")) {
      faults.push(`${chat.id}: the answer ${message.id} is empty`);
    }
  }
  const isAnswer = ({ message }: Stored) => message.role === "assistant";
  const answered = new Set(all.filter(isAnswer).map(({ parentId }) => parentId));
  const more = all.filter(isAnswer).length - answered.size;
  if (more > chat.regenerated) {
    const shown = all.map(({ message, parentId }) => [
      message.id,
      parentId,
      message.role,
      message.metadata,
      textOf(message as never),
    ]);
    faults.push(
      `${chat.id}: ${more} answers more than questions, of ${chat.regenerated} asked for: ${JSON.stringify(shown)}`,
    );
  }
  return faults;
}

import { describe, expect, it } from "vitest";
import { importSession } from "../../../packages/formats/src/import/import-session.js";
import type { ParsedSession } from "../../../packages/formats/src/stemma/session-file.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { jsonl, sessionsOf } from "../../cli/read.js";
import { call, Transcript, text } from "../../formats/claude-code-lines.js";

const ID = "11111111-1111-4111-8111-111111111111";
const LONG = "The mill by the river turns all night. ".repeat(1000);

async function imported(pieces: readonly ParsedSession[]): Promise<Store> {
  const store = memory();
  for (const piece of pieces) await importSession(store, piece);
  return store;
}

/** How many characters of messages the largest piece has. */
const largest = (pieces: readonly ParsedSession[]) =>
  Math.max(...pieces.map(({ messages }) => JSON.stringify(messages).length));

describe("a conversation of an export that is long", () => {
  /** A question, a call, its result and an answer, over and over; every tenth question has a second answer. */
  function conversation(turns: number) {
    const mapping: Record<string, object> = {};
    const node = (id: string, parent: string | null, message: object | null): string => {
      mapping[id] = { id, parent, message: message === null ? null : { id, recipient: "all", ...message } };
      return id;
    };
    const said = (role: string, words: string) => ({
      author: { role },
      content: { content_type: "text", parts: [words] },
    });
    let last = node("root", null, null);
    for (let turn = 0; turn < turns; turn += 1) {
      const asked = node(`q${turn}`, last, said("user", `Question ${turn}`));
      const called = node(`c${turn}`, asked, { ...said("assistant", '{"find":"mill"}'), recipient: "browser" });
      const result = node(`r${turn}`, called, said("tool", LONG));
      last = node(`a${turn}`, result, said("assistant", `Answer ${turn}`));
      if (turn % 10 === 9) node(`b${turn}`, result, said("assistant", `Another answer ${turn}`));
    }
    return { title: "Mills", conversation_id: "mills", mapping, current_node: `b${turns - 11}` };
  }

  it("is written in pieces, and is the same tree with the same active leaf", async () => {
    const turns = 50;
    const pieces = await sessionsOf(JSON.stringify([conversation(turns)]));
    expect(pieces.length).toBeGreaterThan(5);
    expect(largest(pieces)).toBeLessThan(600_000);
    const store = await imported(pieces);
    const session = store.session("mills");
    expect(await session.count()).toBe(3 * turns + turns / 10);
    expect((await session.leaf())?.id).toBe("b39");
    const { messages } = await session.path();
    expect(messages.map(({ id }) => id).slice(-4)).toEqual(["a38", "q39", "c39", "b39"]);
    expect(messages.at(-2)?.parts).toMatchObject([{ state: "output-available", output: LONG }]);
    expect((await session.branches("c39")).map(({ id }) => id)).toEqual(["a39", "b39"]);
    const change = await session.change();
    for (const piece of pieces) expect(await importSession(store, piece)).toMatchObject({ inserted: 0, updated: 0 });
    expect(await session.change()).toBe(change);
  });
});

describe("a transcript with many sub-agents between its lines", () => {
  it("holds the newest of them, and each comes to its own session whole", async () => {
    const agents = 100;
    const main = new Transcript(ID);
    const asked = main.user(null, "Look everywhere");
    const last: (string | null)[] = [];
    for (let round = 0; round < 2; round += 1) {
      for (let agent = 0; agent < agents; agent += 1) {
        const side = { isSidechain: true, agentId: `a${agent}` };
        const said = main.user(last[agent] ?? asked, `Round ${round}: ${LONG}`, side);
        const called = main.assistant(said, `msg_${agent}_${round}`, call(`call_${agent}_${round}`), side);
        const result = main.result(called, `call_${agent}_${round}`, "found", side);
        last[agent] = main.assistant(result, `msg_${agent}_${round}_2`, text("It is there."), side);
      }
    }
    const pieces = await sessionsOf(jsonl(main.lines), { stem: ID });
    // Those that rest give their messages away before the file ends.
    const early = pieces.findIndex(({ id }) => id === ID);
    expect(early).toBeGreaterThan(agents);
    const store = await imported(pieces);
    for (const agent of [0, 57, agents - 1]) {
      const session = store.session(`${ID}/agent-a${agent}`);
      const { messages } = await session.path();
      expect(messages.map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "assistant",
        "user",
        "assistant",
        "assistant",
      ]);
      expect(messages.flatMap(({ parts }) => parts).filter(({ state }) => state === "input-available")).toEqual([]);
      expect(await store.sessions.get(session.id)).toMatchObject({ input_tokens: 60, output_tokens: 12 });
    }
  });
});

describe("a rollback of Codex", () => {
  const line = (type: string, payload: object) => ({ timestamp: "2026-10-01T10:00:00.000Z", type, payload });
  const asked = (words: string) =>
    line("response_item", { type: "message", role: "user", content: [{ type: "input_text", text: words }] });

  it("leads back over many turns, and says so where it is not known how far", async () => {
    const turns = 25_000;
    const rolledBack = (num_turns: number) => line("event_msg", { type: "thread_rolled_back", num_turns });
    const lines = [
      line("session_meta", { id: "s", cwd: "/" }),
      ...Array.from({ length: turns }, (_, turn) => asked(`Question ${turn}`)),
      rolledBack(9000),
      asked("Again"),
      rolledBack(turns),
      asked("From the start"),
    ];
    const pieces = await sessionsOf(jsonl(lines));
    const messages = pieces.flatMap((piece) => piece.messages);
    const wordsOf = (id: string | null | undefined) =>
      messages.find(({ message }) => message.id === id)?.message.parts[0]?.text;
    expect(wordsOf(messages.at(-2)?.parentId)).toBe(`Question ${turns - 9001}`);
    expect(pieces.flatMap(({ skipped }) => skipped)).toEqual([
      { line: lines.length - 1, why: expect.stringContaining("rolls back more than 10000 turns") },
    ]);
  });
});

// What Claude Code itself shows of a transcript is what its SDK gives: our visible path must be that.
import { getSessionMessages, InMemorySessionStore, type SessionStoreEntry } from "@anthropic-ai/claude-agent-sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importSession } from "../../../packages/formats/src/import/import-session.js";
import { isJsonObject, type JsonObject } from "../../../packages/model/src/lib/json.js";
import { isSummaryMessage, type SessionMessage } from "../../../packages/model/src/messages/message.js";
import { memory } from "../../../packages/store/src/memory.js";
import { jsonl, sessionsOf } from "../../cli/read.js";
import { call, Transcript, text } from "../../formats/claude-code-lines.js";

const SESSION = "11111111-1111-4111-8111-111111111111";

/** One step of a conversation; numbers choose among what there is. */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("turn" as const), lines: fc.nat(4), calls: fc.nat(3), shape: fc.nat(3) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rewind" as const), to: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compaction" as const), kept: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sidechain" as const), length: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("beside" as const), what: fc.nat(5) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A place that one can go on from, and the lines on its path since the last summary. */
interface Spot {
  uuid: string;
  path: string[];
}

function write(steps: readonly Step[]): Transcript {
  const transcript = new Transcript(SESSION);
  const spots: Spot[] = [];
  let now: Spot = { uuid: transcript.user(null, "begin"), path: [] };
  now.path = [now.uuid];
  const go = (uuid: string, said = true): void => {
    now = { uuid, path: said ? [...now.path, uuid] : now.path };
  };
  for (const [index, at] of steps.entries()) {
    switch (at.kind) {
      case "turn":
        writeTurn(transcript, index, at, () => now.uuid, go);
        spots.push(now);
        break;
      case "rewind":
        now = spots[at.to % Math.max(spots.length, 1)] ?? now;
        go(transcript.user(now.uuid, `again ${index}`));
        break;
      case "compaction": {
        // Turns are kept whole: here, one's own words at most, which are the last line before an answer.
        const kept = at.kept === 0 ? [] : lastPrompt(transcript, now.path);
        const summary = transcript.compaction(now.uuid, `summary ${index}`, kept);
        const below = kept.length > 0 && at.kept === 2 ? now.uuid : summary;
        if (kept.length > 0) spots.length = 0;
        now = { uuid: below, path: [] };
        go(transcript.user(now.uuid, `after summary ${index}`));
        spots.push(now);
        break;
      }
      case "sidechain": {
        let parent = transcript.user(null, `agent ${index}`, { isSidechain: true });
        for (let count = 0; count < at.length; count += 1)
          parent = transcript.assistant(parent, `s${index}.${count}`, text("agent"), { isSidechain: true });
        break;
      }
      default:
        writeBeside(
          transcript,
          at.what,
          index,
          () => now.uuid,
          (uuid) => go(uuid, false),
        );
    }
  }
  return transcript;
}

function writeTurn(
  transcript: Transcript,
  index: number,
  { lines, calls, shape }: { lines: number; calls: number; shape: number },
  now: () => string,
  go: (uuid: string) => void,
): void {
  const id = `msg_${index}`;
  if (shape !== 3) go(transcript.user(now(), shape === 1 ? [text(`ask ${index}`)] : `ask ${index}`));
  for (let count = 0; count <= lines; count += 1) go(transcript.assistant(now(), id, text(`answer ${index}.${count}`)));
  const callers: string[] = [];
  for (let count = 0; count < calls; count += 1) {
    go(transcript.assistant(now(), id, call(`c${index}.${count}`)));
    callers.push(now());
    // A result that comes before the next call.
    if (shape === 2) go(transcript.result(now(), `c${index}.${count}`, "out"));
  }
  if (shape !== 2) {
    const results = callers.map((caller, count) =>
      transcript.result(shape === 1 ? caller : now(), `c${index}.${count}`, "out"),
    );
    for (const result of results.slice(-1)) go(result);
  }
}

function writeBeside(
  transcript: Transcript,
  what: number,
  index: number,
  now: () => string,
  go: (uuid: string) => void,
): void {
  if (what === 0) go(transcript.entry("attachment", now(), { attachment: { type: "todo" } }));
  else if (what === 1) go(transcript.entry("progress", now(), { data: { type: "hook" } }));
  else if (what === 2) go(transcript.user(now(), "told by the program", { isMeta: true }));
  else if (what === 3)
    go(transcript.entry("system", now(), { subtype: "informational", content: "hi", level: "info" }));
  else if (what === 4) transcript.other({ type: "file-history-snapshot", messageId: now(), snapshot: { index } });
  else transcript.other({ type: "custom-title", customTitle: `title ${index}` });
}

// The last prompt of a path that has something above it, with all that follows it.
function lastPrompt({ lines }: Transcript, path: readonly string[]): string[] {
  const isPrompt = (uuid: string) => {
    const line = lines.find((each) => each.uuid === uuid);
    return isJsonObject(line?.message) && line.type === "user" && typeof line.message.content === "string";
  };
  const start = path.findLastIndex((uuid, index) => index > 0 && isPrompt(uuid));
  return start === -1 ? [] : path.slice(start);
}

async function shownBySdk(lines: readonly JsonObject[]): Promise<string[]> {
  const store = new InMemorySessionStore();
  await store.append({ projectKey: "-x", sessionId: SESSION }, lines as unknown as SessionStoreEntry[]);
  const shown = await getSessionMessages(SESSION, { sessionStore: store, dir: "/x" });
  return shown.map(({ uuid }) => uuid);
}

/** For each message that we show, the uuids of its lines. */
async function shownHere(lines: readonly JsonObject[]): Promise<string[][]> {
  const store = memory();
  try {
    for (const session of await sessionsOf(jsonl(lines), { stem: SESSION })) await importSession(store, session);
    const { messages } = await store.session(SESSION).path();
    return messages.map(linesOf);
  } finally {
    await store.close();
  }
}

function linesOf(message: SessionMessage): string[] {
  if (isSummaryMessage(message)) return [message.id.slice("compaction_".length)];
  const noted =
    isJsonObject(message.metadata) && isJsonObject(message.metadata.claudeCode) ? message.metadata.claudeCode : {};
  return noted.sources as string[];
}

describe("a transcript of Claude Code", () => {
  it("shows what its own SDK shows, whatever was rewound, compacted and told beside it", {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        const { lines } = write(steps);
        const theirs = await shownBySdk(lines);
        const ours = await shownHere(lines);
        // Within a message the SDK has calls first, and the results where their chain has them.
        const grouped = ours
          .map((uuids) => uuids.length)
          .map((length, index) => {
            const start = ours.slice(0, index).reduce((sum, before) => sum + before.length, 0);
            return theirs.slice(start, start + length).sort();
          });
        expect(ours.map((uuids) => [...uuids].sort())).toEqual(grouped);
        expect(ours.flat()).toHaveLength(theirs.length);
      }),
      { numRuns: Number(process.env.STEMMA_ORACLE ?? 200) },
    );
  });
});

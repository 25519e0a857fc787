import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsOf, play, type Step } from "../../../packages/conformance/src/messages/call-sequences.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { createProvider, delayed } from "../../providers/list-provider.js";
import { openDatabase } from "../../store/databases.js";

// Calls on one session take effect in the order in which they are made, awaited or not.

const steps = fc.array(fc.record({ call: fc.nat(999), object: fc.nat(1), a: fc.nat(96), b: fc.nat(88) }), {
  maxLength: 14,
}) satisfies fc.Arbitrary<Step[]>;

async function compare(kind: "provider" | "store", open: () => Session[], sequence: readonly Step[]): Promise<void> {
  const calls = callsOf(kind, true);
  const awaited = await play(open(), calls, sequence, true);
  expect(await play(open(), calls, sequence, false)).toEqual(awaited);
}

function onProvider(provider: ReturnType<typeof createProvider>, random: (() => number) | null): Session[] {
  const shared = random === null ? provider : delayed(provider, random);
  return [Session.create(shared), Session.create(shared)];
}

describe("random calls come to the same, whether each is awaited or none is", () => {
  it("on a provider that answers at once", async () => {
    const open = () => onProvider(createProvider(), null);
    await fc.assert(fc.asyncProperty(steps, (sequence) => compare("provider", open, sequence)));
  });

  it("on a provider that answers after random delays", async () => {
    const delays = fc.array(fc.nat(4), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(steps, delays, (sequence, pauses) => {
        const open = () => {
          let calls = 0;
          return onProvider(createProvider(), () => pauses[calls++ % pauses.length] as number);
        };
        return compare("provider", open, sequence);
      }),
      { numRuns: 60 },
    );
  });

  it("on two stores that share one SQLite database", async () => {
    await fc.assert(
      fc.asyncProperty(steps, (sequence) => {
        const open = () => {
          const database = openDatabase();
          return [sqlite(database), sqlite(database)].map((store) =>
            Session.create(store).withContext("memory").withContext("notes").withCachedPrompt(),
          );
        };
        return compare("store", open, sequence);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a provider that answers late", () => {
  it("keeps a message that is appended while a clear is not awaited", async () => {
    const [session] = onProvider(createProvider(), () => 5) as [Session];
    await session.appendMessage(say("old"));
    session.clearMessages();
    await session.appendMessage(say("new"));
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["new"]);
  });

  it("is called by its callers' turns: a compaction function may call the session", async () => {
    const provider = delayed(createProvider(), () => 1);
    const session: Session = Session.create(provider)
      .onCompaction(async (messages) => {
        await session.appendMessage(say("meanwhile"));
        expect((await session.getHistory()).length).toBeGreaterThan(messages.length);
        return { fromMessageId: "a", toMessageId: "b", summary: "s" };
      })
      .compactAfter(1, { tokenCounter: async () => (await session.getHistory()).length });
    await session.appendAll(["a", "b"].map(say));
    expect((await session.getHistory()).map(({ id }) => id).slice(-1)).toEqual(["meanwhile"]);
  });
});

const say = (id: string) => textMessage(id, `a long text of ${id} `.repeat(5));

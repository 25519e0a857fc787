import type { CompactResult } from "@stemma/model";
import { estimateTokens } from "@stemma/model";
import { Session } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";
import { allBut, long, observed } from "./compact-samples.js";

/** How long a session waits for compact functions, counters and providers. */
export const compactionTimeLimits = defineTopic("time limits of compactions", (it) => {
  it("counts a function that does not answer in time as failed, and drops its late answer", async (workspace) => {
    for (const automatic of [false, true]) {
      let answer = (_: CompactResult) => {};
      const late = new Promise<CompactResult>((resolve) => {
        answer = resolve;
      });
      const session: Session = workspace
        .sessionOf(automatic ? "after-a-write" : "called")
        .onCompaction(() => (failures.length === 0 ? late : Promise.resolve(null)), {
          timeout: automatic ? 60_000 : 20,
        });
      if (automatic) session.compactAfter(estimateTokens(long(3)), { timeout: 20 });
      const { failures, events } = observed(session);
      await session.appendAll(long(3));
      if (automatic) await session.appendMessage(message("x"));
      else expect(await session.compact()).toBe(null);
      expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_TIMEOUT"]);
      expect(events.length).toBe(1);
      answer({ fromMessageId: "m000000", toMessageId: "m000001", summary: "late" });
      await late;
      // Whatever the late answer did would have come before this.
      await session.appendMessage(message("y"));
      expect(await session.getCompactions()).toEqual([]);
    }
  });

  it("waits for no counter and no block longer than for a compact function, and after that not at all", async ({
    session,
  }) => {
    const failures: unknown[] = [];
    let silent = false;
    const get = () => (silent ? new Promise<string>(() => {}) : Promise.resolve("said"));
    session
      .withContext("own", { provider: { get } })
      .onCompaction(allBut(1), { timeout: 30 })
      .compactAfter(estimateTokens(long(3)) + 100)
      .onCompactionError((error) => {
        failures.push(error);
      });
    await session.freezeSystemPrompt();
    silent = true;
    await session.appendAll(long(6));
    expect((await session.getCompactions()).length).toBe(1);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_TIMEOUT"]);
  });

  it("waits for the provider of the prompt no longer than for a compact function", async ({ session }) => {
    const failures: unknown[] = [];
    session
      .withCachedPrompt({ get: () => new Promise<string>(() => {}), set: async () => {} })
      .onCompaction(allBut(1), { timeout: 30 })
      .onCompactionError((error) => {
        failures.push(error);
      });
    await session.appendAll(long(6));
    expect((await session.compact())?.summary.length).toBeAtLeast(1);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_TIMEOUT"]);
  });

  it("estimates where neither blocks nor the counter answer", async ({ store }) => {
    const failures: unknown[] = [];
    let asked = 0;
    const session = Session.create(store)
      .forSession("silent")
      .withContext("own", { provider: { get: () => new Promise<string>(() => {}) } })
      .onCompaction(allBut(1))
      .compactAfter(1e9, {
        timeout: 20,
        tokenCounter: () => {
          asked += 1;
          return new Promise<number>(() => {});
        },
      })
      .onCompactionError((error) => {
        failures.push(error);
      });
    for (const each of long(3)) await session.appendMessage(each);
    expect(asked).toBe(1);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual([
      "COMPACTION_TIMEOUT",
      "COMPACTION_TIMEOUT",
    ]);
    expect(await session.getPathLength()).toBe(3);
  });

  it("refuses a timeout that is no number of milliseconds above 0", async ({ session }) => {
    for (const timeout of [0, -1, Number.NaN, "1000" as unknown as number]) {
      for (const configure of [
        () => session.onCompaction(allBut(1), { timeout }),
        () => session.compactAfter(1000, { timeout }),
      ]) {
        await expectError((async () => configure())(), "INVALID_ARGUMENT");
      }
    }
  });
});

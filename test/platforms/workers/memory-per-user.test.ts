import { expect, it } from "vitest";
import { ALL } from "../../describe-store.js";
import { textMessage } from "../../helpers/messages.js";
import { Costs } from "../../workers/memory-per-user/costs.js";
import { askAll, memories, requestsOf, tokenOf } from "../../workers/memory-per-user/memories.js";
import type { Answer, Asked } from "../../workers/memory-per-user/worker.js";
import { describeWorkerd } from "../../workers/workerd.js";

const OBJECTS = ALL ? 1_000 : 300;
/** Users who ask at once. */
const TOGETHER = 50;
const DAY = 24 * 60 * 60 * 1000;

describeWorkerd("examples/memory-per-user in workerd", memories, (workerd) => {
  const ask = async (asked: Asked) => (await askAll(workerd, [[asked]]))[0]?.[0] as Answer;
  const inside = (userId: string) => workerd.object("Memory", userId);
  const evict = (userId: string) => expect(inside(userId).evict()).rejects.toThrow();

  it(`serves ${OBJECTS} users, each from an object of their own, before and after they sleep`, async () => {
    const costs = new Costs();
    /** Each user makes these calls; `look` sees the answers. */
    const everyone = async (calls: (n: number) => Record<string, Asked>, look?: (n: number, got: Answer[]) => void) => {
      for (let first = 0; first < OBJECTS; first += TOGETHER) {
        const users = Array.from({ length: TOGETHER }, (_, index) => calls(first + index));
        const answers = await askAll(workerd, users.map(Object.values));
        for (const [index, got] of answers.entries()) {
          for (const [call, name] of Object.keys(users[index] ?? {}).entries()) costs.add(name, got[call] as Answer);
          look?.(first + index, got);
        }
      }
    };
    const said = (n: number) => [
      textMessage("a", `My parcel is number${n}.`),
      textMessage("b", "It rains."),
      textMessage("c", `The parcel of user-${n} is late.`),
    ];
    await everyone((n) => ({
      "a new user's first append": requestsOf(`user-${n}`).append("one", said(n)[0]),
      "an append": requestsOf(`user-${n}`).append("one", said(n)[1]),
    }));
    // The process ends, and with it all objects.
    await workerd.stop();
    await everyone(
      (n) => {
        const user = requestsOf(`user-${n}`);
        return {
          "an append that wakes the object": user.append("one", said(n)[2]),
          "the newest messages": user.history("one"),
          "a search": user.search("parcels"),
          "a search for what another user said": user.search(`number${(n + 1) % OBJECTS}`),
        };
      },
      (n, [, newest, found, others]) => {
        expect(newest?.body.data).toEqual(said(n));
        expect(found?.body.data.map(({ id }: { id: string }) => id).sort()).toEqual(["a", "c"]);
        expect(others?.body.data).toEqual([]);
      },
    );
    console.log(costs.report());
    costs.expectAtMost({
      "a new user's first append": [590, 95],
      // The first append in a second dates the session: its row, and those of two indexes. Whose the session is, is read, too.
      "an append": [10, 7],
      "an append that wakes the object": [12, 7],
      "the newest messages": [13, 0],
      // With the lengths of what matches.
      "a search": [20, 0],
      "a search for what another user said": [5, 0],
    });
  }, 240_000);

  it("reads and writes no more rows when the history is longer", async () => {
    for (const messages of [100, 1_000, 10_000]) {
      const userId = `history of ${messages}`;
      for (let n = 0; n < 10; n += 1) await inside(userId).fill(userId, `session-${n}`, messages / 10);
      await evict(userId);
      const user = requestsOf(userId);
      const costs = new Costs();
      costs.add("an append that wakes the object", await ask(user.append("session-5", textMessage("x"))));
      costs.add("an append", await ask(user.append("session-5", textMessage("y"))));
      costs.add("a list of sessions", await ask(user.sessions()));
      costs.add("a search for a rare word", await ask(user.search(`number${messages / 10 - 5}`)));
      costs.add("a search for a word of all messages", await ask(user.search("deployment")));
      console.log(`${messages} messages:\n${costs.report()}`);
      costs.expectAtMost({
        "an append that wakes the object": [12, 7],
        "an append": [10, 7],
        "a list of sessions": [25, 0],
        "a search for a rare word": [90, 0],
        "a search for a word of all messages": [1_000, 0],
      });
    }
  });

  it("prunes and checks when the alarm rings, and tells of it", async () => {
    const user = requestsOf("upkeep");
    const own = inside("upkeep");
    const upkeep = async () => (await ask(user.upkeep())).body;
    /** Has the alarm ring, and gives what it told. */
    const ring = async () => {
      const before = await upkeep();
      await own.ring();
      await expect.poll(async () => (await upkeep())?.at).not.toBe(before?.at);
      return upkeep();
    };
    for (const session of ["old", "new"])
      await ask(user.append(session, textMessage("a", `Said in the ${session} one.`)));
    expect(await upkeep()).toBe(null);
    expect(await own.alarm()).toBeGreaterThan(6 * DAY);
    await own.sql(
      "UPDATE assistant_sessions SET updated_at = '2020-01-01T00:00:00.000Z', appended_until = NULL WHERE id = 'old'",
    );
    await evict("upkeep");
    expect(await ring()).toMatchObject({ ok: true, deleted: { sessions: 1, messages: 1 }, problems: [] });
    expect((await ask(user.sessions())).body.data).toMatchObject([{ id: "new" }]);
    expect((await ask(user.search("said"))).body.data).toMatchObject([{ sessionId: "new" }]);
    expect(await own.alarm()).toBeGreaterThan(6 * DAY);

    await own.sql("UPDATE assistant_messages SET role = 'assistant'");
    expect(await ring()).toMatchObject({ ok: false, deleted: {}, problems: [{ rule: "fields", id: "a" }] });
    await workerd.stop();
    expect(await upkeep()).toMatchObject({ ok: false, problems: [{ rule: "fields" }] });

    await own.sql("UPDATE assistant_sessions SET updated_at = '2020-01-01T00:00:00.000Z', appended_until = NULL");
    expect(await ring()).toMatchObject({ ok: true, deleted: { sessions: 1 } });
    // Nothing is left to look after, until something is said again.
    expect(await own.alarm()).toBe(null);
    await ask(user.append("new", textMessage("b")));
    expect(await own.alarm()).toBeGreaterThan(6 * DAY);
  });

  it("answers nobody but the user of the token", async () => {
    await ask(requestsOf("ada").append("tea", textMessage("a", "Green tea.")));
    const [head, , signature] = tokenOf("ada").split(".");
    const other = tokenOf("bob").split(".")[1];
    const unsigned = `${btoa('{"alg":"none"}').replaceAll("=", "")}.${other}.`;
    for (const token of [
      ...["", "ada", unsigned, `${head}.${other}.${signature}`, `${tokenOf("bob")}00`],
      tokenOf("ada", {}, "another secret, as long as the other one"),
      tokenOf("ada", { exp: Math.floor(Date.now() / 1_000) - 60 }),
      tokenOf("ada", { aud: "https://other.example.com" }),
      tokenOf("ada", { iss: "https://other.example.com" }),
    ]) {
      expect([token, await ask(requestsOf("ada", token).history("tea"))]).toMatchObject([
        token,
        { status: 401, body: { code: "NOT_ALLOWED" }, read: 0 },
      ]);
    }
    const bob = requestsOf("bob");
    expect((await ask(bob.history("tea"))).body.code).toBe("SESSION_NOT_FOUND");
    expect((await ask(bob.search("tea"))).body.data).toEqual([]);
    expect((await ask(bob.sessions())).body.data).toEqual([]);
    expect((await ask(bob.get("/v1/memory/user%3Aada/blocks"))).body.code).toBe("FORBIDDEN");
    expect((await ask(requestsOf("ada").history("tea"))).body.data).toHaveLength(1);
  });

  it("refuses what is no message, and an address that is none", async () => {
    const user = requestsOf("careless");
    expect(await ask(user.append("one", { id: "a" }))).toMatchObject({
      status: 400,
      body: { code: "INVALID_MESSAGE" },
    });
    expect(await ask(user.get("/elsewhere"))).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
  });
});

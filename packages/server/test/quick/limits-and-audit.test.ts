import { memory } from "@stemma/store/memory";
import { afterEach, describe, expect, it, vi } from "vitest";
import { AuditLog, type GuardedCall, guard, type Principal, RateLimits } from "../../src/index.js";

const ADA: Principal = { id: "key", access: "memory", userId: "ada" };
const say = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: "canary" }] });

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

describe("RateLimits", () => {
  afterEach(() => void vi.useRealTimers());

  const countTimes = (limits: RateLimits, times: number, id = "a") => {
    let allowed = 0;
    for (let turn = 0; turn < times; turn += 1) {
      try {
        limits.count({ id });
        allowed += 1;
      } catch {}
    }
    return allowed;
  };

  it("allows as many at once as in a minute, then as they fill up, for each principal", () => {
    vi.useFakeTimers({ now: 1_000_000, toFake: ["Date"] });
    const limits = new RateLimits({ perMinute: 6 });
    expect(countTimes(limits, 10)).toBe(6);
    expect(countTimes(limits, 10, "b")).toBe(6);
    vi.setSystemTime(1_020_000);
    expect(countTimes(limits, 10)).toBe(2);
    vi.setSystemTime(9_000_000);
    expect(countTimes(limits, 10)).toBe(6);
  });

  it("says when the next is allowed, and counts none that it refused", () => {
    vi.useFakeTimers({ now: 1_000_000, toFake: ["Date"] });
    const limits = new RateLimits({ perMinute: 1 });
    limits.count(ADA);
    for (let turn = 0; turn < 5; turn += 1) {
      expect(() => limits.count(ADA)).toThrow(
        expect.objectContaining({ code: "RATE_LIMITED", details: { retryAfter: 60 } }),
      );
    }
    vi.setSystemTime(1_060_000);
    expect(countTimes(limits, 5, ADA.id)).toBe(1);
  });

  it("holds a day's number beside that of a minute, and a clock that goes back gives nothing", () => {
    vi.useFakeTimers({ now: 100_000_000, toFake: ["Date"] });
    const limits = new RateLimits({ perMinute: 3, perDay: 4 });
    expect(countTimes(limits, 5)).toBe(3);
    vi.setSystemTime(100_060_000);
    expect(countTimes(limits, 5)).toBe(1);
    vi.setSystemTime(90_000_000);
    expect(countTimes(limits, 5)).toBe(0);
  });

  it.each([[{ perMinute: 0 }], [{ perDay: 1.5 }], [{ perHour: 1 }]])("refuses %j", (wrong) => {
    expect(() => new RateLimits(wrong as never)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("AuditLog", () => {
  it("has what wrote and what was refused, and no text", async () => {
    const store = memory();
    await store
      .forUser("bob")
      .session("bobs")
      .append([say("m1")]);
    const audit = new AuditLog(store);
    const guarded = guard(store, ADA, { onCall: audit.note });
    await guarded.session("mine").append([say("m1")]);
    await guarded.session("mine").path();
    await guarded
      .session("bobs")
      .path()
      .catch(() => {});
    await all(guarded.session("bobs").stream()).catch(() => {});
    await guarded.sessions.claim("bob", "ada").catch(() => {});
    await guarded.blocks.set({ sessionId: "", kind: "block", label: "canary-label", scope: "user" }, "canary");
    await guarded.search("canary", { limit: 1 });
    await audit.flush();
    const entries = await all(audit.entries());
    expect(entries.map(({ call, sessions, code }) => [call, sessions, code]).reverse()).toEqual([
      ["session.append", ["mine"], null],
      ["session.path", ["bobs"], "SESSION_NOT_FOUND"],
      ["session.stream", ["bobs"], "SESSION_NOT_FOUND"],
      ["sessions.claim", [], "FORBIDDEN"],
      ["blocks.set", [], null],
    ]);
    expect(JSON.stringify(entries)).not.toContain("canary");
  });

  it("stores once in a second, and tells of what cannot be stored", async () => {
    const store = memory();
    const writeTogether = vi.fn(async () => {
      throw new Error("full");
    });
    const onError = vi.fn();
    const audit = new AuditLog({ ...store, writeTogether }, { onError });
    const call: GuardedCall = { at: "", principal: "", call: "", mode: "write", sessions: [], code: null };
    for (let turn = 0; turn < 10; turn += 1) audit.note(call);
    await vi.waitFor(() => expect(onError).toHaveBeenCalled(), 5_000);
    expect(writeTogether).toHaveBeenCalledTimes(1);
  });

  it("may fail where it hears of a call, and the call is done", async () => {
    const onCall = () => {
      throw new Error("no room");
    };
    const guarded = guard(memory(), ADA, { onCall });
    await guarded.session("a").append([say("m1")]);
    expect(await guarded.session("a").length()).toBe(1);
  });
});

// One topic of the suite: its cases, one after the other.
import { expect, expectError } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

const SCOPE = { sessionId: "main", label: "runs" };

const bytes = (...values: number[]) => Uint8Array.from(values);

/** Bytes by scope and key. */
export const records = defineTopic("records", (it) => {
  it("gives back the bytes that were written, whatever they are", async ({ store }) => {
    const all = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
    for (const value of [bytes(), bytes(0), all, all.subarray(3, 70)]) {
      const written = await store.records.set(SCOPE, "k", value);
      expect(await store.records.get(SCOPE, "k")).toEqual(written);
      expect(written).toEqual({ key: "k", value: Uint8Array.from(value), version: written.version, expiresAt: null });
    }
  });

  it("gives null for what is not there, in another scope too", async ({ store }) => {
    await store.records.set(SCOPE, "k", bytes(1));
    expect(await store.records.get(SCOPE, "other")).toBe(null);
    expect(await store.records.get({ ...SCOPE, label: "leases" }, "k")).toBe(null);
    expect(await store.records.get({ ...SCOPE, sessionId: "" }, "k")).toBe(null);
    expect(await store.records.delete(SCOPE, "other")).toBe(false);
  });

  it("writes over a version only where it is the present one", async ({ store }) => {
    const { records } = store;
    const first = await records.set(SCOPE, "lease", bytes(1), { expectedVersion: 0 });
    await expectError(records.set(SCOPE, "lease", bytes(2), { expectedVersion: 0 }), "RECORD_CONFLICT");
    const second = await records.set(SCOPE, "lease", bytes(2), { expectedVersion: first.version });
    expect(second.version === first.version).toBe(false);
    await expectError(records.set(SCOPE, "lease", bytes(3), { expectedVersion: first.version }), "RECORD_CONFLICT");
    await expectError(records.delete(SCOPE, "lease", { expectedVersion: first.version }), "RECORD_CONFLICT");
    expect(await records.delete(SCOPE, "lease", { expectedVersion: second.version })).toBe(true);
    // No version comes again, so nobody takes the new record for the old one.
    const third = await records.set(SCOPE, "lease", bytes(4), { expectedVersion: 0 });
    expect([first.version, second.version].includes(third.version)).toBe(false);
  });

  it("lets one of many writers win a version", async ({ store }) => {
    const { records } = store;
    const { version } = await records.set(SCOPE, "lease", bytes(0));
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => records.set(SCOPE, "lease", bytes(index), { expectedVersion: version })),
    );
    expect(results.filter(({ status }) => status === "fulfilled").length).toBe(1);
  });

  it("has a record no longer once its time has come", async ({ store }) => {
    const { records } = store;
    const soon = Date.now() + 40;
    const lease = await records.set(SCOPE, "lease", bytes(1), { expiresAt: soon });
    await records.set(SCOPE, "stays", bytes(2), { expiresAt: Date.now() + 3_600_000 });
    expect(lease.expiresAt).toBe(soon);
    while (Date.now() <= soon) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await records.get(SCOPE, "lease")).toBe(null);
    expect((await records.list(SCOPE)).map(({ key }) => key)).toEqual(["stays"]);
    expect(await records.delete(SCOPE, "lease")).toBe(false);
    await records.set(SCOPE, "lease", bytes(3), { expectedVersion: 0, expiresAt: Date.now() + 3_600_000 });
    expect((await records.get(SCOPE, "lease"))?.value).toEqual(bytes(3));
  });

  it("lets the records with a prefix expire, and no others", async ({ store }) => {
    const { records } = store;
    if (records.expire === undefined) return;
    for (const key of ["a/1", "a/2", "a0", "b"]) await records.set(SCOPE, key, bytes(1));
    const other = { ...SCOPE, label: "other" };
    await records.set(other, "a/1", bytes(1));
    await records.expire(SCOPE, "a/", 3_600_000);
    const found = await records.list(SCOPE);
    expect(found.map(({ key, expiresAt }) => [key, expiresAt !== null])).toEqual([
      ["a/1", true],
      ["a/2", true],
      ["a0", false],
      ["b", false],
    ]);
    await records.expire(SCOPE, "a/", 0);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect((await records.list(SCOPE)).map(({ key }) => key)).toEqual(["a0", "b"]);
    expect((await records.get(other, "a/1"))?.expiresAt).toBe(null);
  });

  it("tells a time by which its records expire, where it has a clock of its own", async ({ store }) => {
    const { records } = store;
    if (records.now === undefined) return;
    const now = await records.now();
    expect(Number.isInteger(now)).toBe(true);
    await records.set(SCOPE, "over", bytes(1), { expiresAt: now });
    await records.set(SCOPE, "stays", bytes(1), { expiresAt: now + 3_600_000 });
    expect((await records.list(SCOPE)).map(({ key }) => key)).toEqual(["stays"]);
    expect((await records.now()) >= now).toBe(true);
  });

  it("lists keys by their bytes, in both directions, by prefix and page by page", async ({ store }) => {
    const keys = ["B", "a", "a/1", "a/10", "a/2", "a0", "ä", "Z", "\ud7ff", "𝒳", "a/"];
    for (const key of keys) await store.records.set(SCOPE, key, bytes(1));
    const utf8 = new TextEncoder();
    const sorted = [...keys].sort((a, b) => compareBytes(utf8.encode(a), utf8.encode(b)));
    const list = async (options?: Parameters<typeof store.records.list>[1]) =>
      (await store.records.list(SCOPE, options)).map(({ key }) => key);
    expect(await list()).toEqual(sorted);
    expect(await list({ prefix: "a/" })).toEqual(["a/", "a/1", "a/10", "a/2"]);
    expect(await list({ prefix: "\ud7ff" })).toEqual(["\ud7ff"]);
    expect(await list({ prefix: "a/", after: "a/1", limit: 1 })).toEqual(["a/10"]);
    expect(await list({ prefix: "a/", after: "a/2", limit: 2, descending: true })).toEqual(["a/10", "a/1"]);
    for (const descending of [false, true]) {
      const pages: string[] = [];
      for (let after: string | undefined; ; after = pages.at(-1)) {
        const page = await list({ after, limit: 4, descending });
        if (page.length === 0) break;
        pages.push(...page);
      }
      expect(pages).toEqual(descending ? [...sorted].reverse() : sorted);
    }
  });

  it("deletes a session's records with the session, and no others", async ({ store, session, manager }) => {
    await session.appendMessage(message("a"));
    const other = { sessionId: "other", label: "runs" };
    for (const scope of [SCOPE, other]) await store.records.set(scope, "k", bytes(1));
    await manager.delete("main");
    expect(await store.records.get(SCOPE, "k")).toBe(null);
    expect((await store.records.get(other, "k"))?.value).toEqual(bytes(1));
  });
});

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const index = a.findIndex((byte, at) => byte !== b[at]);
  return index < 0 ? a.length - b.length : (a[index] as number) - (b[index] ?? -1);
}

// One topic of the suite: its cases, one after the other.
import type { SessionMessage } from "@stemma/model";
import { expect, expectError } from "../assert.js";
import { collect, historyIds, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const MEGABYTE = 1024 * 1024;

/** Values that come back as they were written. */
export const fidelity = defineTopic("fidelity", (it) => {
  it("gives a message back as it was given, with every field that JSON keeps", async (workspace) => {
    await roundTrip(workspace, {
      id: "a",
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "thinking", state: "done", providerMetadata: { anthropic: { signature: "s" } } },
        { type: "text", text: "line 1\nline 2\ttab \\ \" ' é 漢字 🎉" },
        {
          type: "tool-weather",
          toolCallId: "1",
          state: "output-available",
          input: { city: "Rome" },
          output: [1, null],
        },
        { type: "data-chart", id: "c", data: { points: [0.1, -2e30, true, null, [], {}] } },
      ],
      metadata: { nested: { list: [[[]]], empty: "", zero: 0, no: false, nothing: null } },
      custom: { anything: ["else"] },
    });
  });

  it("drops undefined fields as JSON does, and adds nothing", async ({ session }) => {
    await session.appendMessage({ ...message("a"), createdAt: undefined, metadata: undefined, extra: undefined });
    expect(await session.getMessage("a")).toEqual(message("a"));
  });

  it("stores what a message of a class of the host's says of itself", async ({ session }) => {
    const own = { secret: 1, toJSON: () => message("a") };
    const { inserted, message: stored } = await session.appendMessage(own);
    expect([inserted, stored]).toEqual([true, message("a")]);
    expect((await session.appendMessage(own)).message).toEqual(message("a"));
    await session.upsertMessage({ toJSON: () => message("a", "new") });
    expect(await session.getHistory()).toEqual([message("a", "new")]);
    await expectError(session.appendMessage({ ...message("b"), toJSON: () => ({ id: "b" }) }), "INVALID_MESSAGE");
  });

  it("stores what it checked: a message is read once", async ({ session }) => {
    let reads = 0;
    const counting = {
      get id() {
        reads += 1;
        return `read ${reads}`;
      },
      role: "user",
      parts: [{ type: "text", text: "once" }],
    };
    expect((await session.appendMessage(counting)).message.id).toBe("read 1");
    const toJSON = () => {
      reads += 1;
      return { reads };
    };
    await session.appendAll([{ ...message("b"), metadata: { toJSON } }]);
    await session.updateMessage({ ...message("b", "new"), metadata: { toJSON } });
    expect(await session.getHistory()).toEqual([
      { id: "read 1", role: "user", parts: [{ type: "text", text: "once" }] },
      { ...message("b", "new"), metadata: { reads: 3 } },
    ]);
  });

  it("gives back a message that may be changed, and given again", async ({ session }) => {
    const first = (await session.appendMessage(message("a"))).message;
    first.parts[0] = { type: "text", text: "changed" };
    expect(await session.getHistory()).toEqual([message("a")]);
    await session.appendMessage({ ...first, id: "b" });
    const compaction = await session.addCompaction("a summary", "a", "a");
    const [summary] = await session.getHistory();
    const { inserted, message: given } = await session.appendMessage(summary);
    expect([inserted, given.id]).toEqual([false, `compaction_${compaction.id}`]);
    given.id = "c";
    await session.appendMessage(given);
    expect((await session.getHistory()).slice(1)).toEqual([
      { ...first, id: "b" },
      { ...summary, id: "c" },
    ]);
  });

  it("refuses a message that JSON makes something else of, or cannot write, and keeps the session readable", async ({
    session,
  }) => {
    await session.appendMessage(message("a"));
    class Computed {
      get id() {
        return "b";
      }
      get role() {
        return "user";
      }
      get parts() {
        return [];
      }
    }
    const throwing = {
      ...message("c"),
      get metadata(): unknown {
        throw new TypeError("no");
      },
    };
    const partly = { ...message("d"), parts: [Object.create({ type: "text", text: "x" })] };
    const circular: Record<string, unknown> = { ...message("e") };
    circular.metadata = circular;
    let deep: unknown = 1;
    for (let level = 0; level < 2000; level += 1) deep = [deep];
    const refused = [
      Object.create(message("b")),
      new Computed(),
      partly,
      { ...message("f"), parts: [undefined] },
      { ...message("g"), parts: { toJSON: () => "none" } },
      { ...message("h"), toJSON: () => null },
      { ...message("i"), metadata: deep },
    ];
    const failing = [
      throwing,
      circular,
      { ...message("j"), metadata: 1n },
      { ...message("k"), toJSON: fail },
      { ...message("l"), metadata: { toJSON: fail } },
    ];
    for (const given of [...refused, ...failing]) {
      const calls = [
        () => session.appendMessage(given),
        () => session.appendAll([message("z"), given]),
        () => session.upsertMessage(given),
        () => session.updateMessage(given),
      ];
      for (const call of calls) {
        const error = await expectError(call, "INVALID_MESSAGE");
        if (failing.includes(given)) expect(error.cause instanceof Error).toBe(true);
      }
    }
    expect(await session.getHistory()).toEqual([message("a")]);
  });

  it("takes 5 MB of text without a space, of whatever script, and finds what stands behind it", async (workspace) => {
    const { session, store } = workspace;
    for (const unit of ["abcdefghij", "漢字"]) {
      const bytes = new TextEncoder().encode(unit).length;
      const text = `${unit.repeat(Math.ceil((5 * MEGABYTE) / bytes))} needle`;
      await session.appendMessage(message("large", text));
      expect((await session.getMessage("large"))?.parts[0]?.text === text).toBe(true);
      if (store.capabilities.search) expect((await session.search("needle")).map(({ id }) => id)).toEqual(["large"]);
      await session.deleteMessages(["large"]);
    }
  });

  it("accepts empty parts", async (workspace) => {
    await roundTrip(workspace, { id: "a", role: "system", parts: [] });
  });

  it("gives createdAt back as a Date where one was given, and as a text or a number where that was", async (workspace) => {
    const time = "2024-02-29T12:34:56.789Z";
    await roundTrip(workspace, { ...message("date"), createdAt: new Date(time) });
    await roundTrip(workspace, { ...message("text"), createdAt: time });
    await roundTrip(workspace, { ...message("free"), createdAt: "yesterday" });
    await roundTrip(workspace, { ...message("number"), createdAt: 1_709_210_096_789 });
    const date = (await workspace.session.getMessage("date"))?.createdAt;
    expect(date instanceof Date).toBe(true);
  });

  it("keeps fields whose names mean something to a store or to JavaScript", async (workspace) => {
    const odd = JSON.parse('{"__proto__": {"a": 1}, "constructor": "c", "toString": "t", "$stemma": {"date": true}}');
    await roundTrip(workspace, { ...message("parts"), parts: [{ type: "data-odd", data: odd }] });
    await roundTrip(workspace, { ...message("metadata"), metadata: odd });
    await roundTrip(workspace, { ...message("own"), $stemma: { split: "x", media: [] } });
    await roundTrip(workspace, { ...message("null"), $stemma: null });
    await roundTrip(workspace, { ...message("dated"), $stemma: "text", createdAt: new Date(0) });
    const path = ["__proto__", "polluted"];
    await roundTrip(workspace, { ...message("path"), $stemma: { media: [{ path, hash: "x" }], own: 1 } });
    const data = `data:image/png;base64,${"QUJD".repeat(1000)}`;
    const file = { type: "file", mediaType: "image/png", url: data };
    await roundTrip(workspace, { ...message("media"), parts: [file], $stemma: { split: "row:1" } });
    expect("polluted" in {}).toBe(false);
  });

  it("round-trips NUL and halves of surrogate pairs in a message, or refuses them with a typed error", async (workspace) => {
    for (const [index, text] of ["a\0b", "\0", "\ud83d", "x\udc00y", "\ud83d\ude00 ok", "\uffff\u{10ffff}"].entries()) {
      await roundTripOrRefuse(workspace, message(`text ${index}`, text));
      await roundTripOrRefuse(workspace, { ...message(`metadata ${index}`), metadata: { [text]: text, name: text } });
    }
  });

  it("refuses NUL and halves of surrogate pairs in ids and roles, or round-trips them", async (workspace) => {
    for (const text of ["a\0b", "\ud83d"]) {
      await roundTripOrRefuse(workspace, message(text, "text"));
      await roundTripOrRefuse(workspace, message(`role of ${text.length}`, "text", text));
    }
  });

  it("takes ids of any script, spacing and punctuation, and tells them apart", async ({ session }) => {
    const ids = [
      "1",
      "01",
      "1.0",
      " 1",
      "a",
      "A",
      "ä",
      "a\u0308",
      "漢",
      "🎉",
      "'; DROP TABLE x; --",
      "%",
      "_",
      '"',
      "\\",
    ];
    ids.push("a\nb", "null", "undefined", "true", "-0", "x".repeat(1000));
    await session.appendAll(ids.map((id) => message(id, `only ${id}`)));
    expect(await historyIds(session)).toEqual(ids);
    for (const id of ids) expect(await session.getMessage(id)).toEqual(message(id, `only ${id}`));
  });

  it("takes session ids of any script, spacing and punctuation, and tells them apart", async ({ manager }) => {
    const ids = ["", "a", "A", "a_b", "a b", "漢", "🎉", "'; --", "%", "x".repeat(500), "1", "1.0"];
    for (const id of ids) await manager.append(id, message("m", `in "${id}"`));
    for (const id of ids) expect(await manager.getHistory(id)).toEqual([message("m", `in "${id}"`)]);
    expect((await manager.list()).length).toBe(ids.length);
  });

  it("keeps a message of 5 MB whole, read each way", async (workspace) => {
    const { session } = workspace;
    const text = "0123456789abcde漢🎉".repeat(Math.ceil((5 * MEGABYTE) / 22));
    const large = { ...message("large", text), createdAt: new Date(0) };
    await session.appendMessage(message("before"));
    await roundTrip(workspace, large);
    await session.appendMessage(message("after"));
    expect((await session.getHistory())[1]).toEqual(large);
    expect((await collect(session.history({ newestFirst: true })))[1]).toEqual(large);
    await session.updateMessage({ ...large, metadata: { edited: true } });
    expect(await session.getMessage("large")).toEqual({ ...large, metadata: { edited: true } });
    await session.deleteMessages(["large"]);
    expect(await historyIds(session)).toEqual(["before", "after"]);
  });

  it("keeps a surrogate pair whole wherever a large text is cut", async (workspace) => {
    for (const shift of [0, 1]) {
      await roundTrip(workspace, message(`pairs ${shift}`, `${"x".repeat(shift)}${"🎉".repeat(MEGABYTE / 2)}`));
    }
  });

  it("reads inline media back byte for byte", async (workspace) => {
    const { session } = workspace;
    const shown = imageMessage("a", 1);
    await roundTrip(workspace, shown);
    await roundTrip(workspace, { ...shown, id: "same content" });
    await roundTrip(workspace, imageMessage("another", 2));
    await roundTrip(workspace, {
      id: "tool",
      role: "assistant",
      parts: [
        {
          type: "tool-screenshot",
          toolCallId: "1",
          state: "output-available",
          input: {},
          output: { type: "content", value: [{ type: "media", mediaType: "image/png", data: base64(100_000, 1) }] },
        },
      ],
    });
    expect((await session.getHistory())[0]).toEqual(shown);
  });

  it("keeps media that another message still shows, and forgets what nobody shows", async ({ session }) => {
    const [first, second] = [imageMessage("a", 1), imageMessage("b", 1)];
    await session.appendAll([first, second]);
    await session.deleteMessages(["a"]);
    expect(await session.getMessage("b")).toEqual(second);
    await session.updateMessage(message("b", "no image any more"));
    await session.appendMessage(first);
    expect(await session.getHistory()).toEqual([message("b", "no image any more"), first]);
    await session.deleteMessages(["a", "b"]);
    await session.appendMessage(second);
    expect(await session.getHistory()).toEqual([second]);
  });

  it("does not take text that only looks like media for media", async (workspace) => {
    await roundTrip(workspace, message("url", `data:text/plain,${"not ascii: é ".repeat(400)}`));
    await roundTrip(workspace, message("prose", `data: ${"words and words ".repeat(400)}`));
    await roundTrip(workspace, {
      ...message("data"),
      parts: [{ type: "file", mediaType: "text/plain", data: "words, not base64! ".repeat(300) }],
    });
  });

  it("reports a stored message that cannot be read, with its id", ["corrupt"], async ({ session, corrupt }) => {
    await session.appendAll([message("a"), message("b"), message("c")]);
    await corrupt("b");
    for (const read of [
      () => session.getHistory(),
      () => session.getMessage("b"),
      () => session.getBranches("a"),
      () => session.getSiblings("b"),
      () => session.getParent("c"),
      () => collect(session.history()),
      () => collect(session.history({ newestFirst: true })),
      () => session.getRecentHistory(1_000_000),
    ]) {
      const error = await expectError(read, "CORRUPT_MESSAGE");
      expect(error.details.messageId).toBe("b");
    }
  });

  it("skips and lists unreadable messages where the reader asks for it", ["corrupt"], async ({ session, corrupt }) => {
    await session.appendAll([message("a"), message("b"), message("c")]);
    await corrupt("b");
    const history = await session.getHistory(undefined, { onCorrupt: "skip" });
    expect(history).toEqual([message("a"), message("c")]);
    expect(history.corrupt).toEqual(["b"]);
    expect(await collect(session.history({ onCorrupt: "skip" }))).toEqual([message("a"), message("c")]);
    await session.deleteMessages(["c"]);
    expect((await session.getHistory(undefined, { onCorrupt: "skip" })).corrupt).toEqual(["b"]);
  });

  it("goes on working around an unreadable message, and mends it with an update", ["corrupt"], async (workspace) => {
    const { session, manager, corrupt } = workspace;
    await session.appendAll([message("a"), message("b"), message("c")]);
    await corrupt("b");
    await session.appendMessage(message("d"));
    expect(await session.getPathLength()).toBe(4);
    expect((await session.getTree()).map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
    const fork = await manager.fork("main", "d", "fork");
    expect(await manager.getSession(fork.id).getPathLength()).toBe(4);
    await session.updateMessage(message("b", "mended"));
    expect((await session.getHistory()).length).toBe(4);
    await corrupt("b");
    await session.deleteMessages(["b"]);
    expect(await historyIds(session)).toEqual(["a", "c", "d"]);
  });
});

/** A message with an inline image of 100 kB. */
export function imageMessage(id: string, seed: number): SessionMessage {
  const url = `data:image/png;base64,${base64(100_000, seed)}`;
  return {
    id,
    role: "user",
    parts: [
      { type: "text", text: "see" },
      { type: "file", mediaType: "image/png", url },
    ],
  };
}

function base64(length: number, seed: number): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  let text = "";
  let state = seed;
  while (text.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += alphabet[state >> 25];
  }
  return text;
}

async function roundTrip<M extends { id: string }>({ session, store }: Workspace, given: M): Promise<void> {
  const before = JSON.stringify(given);
  await session.appendMessage(given);
  expect(JSON.stringify(given)).toBe(before);
  expect(await session.getMessage(given.id)).toEqual(given);
  expect((await session.getLatestLeaf())?.id).toBe(given.id);
  expect((await store.session("main").path({ leafId: given.id })).messages.at(-1)).toEqual(given);
}

// Either is allowed; a store must not do a third thing, such as to cut a text short.
async function roundTripOrRefuse(workspace: Workspace, given: SessionMessage): Promise<void> {
  const codes = ["INVALID_TEXT", "INVALID_MESSAGE"];
  try {
    await roundTrip(workspace, given);
  } catch (error) {
    if (!codes.includes(String((error as { code?: unknown }).code))) throw error;
    expect(await workspace.session.getMessage(given.id)).toBe(null);
  }
}

function fail(): never {
  throw new Error("no");
}

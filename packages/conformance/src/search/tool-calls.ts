import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import type { Session } from "@stemma/session";
import { expect } from "../assert.js";
import { idsOf, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import { MAIN } from "../workspace.js";

const NEEDS = ["search", "openWithTools"] as const;

const call = (input: unknown, output?: unknown): SessionMessagePart =>
  ({ type: "tool-run", toolCallId: "c", state: "output-available", input, output }) as SessionMessagePart;

const calling = (id: string, ...parts: SessionMessagePart[]): SessionMessage => ({ id, role: "assistant", parts });

const find = async (session: Session, query: string) => idsOf(await session.search(query)).sort();

const NUMBERS = Array.from({ length: 2_000 }, (_, index) => index);

/** Search of the inputs and outputs of tool calls. */
export const toolCalls = defineTopic("tool calls searched", (it) => {
  it("finds inputs, outputs and errors by their texts, numbers and names of fields", NEEDS, async (workspace) => {
    const { session } = await workspace.withTools();
    await session.appendAll([
      calling("ui", call({ city: "Lisbon" }, { weather: [{ sky: "drizzle" }, 1234] })),
      calling("dynamic", {
        ...call({ path: "notes.md" }),
        type: "dynamic-tool",
        state: "output-error",
        errorText: "ENOENT",
      }),
      calling("content", { type: "tool-call", toolCallId: "d", toolName: "x", input: { args: ["walrus"] } }),
      {
        id: "result",
        role: "tool",
        parts: [{ type: "tool-result", toolCallId: "d", output: { type: "text", value: "okapi" } }],
      },
      calling(
        "blocks",
        { type: "tool_use", id: "e", input: { q: "heron" } },
        { type: "tool_result", tool_use_id: "e", content: "egret" },
      ),
      message("plain", "drizzling here"),
    ]);
    const queries = ["lisbon", "city", "weather", "1234", "enoent", "walrus", "okapi", "heron", "egret", "drizzle"];
    const found: string[][] = [];
    for (const query of queries) found.push(await find(session, query));
    expect(found.map((ids) => ids.join())).toEqual([
      ...["ui", "ui", "ui", "ui", "dynamic", "content", "result", "blocks", "blocks", "plain,ui"],
    ]);
    expect(await find(session, "drizzle notes.md")).toEqual(["dynamic", "plain", "ui"]);
  });

  it("leaves tool calls alone where the store does not say so", ["search"], async ({ session }) => {
    await session.appendAll([calling("a", { type: "text", text: "Done." }, call({ city: "Lisbon" }, "drizzle"))]);
    expect([await find(session, "lisbon drizzle"), await find(session, "done")]).toEqual([[], ["a"]]);
  });

  it("looks at the beginnings of long payloads, and at no files", NEEDS, async (workspace) => {
    const { session } = await workspace.withTools();
    const long = `first ${"filler ".repeat(600)} last`;
    const image = `data:text/plain;base64,${"QUJD".repeat(10)} zebra`;
    await session.appendAll([
      calling("long", call(long, { text: `second ${long}` }), call(null, "third")),
      calling("many", ...NUMBERS.slice(0, 20).map((at) => call(long.replace("first", `opening${at}`)))),
      calling("deep", call(JSON.parse(`${'{"a":'.repeat(80)}"abyss"${"}".repeat(80)}`))),
      calling(
        "file",
        call({ image }, { mediaType: "image/png", data: "okapi" }),
        call(`b64: ${"Yak/".repeat(100)} gnu`),
      ),
    ]);
    const long4 = [await find(session, "first"), await find(session, "second third"), await find(session, "last")];
    expect(long4).toEqual([["long"], ["long"], []]);
    expect([await find(session, "opening2"), await find(session, "opening19")]).toEqual([["many"], []]);
    expect([await find(session, "abyss"), await find(session, "zebra okapi"), await find(session, "gnu")]).toEqual([
      [],
      [],
      ["file"],
    ]);
  });

  it("ranks a message that says a word before one whose tools were given it among others", NEEDS, async (workspace) => {
    const { session, store } = await workspace.withTools();
    const rows = NUMBERS.slice(0, 100).map((row) => ({ row, name: `name${row}` }));
    await session.appendAll([
      message("says", "The pelican landed."),
      calling("dumps", { type: "text", text: "Here are the rows." }, call({}, [...rows, { name: "pelican" }])),
      message("other", "Nothing."),
    ]);
    const hits = await store.search("pelican", { limit: 10, explain: true });
    expect(idsOf(hits)).toEqual(["says", "dumps"]);
    expect(hits.map(({ explanation }) => explanation?.words[0]?.count)).toEqual([1, 1]);
    expect(hits[0]?.explanation?.length ?? 0).toBeAtMost(4);
    expect(hits[1]?.explanation?.length ?? 0).toBeAtLeast(300);
  });

  it("shows the text, with the tool calls below it where only they match", NEEDS, async (workspace) => {
    const { session } = await workspace.withTools();
    await session.appendAll([
      calling("a", { type: "text", text: "I looked at the weather." }, call({ city: "Lisbon" }, { sky: "rain" })),
      calling("b", call({ city: "Porto" })),
    ]);
    const [said] = await session.search("weather");
    expect([said?.content, said?.snippet]).toEqual(["I looked at the weather.", "I looked at the «weather»."]);
    const [given] = await session.search("lisbon", { context: 1 });
    expect(given?.content).toBe("I looked at the weather.\ncity: Lisbon\nsky: rain");
    expect(given?.snippet).toBe("I looked at the weather.\ncity: «Lisbon»\nsky: rain");
    expect(given?.context?.after.map(({ content }) => content)).toEqual([""]);
    expect((await session.search("porto"))[0]?.snippet).toBe("city: «Porto»");
  });

  it(
    "keeps the index with the messages through edits, forks, imports, compactions and deletions",
    NEEDS,
    async (workspace) => {
      const { session, manager, store, sessionOf } = await workspace.withTools();
      await session.appendAll([calling("a", call("heron")), calling("b", call("egret")), calling("c", call("ibis"))]);
      await session.updateMessage(calling("a", call("stork")));
      await session.appendMessage(calling("d", call("crane")));
      await session.addCompaction("birds", "a", "b");
      const fork = await manager.fork(MAIN, "c", "fork");
      const copied = sessionOf(fork.id);
      await store
        .session("imported")
        .importTree({ messages: [{ message: calling("i", call("gannet")), parentId: null }] });
      await session.deleteMessages(["b"]);
      const all = "heron stork egret ibis crane gannet";
      expect([await find(session, all), await find(copied, all), await find(sessionOf("imported"), all)]).toEqual([
        ["a", "c", "d"],
        ["a", "b", "c"],
        ["i"],
      ]);
      expect(await find(session, "heron")).toEqual([]);
      expect((await session.search("stork"))[0]?.coveredBy?.length).toBe(1);
      if (store.capabilities.check) expect((await store.check?.())?.problems).toEqual([]);
      await session.clearMessages();
      expect(await find(session, all)).toEqual([]);
      if (store.capabilities.check) expect((await store.check?.())?.problems).toEqual([]);
    },
  );

  it(
    "takes what stores with other settings wrote for right, and adds their tool calls when it repairs",
    [...NEEDS, "durable", "check"],
    async (workspace) => {
      const tools = await workspace.withTools();
      const texts = await tools.connect();
      await tools.session.appendMessage(calling("with", { type: "text", text: "One." }, call("heron")));
      expect(await find(tools.session, "one")).toEqual(["with"]);
      await texts.session.appendMessage(calling("without", { type: "text", text: "Two." }, call("heron")));
      await texts.session.appendMessage(calling("bare", call("heron")));
      const problems = async () => [(await tools.store.check?.())?.problems, (await texts.store.check?.())?.problems];
      // What a store wrote is indexed by the first that searches.
      expect(await find(texts.session, "one two")).toEqual(["with", "without"]);
      expect(await find(tools.session, "heron")).toEqual(["with"]);
      expect(await problems()).toEqual([[], []]);
      expect((await texts.store.check?.({ repair: true }))?.problems).toEqual([]);
      expect(await find(tools.session, "heron")).toEqual(["with"]);
      expect((await tools.store.check?.({ repair: true }))?.problems).toEqual([]);
      expect(await find(texts.session, "heron")).toEqual(["bare", "with", "without"]);
      expect((await texts.store.check?.({ repair: true }))?.problems).toEqual([]);
      expect(await find(texts.session, "heron")).toEqual(["bare", "with", "without"]);
      expect(await problems()).toEqual([[], []]);
    },
  );
});

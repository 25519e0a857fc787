import { describe, expect, it } from "vitest";
import type { TelemetryEvent } from "../../../packages/stemma/src/opentelemetry.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { textMessage } from "../../helpers/messages.js";
import { allText, collected, followContext, of } from "../../telemetry/collected.js";

const SECRET = "xylophone";

followContext();

async function talk(store: Store): Promise<void> {
  const session = Session.create(store)
    .forSession("chat")
    .withContext("memory")
    .withCachedPrompt()
    .onCompaction(async ([first, second]) => ({
      fromMessageId: first?.id ?? "",
      toMessageId: second?.id ?? "",
      summary: `a summary of ${SECRET}`,
    }));
  for (const id of ["a", "b", "c"])
    await session.appendMessage(textMessage(id, `text ${id} ${SECRET} ${"word ".repeat(50)}`));
  await session.replaceContextBlock("memory", SECRET);
  await session.search(SECRET);
  await session.compact();
  await session.prepareTurn();
  await SessionManager.create(store).addUsage("chat", 10, 5, 0.01, "a-model");
}

describe("an instrumented store", () => {
  it("has a span for each call, by the conventions, with its statements below it", async () => {
    const { store, spans } = collected();
    await talk(store);
    const appends = of(spans(), "create_memory");
    expect(appends.length).toBe(3);
    expect(appends[0]?.attributes).toEqual({
      "gen_ai.operation.name": "create_memory",
      "gen_ai.provider.name": "stemma",
      "gen_ai.conversation.id": "chat",
      "stemma.call": "session.append",
    });
    const inserts = of(spans(), "INSERT assistant_messages");
    expect(inserts[0]?.attributes).toMatchObject({
      "db.system.name": "sqlite",
      "db.operation.name": "INSERT",
      "db.collection.name": "assistant_messages",
      "db.query.text": expect.stringContaining("VALUES (?"),
    });
    expect(inserts[0]?.parentSpanContext?.spanId).toBe(appends[0]?.spanContext().spanId);
    expect(of(spans(), "search_memory").length).toBe(1);
    const [usage] = spans().filter(({ attributes }) => attributes["stemma.call"] === "sessions.addUsage");
    expect(usage?.attributes).toMatchObject({
      "gen_ai.request.model": "a-model",
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
    });
  });

  it("has a span for a compaction and for a turn, with what they do below them", async () => {
    const { store, spans } = collected();
    await talk(store);
    const [compaction] = of(spans(), "compact");
    expect(compaction?.attributes).toMatchObject({
      "gen_ai.operation.name": "compact",
      "gen_ai.conversation.id": "chat",
    });
    const [turn] = of(spans(), "prepare_turn");
    for (const parent of [compaction, turn]) {
      const children = spans().filter((span) => span.parentSpanContext?.spanId === parent?.spanContext().spanId);
      expect(children.length).toBeGreaterThan(0);
    }
    const [stored] = spans().filter(({ attributes }) => attributes["stemma.call"] === "session.addCompaction");
    expect(stored?.parentSpanContext?.spanId).toBe(compaction?.spanContext().spanId);
  });

  it("has one for each call of a copy that takes vectors along", async () => {
    const { store, spans } = collected({ statements: false });
    const model = { id: "none", dimensions: 2 };
    await store.vectors?.model();
    await store.vectors?.import("chat", model, []);
    for await (const _kept of store.vectors?.list("chat", model) ?? []);
    const calls = spans().map(({ attributes }) => [attributes["stemma.call"], attributes["gen_ai.conversation.id"]]);
    expect(calls).toEqual([
      ["vectors.model", undefined],
      ["vectors.import", "chat"],
    ]);
  });

  it("measures how long operations and statements take, and the tokens that are counted", async () => {
    const { store, metrics: read } = collected();
    await talk(store);
    const found = new Map((await read()).map((metric) => [metric.descriptor.name, metric]));
    expect([...found.keys()].sort()).toEqual([
      "db.client.operation.duration",
      "gen_ai.client.operation.duration",
      "gen_ai.client.token.usage",
    ]);
    expect(found.get("gen_ai.client.operation.duration")?.descriptor.unit).toBe("s");
    const tokens = found
      .get("gen_ai.client.token.usage")
      ?.dataPoints.map(({ attributes, value }) => [
        attributes["gen_ai.token.type"],
        attributes["gen_ai.request.model"],
        (value as { sum?: number }).sum,
      ]);
    expect(tokens).toEqual([
      ["input", "a-model", 10],
      ["output", "a-model", 5],
    ]);
    // Of few values: no session, no text of a statement.
    for (const { dataPoints } of found.values()) {
      for (const { attributes } of dataPoints) {
        expect(attributes["gen_ai.conversation.id"] ?? attributes["db.query.text"]).toBeUndefined();
      }
    }
  });

  it("puts no content into a span or an event, unless it is asked for", async () => {
    const events: TelemetryEvent[] = [];
    const { store, spans } = collected({ onEvent: (event) => void events.push(event) });
    await talk(store);
    await store
      .session("chat")
      .append([textMessage(`id-${SECRET}`)], `parent-${SECRET}`)
      .catch(() => {});
    expect(spans().length).toBeGreaterThan(20);
    expect(allText(spans())).not.toContain(SECRET);
    expect(JSON.stringify(events)).not.toContain(SECRET);
    const open = collected({ contents: true });
    await talk(open.store);
    for (const name of ["create_memory", "INSERT assistant_messages", "search_memory", "compact"]) {
      expect(allText(of(open.spans(), name))).toContain(SECRET);
    }
  });

  it("tells of what fails, by its code", async () => {
    const events: TelemetryEvent[] = [];
    const { store, spans } = collected({ statements: false, onEvent: (event) => void events.push(event) });
    await expect(store.session("chat").append([textMessage("a")], "none")).rejects.toMatchObject({
      code: "PARENT_NOT_FOUND",
    });
    expect(spans().map(({ attributes, status }) => [attributes["error.type"], status])).toEqual([
      ["PARENT_NOT_FOUND", { code: 2 }],
    ]);
    expect(events).toEqual([
      {
        type: "call",
        name: "session.append",
        store: "memory",
        sessionId: "chat",
        durationMs: expect.any(Number),
        error: "PARENT_NOT_FOUND",
      },
    ]);
  });

  it("does the same as the store, for each user too, and keeps the order of calls that are not awaited", async () => {
    const { store, spans, reset } = collected();
    const own = store.forUser("ada");
    expect([own.userId, own.whole]).toEqual(["ada", store]);
    const session = Session.create(own).forSession("of ada");
    const appended = ["a", "b", "c"].map((id) => session.appendMessage(textMessage(id)));
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    await Promise.all(appended);
    await expect(store.forUser("bob").session("of ada").count()).rejects.toMatchObject({ code: "SESSION_OWNED" });
    reset();
    for await (const _ of store.session("of ada").messages());
    expect(spans().length).toBeGreaterThan(0);
    await store.close();
    await expect(session.getHistory()).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });
});

describe("a store that is not instrumented", () => {
  it("has no observer, and runs its own statements", () => {
    const store = memory();
    expect(store.observer).toBeUndefined();
    const { store: instrumented } = collected({}, store);
    expect(instrumented.observer).toBeTypeOf("function");
    expect(store.observer).toBeUndefined();
  });
});

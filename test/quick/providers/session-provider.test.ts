// One interface: what a session does on providers of users, with and without each optional method.
import { describe, expect, it } from "vitest";
import { Session, type SessionMessage, type SessionProvider } from "../../../packages/stemma/src/session.js";
import { createCompactFunction } from "../../../packages/stemma/src/utils.js";
import { textMessage } from "../../helpers/messages.js";
import { createProvider, delayed } from "../../providers/list-provider.js";

/** The same methods, each answering later, the first calls later than the next ones. */
function later(provider: ReturnType<typeof createProvider>): SessionProvider {
  let delay = 15;
  return delayed(provider, () => {
    delay = Math.max(0, delay - 1);
    return delay;
  });
}
const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);
function memo() {
  const held: { content: string | null } = { content: null };
  return {
    get: async () => held.content,
    set: async (content: string) => {
      held.content = content;
    },
  };
}

it("tells when messages were stored, if the provider knows", async () => {
  const provider = createProvider();
  const asked: unknown[] = [];
  const dated = <M extends SessionMessage>(message: M, options: { createdAt?: boolean | undefined } = {}): M => {
    asked.push(options.createdAt);
    return options.createdAt === true ? { ...message, createdAt: "2026-01-01T00:00:00.000Z" } : message;
  };
  const knowing: SessionProvider = Object.assign(Object.create(provider), {
    getMessage: async (id: string, options?: object) => {
      const message = await provider.getMessage(id);
      return message && dated(message, options);
    },
    getHistory: async (leafId?: string | null, options?: object) =>
      (await provider.getHistory(leafId ?? undefined)).map((each) => dated(each, options)),
  });
  for (const [host, createdAt] of [
    [provider, undefined],
    [knowing, "2026-01-01T00:00:00.000Z"],
  ] as const) {
    const session = Session.create(host);
    await session.appendMessage(textMessage("a"));
    expect((await session.getMessage("a", { createdAt: true }))?.createdAt).toBe(createdAt);
    expect((await session.getHistory(null, { createdAt: true }))[0]?.createdAt).toBe(createdAt);
    expect((await session.getHistory(null, { createdAt: true, summaries: false }))[0]?.createdAt).toBe(createdAt);
    expect((await session.getHistory())[0]).toEqual(textMessage("a"));
  }
  expect(asked).toContain(true);
});

describe.each([
  ["synchronous", createProvider],
  ["asynchronous", () => later(createProvider())],
])("a %s SessionProvider with the documented methods only", (_kind, create) => {
  it("keeps a conversation with its branches", async () => {
    const session = Session.create(create());
    expect(await session.appendMessage(textMessage("a"))).toMatchObject({ inserted: true });
    await session.appendAll([textMessage("b"), textMessage("c")]);
    await session.appendMessage(textMessage("d"), "a");
    await session.appendMessage(textMessage("e"));
    expect(await session.appendMessage(textMessage("c", "again"))).toMatchObject({
      inserted: false,
      message: textMessage("c"),
    });
    expect(idsOf(await session.getHistory())).toEqual(["a", "d", "e"]);
    expect(idsOf(await session.getHistory("c"))).toEqual(["a", "b", "c"]);
    expect(idsOf(await session.getBranches("a"))).toEqual(["b", "d"]);
    expect(await session.getLatestLeaf()).toEqual(textMessage("e"));
    expect(await session.getPathLength("c")).toBe(3);
    expect(await session.getMessage("unknown")).toBeNull();
    await expect(session.appendMessage(textMessage("f"), "unknown")).rejects.toMatchObject({
      code: "PARENT_NOT_FOUND",
    });
    await expect(session.getHistory("unknown")).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    await expect(session.appendAll([textMessage("f"), { id: "g" }])).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
    expect(await session.getMessage("f")).toBeNull();
  });

  it("keeps what it was given, whatever the caller does with what it gets back", async () => {
    const session = Session.create(create());
    const { message } = await session.appendMessage(textMessage("a"));
    const edited = await session.editMessage("a", textMessage("b"));
    message.parts.length = 0;
    edited.message.parts.length = 0;
    expect(await session.getMessage("a")).toEqual(textMessage("a"));
    expect(await session.getMessage("b")).toEqual(textMessage("b"));
  });

  it("edits, deletes and clears", async () => {
    const session = Session.create(create());
    await session.appendAll([textMessage("a"), textMessage("b"), textMessage("c")]);
    await session.updateMessage(textMessage("b", "edited"));
    await expect(session.updateMessage(textMessage("unknown"))).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    await session.deleteMessages(["a", "unknown"]);
    expect(await session.getHistory()).toEqual([textMessage("b", "edited"), textMessage("c")]);
    await session.clearMessages();
    expect(await session.getHistory()).toEqual([]);
    expect(await session.getLatestLeaf()).toBeNull();
  });

  it("shows parents and siblings, and edits", async () => {
    const session = Session.create(create());
    await session.appendAll(["a", "b", "c", "d"].map((id) => textMessage(id)));
    expect(await session.editMessage("c", textMessage("c2"))).toMatchObject({
      inserted: true,
      message: textMessage("c2"),
    });
    expect(idsOf(await session.getHistory())).toEqual(["a", "b", "c2"]);
    expect(idsOf(await session.getSiblings("c2"))).toEqual(["c", "c2"]);
    expect(await session.getParent("c2")).toEqual(textMessage("b"));
    expect(await session.getParent("a")).toBeNull();
    const { id } = await session.addCompaction("a to c", "a", "c");
    expect(await session.getParent(`compaction_${id}`)).toEqual(textMessage("b"));
    expect(await session.getParent("d")).toEqual(textMessage("c"));
    expect(idsOf(await session.getHistory("d", { summaries: false }))).toEqual(["a", "b", "c", "d"]);
    await session.editMessage("a", textMessage("a2"));
    expect(idsOf(await session.getHistory())).toEqual(["a2"]);
    for (const call of [
      () => session.getParent("unknown"),
      () => session.getSiblings("unknown"),
      () => session.editMessage("unknown", textMessage("x")),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    }
    await expect(session.editMessage("a", textMessage("a"))).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
  });

  it("says what it cannot do: list roots, keep a leaf, take a summary back", async () => {
    const session = Session.create(create());
    await session.appendAll([textMessage("a"), textMessage("b")]);
    const { id } = await session.addCompaction("a", "a", "a");
    for (const call of [
      () => session.getSiblings("a"),
      () => session.selectBranch("a"),
      () => session.setActiveLeaf("a"),
      () => session.removeCompaction(id),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    }
  });

  it("appends only where the latest leaf is the one that is expected", async () => {
    const session = Session.create(create());
    await session.appendMessage(textMessage("a"), undefined, { expectedLeaf: null });
    const both = [session.appendAll([textMessage("b")], null, { expectedLeaf: "a" })];
    both.push(session.appendAll([textMessage("c")], undefined, { expectedLeaf: "a" }));
    await expect(Promise.all(both)).rejects.toMatchObject({ code: "LEAF_MOVED", details: { activeLeaf: "b" } });
    for (const expectedLeaf of ["a", "unknown", null]) {
      await expect(session.appendMessage(textMessage("c"), "a", { expectedLeaf })).rejects.toMatchObject({
        code: "LEAF_MOVED",
      });
    }
    expect((await session.appendMessage(textMessage("a"), undefined, { expectedLeaf: "unknown" })).inserted).toBe(
      false,
    );
    expect(idsOf(await session.getHistory())).toEqual(["b"]);
    const { id } = await session.addCompaction("b", "b", "b");
    await session.appendMessage(textMessage("c"), undefined, { expectedLeaf: `compaction_${id}` });
    expect(await session.getPathLength()).toBe(2);
  });

  it("makes one chain, in order, of appends that nobody waits for", async () => {
    const session = Session.create(create());
    const ids = Array.from({ length: 20 }, (_, index) => `m${index}`);
    await Promise.all(ids.map((id) => session.appendMessage(textMessage(id))));
    expect(idsOf(await session.getHistory())).toEqual(ids);
  });

  it("streams, and reads the newest messages that fit", async () => {
    const session = Session.create(create());
    await session.appendAll([textMessage("a"), textMessage("b"), textMessage("c")]);
    const newestFirst: string[] = [];
    for await (const { id } of session.history({ newestFirst: true })) newestFirst.push(id);
    expect(newestFirst).toEqual(["c", "b", "a"]);
    const size = JSON.stringify(textMessage("a")).length;
    expect(await session.getRecentHistory(2 * size)).toEqual({
      messages: [textMessage("b"), textMessage("c")],
      truncated: true,
      totalContentBytes: 2 * size,
    });
  });

  it("shows summaries in the place of what they cover, and the originals under them", async () => {
    const session = Session.create(create());
    await session.appendAll(["a", "b", "c", "d"].map((id) => textMessage(id)));
    const compaction = await session.addCompaction("b and c", "b", "c");
    expect(idsOf(await session.getHistory())).toEqual(["a", `compaction_${compaction.id}`, "d"]);
    expect(idsOf(await session.expandCompaction(compaction.id))).toEqual(["b", "c"]);
    const streamed: string[] = [];
    for await (const { id } of session.history()) streamed.push(id);
    expect(streamed).toEqual(["a", `compaction_${compaction.id}`, "d"]);
    expect(idsOf((await session.getRecentHistory(0, { minMessages: 2 })).messages)).toEqual(streamed.slice(1));
    expect(await session.getCompactions()).toMatchObject([
      { summary: "b and c", fromMessageId: "b", toMessageId: "c" },
    ]);
    await expect(session.addCompaction("x", "c", "b")).rejects.toMatchObject({ code: "COMPACTION_INVALID_RANGE" });
  });

  it("compacts by itself, again and again", async () => {
    const summarize = async () => "What was said.";
    const session = Session.create(create())
      .onCompaction(createCompactFunction({ summarize, protectHead: 1, tailTokenBudget: 60, minTailMessages: 1 }))
      .compactAfter(300);
    for (let n = 0; n < 30; n += 1)
      await session.appendMessage(textMessage(`m${n}`, "ten words that say very little of any kind ".repeat(3)));
    const history = await session.getHistory();
    expect(history.length).toBeLessThan(12);
    expect(history.filter(({ id }) => id.startsWith("compaction_"))).toHaveLength(1);
    expect(history[0]?.id).toBe("m0");
    expect(await session.getPathLength()).toBe(30);
  });

  it("hides no edit made while the model was summarising, in 200 races", async () => {
    const provider = create();
    let race = 0;
    const session = Session.create(provider).onCompaction(async (messages) => {
      const [from, to] = [messages[0], messages.at(-1)] as [SessionMessage, SessionMessage];
      const other = Session.create(provider);
      const edited = textMessage("m2", `${words} ${race}`);
      const edits = [
        () => other.updateMessage(edited),
        () => other.upsertMessage(edited),
        async () => {
          await other.deleteMessages(["m4"]);
          await other.appendMessage(textMessage("m4", `${words} again ${race}`), "m3");
        },
        async () => provider.updateMessage(edited),
      ];
      const edit = edits[race % edits.length]?.();
      // What goes through a session takes its turn; what goes past it must have been done.
      if (race % edits.length > 1) await edit;
      for (let ticks = race % 7; ticks > 0; ticks -= 1) await Promise.resolve();
      return { fromMessageId: from.id, toMessageId: to.id, summary: "What was said." };
    });
    const words = "says a lot ".repeat(20);
    await session.appendAll(["m0", "m1", "m2", "m3", "m4"].map((id) => textMessage(id, words)));
    await session.appendMessage(textMessage("m5"), "m3");
    let hidden = 0;
    for (; race < 200; race += 1) if ((await session.compact("m4")) !== null) hidden += 1;
    expect(hidden).toBe(0);
    expect(await session.getCompactions()).toEqual([]);
  });

  it("leaves one summary of a function that knows of no earlier one, and compacts the path to a leaf", async () => {
    const session = Session.create(create()).onCompaction(async (messages) => {
      const real = messages.filter(({ id }) => !id.startsWith("compaction_"));
      if (real.length < 3) return null;
      return { fromMessageId: real[1]?.id ?? "", toMessageId: real.at(-2)?.id ?? "", summary: "s" };
    });
    const words = "says a lot ".repeat(20);
    for (const round of ["a", "b", "c"]) {
      await session.appendAll([1, 2, 3, 4].map((n) => textMessage(`${round}${n}`, words)));
      expect(await session.compact()).toMatchObject({ fromMessageId: "a2", toMessageId: `${round}3` });
    }
    const summaries = (await session.getHistory()).filter(({ id }) => id.startsWith("compaction_"));
    expect(summaries).toHaveLength(1);
    await session.appendAll(
      [1, 2, 3, 4].map((n) => textMessage(`d${n}`, words)),
      null,
    );
    expect(await session.compact(summaries[0]?.id)).toBeNull();
    expect(await session.compact("d3")).toEqual({ fromMessageId: "d2", toMessageId: "d2", summary: "s" });
    await expect(session.compact("unknown")).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
  });

  it("counts a function that fails or gives no answer as failed, and resolves the write that waited", async () => {
    const failures: unknown[] = [];
    const answers = [() => new Promise<null>(() => {}), () => Promise.reject(new RangeError("away"))];
    const session = Session.create(create())
      .onCompaction(() => (answers.shift() ?? (async () => null))(), { timeout: 20 })
      .compactAfter(1)
      .onCompactionError((error) => {
        failures.push(error);
      });
    expect(await session.appendMessage(textMessage("a"))).toMatchObject({ inserted: true });
    expect(await session.appendMessage(textMessage("b"))).toMatchObject({ inserted: true });
    expect(failures).toMatchObject([{ code: "COMPACTION_TIMEOUT" }, { message: "away" }]);
  });

  it("refreshes the prompt that a provider keeps when a summary was stored", async () => {
    const [notes, prompt] = [memo(), memo()];
    const session = Session.create(create())
      .withContext("notes", { provider: notes })
      .withCachedPrompt(prompt)
      .onCompaction(async () => ({ fromMessageId: "a", toMessageId: "b", summary: "s" }));
    await session.appendAll(["a", "b", "c"].map((id) => textMessage(id)));
    await session.freezeSystemPrompt();
    await session.replaceContextBlock("notes", "Coffee.");
    expect(await prompt.get()).not.toContain("Coffee.");
    await session.compact();
    expect(await prompt.get()).toContain("Coffee.");
  });

  it("searches with the provider's own search", async () => {
    const session = Session.create(create());
    await session.appendAll([textMessage("a", "apples"), textMessage("b", "pears")]);
    expect(await session.search("pears", { limit: 5 })).toMatchObject([{ id: "b", role: "user" }]);
  });

  it("takes blocks and a frozen prompt whose providers are given, and refuses others", async () => {
    const notes = memo();
    const session = Session.create(create()).withContext("notes", { provider: notes }).withCachedPrompt(memo());
    const { set_context } = await session.tools();
    await set_context?.execute({ label: "notes", content: "User likes coffee." });
    expect(await notes.get()).toBe("User likes coffee.");
    const prompt = await session.freezeSystemPrompt();
    expect(prompt).toContain("User likes coffee.");
    await session.replaceContextBlock("notes", "Tea.");
    expect(await session.freezeSystemPrompt()).toBe(prompt);

    const without = Session.create(create()).withContext("memory");
    await expect(without.freezeSystemPrompt()).rejects.toMatchObject({ code: "PROVIDER_REQUIRED" });
    await expect(Session.create(create()).withCachedPrompt().getHistory()).rejects.toMatchObject({
      code: "PROVIDER_REQUIRED",
    });
  });
});

describe.each([
  ["synchronous", (provider: ReturnType<typeof createProvider>) => provider],
  ["asynchronous", later],
])("skills on a %s SessionProvider with the documented methods only", (_kind, offer) => {
  const DOCUMENT = "the whole document";
  const skilled = (provider: SessionProvider) =>
    Session.create(provider).withContext("skills", {
      provider: { get: () => "- deploy: how to ship", load: (key) => (key === "deploy" ? DOCUMENT : null) },
    });
  const call = async (session: Session, tool: string, toolCallId: string) =>
    (await session.tools())[tool]?.execute({ label: "skills", key: "deploy" }, { toolCallId });
  const input = { label: "skills", key: "deploy" };
  const part = (toolCallId: string, output = DOCUMENT) => ({
    type: "tool-load_context",
    toolCallId,
    state: "output-available",
    input,
    output,
  });
  const loaded = (id: string, ...calls: string[]) => ({
    id,
    role: "assistant",
    parts: [{ type: "text", text: "Let me see." }, ...calls.map((each) => part(each))],
  });

  it("are unloaded in the messages that hold them, which a restart finds", async () => {
    const provider = createProvider();
    const session = skilled(offer(provider));
    await call(session, "load_context", "call-1");
    await session.appendAll([textMessage("a"), loaded("b", "call-1"), textMessage("c")]);
    expect(await call(session, "unload_context", "x")).toBe("Unloaded deploy of skills.");
    expect(await call(session, "unload_context", "x")).toContain("is not loaded");
    expect(JSON.stringify(provider.getHistory())).not.toContain(DOCUMENT);
    expect(provider.getMessage("b")).toMatchObject({ parts: [{ text: "Let me see." }, { toolCallId: "call-1" }] });

    const again = skilled(offer(provider));
    expect(await call(again, "unload_context", "x")).toContain("is not loaded");
    await call(again, "load_context", "call-2");
    await again.appendMessage(loaded("d", "call-2"));
    expect(JSON.stringify(await again.getMessage("d"))).toContain(DOCUMENT);
    // What the next process finds in the history is loaded, whoever loaded it.
    expect(await call(skilled(offer(provider)), "unload_context", "x")).toBe("Unloaded deploy of skills.");
    expect(JSON.stringify(provider.getHistory())).not.toContain(DOCUMENT);
  });

  it("are unloaded before their message is stored, and stay so when it is stored again", async () => {
    const provider = createProvider();
    const session = skilled(offer(provider));
    await session.appendMessage(textMessage("a"));
    await call(session, "load_context", "call-1");
    await call(session, "unload_context", "x");
    await call(session, "load_context", "call-2");
    await session.appendMessage(loaded("b", "call-1", "call-2"));
    const [, first, second] = (await session.getMessage("b"))?.parts ?? [];
    expect(first?.output).toContain("[Unloaded: skills/deploy.");
    expect(second?.output).toBe(DOCUMENT);
    await call(session, "unload_context", "x");
    await session.upsertMessage(loaded("b", "call-1", "call-2"));
    await session.updateMessage(loaded("b", "call-1", "call-2"));
    expect(JSON.stringify(provider.getHistory())).not.toContain(DOCUMENT);
    for (const message of [
      { id: "c", role: "user" },
      { id: "c", role: "user", parts: [null] },
    ]) {
      await expect(session.appendMessage(message)).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
    }
  });

  it("are told by calls whose results stand in messages of their own", async () => {
    const provider = createProvider();
    const result = { type: "tool-result", toolCallId: "call-1", toolName: "load_context" };
    const output = { type: "text", value: DOCUMENT };
    const session = skilled(offer(provider));
    await session.appendAll([
      {
        id: "a",
        role: "assistant",
        parts: [{ type: "tool-call", toolCallId: "call-1", toolName: "load_context", input }],
      },
      { id: "b", role: "tool", parts: [{ ...result, output }] },
    ]);
    expect(await call(session, "unload_context", "x")).toBe("Unloaded deploy of skills.");
    expect((await session.getMessage("b"))?.parts[0]?.output).toMatchObject({ type: "text" });
    expect(JSON.stringify(provider.getHistory())).not.toContain(DOCUMENT);
  });

  it("are unloaded and forgotten in the order of the calls, whichever object makes them", async () => {
    const provider = offer(createProvider());
    const [one, two] = [skilled(provider), skilled(provider)];
    await one.appendMessage(loaded("b", "call-1"));
    one.unloadSkill("skills", "deploy");
    await two.updateMessage(loaded("b", "call-1"));
    expect(JSON.stringify(await two.getHistory())).not.toContain(DOCUMENT);
    one.clearMessages();
    await two.appendMessage(loaded("b", "call-1"));
    expect(JSON.stringify(await one.getHistory())).toContain(DOCUMENT);
  });

  it("do not keep a whole history from being given back", async () => {
    const session = skilled(offer(createProvider()));
    await session.appendAll([textMessage("a"), textMessage("b"), loaded("c", "call-1"), textMessage("d")]);
    await session.unloadSkill("skills", "deploy");
    await session.addCompaction("summary", "a", "b");
    const history = await session.getHistory();
    expect(await session.appendAll([...history, textMessage("e")])).toEqual(["e"]);
  });

  it("are forgotten with the messages", async () => {
    const session = skilled(offer(createProvider()));
    await call(session, "load_context", "call-1");
    await session.appendMessage(loaded("b", "call-1"));
    await call(session, "unload_context", "x");
    await session.clearMessages();
    await session.appendMessage(loaded("b", "call-1"));
    expect(JSON.stringify(await session.getHistory())).toContain(DOCUMENT);
  });
});

it("keeps to the session that a provider says it belongs to", () => {
  const bound = () => Session.create({ ...createProvider(), sessionId: "one" });
  expect(bound().id).toBe("one");
  expect(bound().forSession("one").id).toBe("one");
  expect(() => bound().forSession("two")).toThrow(expect.objectContaining({ code: "SESSION_ID_BOUND" }));
});

it("refuses to name the session of a provider that does not say which one it keeps", () => {
  const session = Session.create(createProvider());
  expect(() => session.forSession("two")).toThrow(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
});

it("asks a provider that has them for recent messages and sizes, and applies compactions to what it gives", async () => {
  const asked: unknown[] = [];
  const provider = createProvider();
  const own: SessionProvider = {
    ...provider,
    getRecentHistory: (...given) => {
      asked.push(given);
      return { messages: provider.getHistory().slice(-3), truncated: true, totalContentBytes: 7 };
    },
    getHistoryRowStats: () => [{ id: "a", role: "user", bytes: 1 }],
  };
  const session = Session.create(own);
  await session.appendAll(["a", "b", "c", "d"].map((id) => textMessage(id)));
  const compaction = await session.addCompaction("b and c", "b", "c");
  const recent = await session.getRecentHistory(100, 2);
  expect(idsOf(recent.messages)).toEqual([`compaction_${compaction.id}`, "d"]);
  expect([recent.truncated, recent.totalContentBytes]).toEqual([true, 7]);
  expect(asked).toEqual([[null, 100, 2]]);
  expect(await session.getHistoryRowStats()).toEqual([{ id: "a", role: "user", bytes: 1 }]);
  expect(await Session.create(createProvider()).getHistoryRowStats()).toBeNull();
});

it("leaves alone what a provider that applies its compactions itself shows", async () => {
  const provider = createProvider();
  const session = Session.create({ ...provider, getHistory: (leafId?: string) => shown(provider, leafId) });
  await session.appendAll(["a", "b", "c", "d"].map((id) => textMessage(id)));
  const compaction = await session.addCompaction("b and c", "b", "c");
  expect(idsOf(await session.getHistory())).toEqual(["a", `compaction_${compaction.id}`, "d"]);
});

it("refuses to search where the provider cannot", async () => {
  const { searchMessages: _searchMessages, ...provider } = createProvider();
  await expect(Session.create(provider).search("x")).rejects.toMatchObject({ code: "SEARCH_UNAVAILABLE" });
});

function shown(provider: ReturnType<typeof createProvider>, leafId: string | undefined): SessionMessage[] {
  const path = provider.getHistory(leafId);
  for (const { id, summary, fromMessageId, toMessageId } of provider.getCompactions()) {
    const from = path.findIndex((message) => message.id === fromMessageId);
    const to = path.findIndex((message) => message.id === toMessageId);
    const summaryMessage = { id: `compaction_${id}`, role: "assistant", parts: [{ type: "text", text: summary }] };
    if (from >= 0 && to >= from) path.splice(from, to - from + 1, summaryMessage);
  }
  return path;
}

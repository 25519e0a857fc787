// One topic of the suite: its cases, one after the other.
import type { Session } from "@stemma/session";
import { expect } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

const LONG = "A sentence that both of them say again and again. ".repeat(200);

const answer = (id: string, text = `text of ${id}`) => message(id, text, "assistant");

async function talk(session: Session): Promise<void> {
  await session.appendAll([message("u1", LONG), answer("a1", LONG), message("u2")]);
}

const namesOf = (parts: readonly { source: string; name: string }[]) => parts.map(({ source, name }) => [source, name]);

/** Explanations of a request afterwards, and of the next one before. */
export const explanations = defineTopic("explanations", (it) => {
  it("tells each piece of a request with its size and why it is there", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory").withContext("notes").withCachedPrompt();
    await talk(session);
    const { prefixHash } = await session.prepareTurn();
    await session.replaceContextBlock("memory", "Their name is Ada.");
    await session.appendAll([answer("a2"), message("u3")]);
    const next = await session.explainContext();
    const turn = await session.prepareTurn();
    const told = await session.explainContext("u3");
    expect(namesOf(told?.parts ?? [])).toEqual([
      ["tool", "set_context"],
      ["block", "MEMORY"],
      ["block", "NOTES"],
      ["message", "u1"],
      ["message", "a1"],
      ["message", "u2"],
      ["message", "a2"],
      ["message", "u3"],
      ["update", "u3"],
    ]);
    expect(told?.parts.every(({ tokens, bytes, reason }) => tokens > 0 && bytes > 0 && reason.endsWith("."))).toBe(
      true,
    );
    expect(told?.parts[1]?.reason).toInclude('message "u3"');
    expect([told?.prefixHash, told?.refreshed, told?.messageId]).toEqual([turn.prefixHash, false, "u3"]);
    const sum = told?.parts.reduce((tokens, part) => tokens + part.tokens, 0) ?? 0;
    expect(Math.abs(sum - (told?.tokens ?? 0))).toBeAtMost(4);
    // What was foretold is what was sent.
    expect({ ...next, sentAt: 0 }).toEqual({ ...told, sentAt: 0 });
    expect(next.sentAt).toBe(null);
    expect((await session.explainContext("u2"))?.prefixHash).toBe(prefixHash);
    expect(await session.explainContext("unknown")).toBe(null);
  });

  it("tells the very byte of the prompt that broke a prefix", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory").withContext("notes").withCachedPrompt();
    await session.replaceContextBlock("memory", `Tea, grün 🍵 and ${LONG}`);
    await session.replaceContextBlock("notes", "One.");
    await talk(session);
    const { system: before } = await session.prepareTurn();
    await session.replaceContextBlock("memory", `Tea, grün 🍶 and ${LONG}`);
    await session.appendAll([answer("a2"), message("u3")]);
    const { system: after } = await session.prepareTurn();
    const same = [...before].findIndex((letter, index) => letter !== [...after][index]);
    const bytes = new TextEncoder().encode([...before].slice(0, same).join("")).length;
    const told = await session.explainContext("u3");
    const tools = told?.parts.filter(({ source }) => source === "tool").reduce((sum, part) => sum + part.bytes, 0) ?? 0;
    expect([told?.brokenAt?.offset, told?.brokenAt?.name]).toEqual([tools + bytes, "MEMORY"]);
  });

  it("lists the requests of which something is kept, newest first and page by page", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory").withCachedPrompt();
    expect(await session.getTurns()).toEqual({ turns: [], next: null });
    for (const turn of [1, 2, 3]) {
      await session.appendMessage(message(`u${turn}`));
      await session.prepareTurn();
      await session.appendMessage(answer(`a${turn}`));
    }
    const ids = async (options: { after?: string; limit?: number }) => {
      const { turns, next } = await session.getTurns(options);
      return [turns.map(({ messageId }) => messageId), next];
    };
    expect(await ids({})).toEqual([["u3", "u2", "u1"], null]);
    expect(await ids({ limit: 2 })).toEqual([["u3", "u2"], "u2"]);
    expect(await ids({ after: "u2" })).toEqual([["u1"], null]);
    const [last] = (await session.getTurns({ limit: 1 })).turns;
    const told = await session.explainContext("u3");
    expect([last?.tokens, last?.bytes, last?.prefixHash]).toEqual([told?.tokens, told?.bytes, told?.prefixHash]);
    await session.setActiveLeaf("a1");
    expect(await ids({})).toEqual([["u1"], null]);
  });

  it("foretells a refresh without making one", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory").withCachedPrompt();
    const first = await session.explainContext();
    expect([first.refreshed, first.brokenAt, namesOf(first.parts)]).toEqual([
      "first",
      null,
      [
        ["tool", "set_context"],
        ["block", "MEMORY"],
      ],
    ]);
    await talk(session);
    expect((await session.prepareTurn()).refreshed).toBe("first");
    await session.replaceContextBlock("memory", LONG);
    await session.appendAll([answer("a2"), message("u3")]);
    const next = await session.explainContext();
    expect([next.refreshed, next.brokenAt?.by, next.brokenAt?.name]).toEqual(["size", "size", "MEMORY"]);
    expect((await session.prepareTurn()).refreshed).toBe("size");
  });

  it("tells where a request stops being the one before, and why", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory").withCachedPrompt();
    await talk(session);
    const broken = async () => (await session.explainContext()).brokenAt;
    expect((await session.prepareTurn()).refreshed).toBe("first");
    expect(await broken()).toBe(null);
    await session.appendAll([answer("a2"), message("u3")]);
    await session.prepareTurn();
    expect((await session.explainContext("u3"))?.brokenAt).toBe(null);
    const sizes = (await session.explainContext("u3"))?.parts ?? [];
    const before = (name: string) => {
      const end = sizes.findIndex((part) => part.name === name);
      return sizes.slice(0, end).reduce((sum, { bytes }) => sum + bytes, 0);
    };
    await session.updateMessage(answer("a2", "Something else."));
    expect(await broken()).toEqual({ offset: before("a2"), source: "message", name: "a2", by: "edit" });
    // A message that was sent is shown as it is now.
    expect((await session.explainContext("u3"))?.isOutdated).toBe(true);
    await session.appendMessage(message("other"), "a1");
    expect(await broken()).toEqual({ offset: before("u2"), source: "message", name: "other", by: "branch" });
    await session.setActiveLeaf("u3");
    await session.prepareTurn();
    await session.deleteMessages(["u3"]);
    const end = await broken();
    expect([end?.source, end?.name]).toEqual([null, null]);
    await session.addCompaction("What was said.", "u1", "a1");
    expect((await broken())?.by).toBe("compaction");
    await session.addContext("more");
    expect(await broken()).toEqual({ offset: 0, source: "tool", name: "set_context", by: "tools" });
  });

  it("tells of a past request what was visible then", ["durable"], async (workspace) => {
    const { sessionOf } = workspace;
    const session = sessionOf("main").withContext("memory").withCachedPrompt();
    await talk(session);
    await session.prepareTurn();
    await session.addCompaction("What was said.", "u1", "a1");
    await session.appendAll([answer("a2"), message("u3")]);
    await session.prepareTurn();
    const again = (await workspace.restart()).sessionOf("main").withContext("memory").withCachedPrompt();
    const [past, present] = [await again.explainContext("u2"), await again.explainContext("u3")];
    expect(past?.parts.filter(({ source }) => source === "summary").length).toBe(0);
    expect(past?.parts.map(({ name }) => name)).toInclude("u1");
    expect([past?.isOutdated, present?.isOutdated]).toEqual([false, false]);
    const summary = present?.parts.find(({ source }) => source === "summary");
    const behind = present?.parts[present.parts.indexOf(summary as never) + 1];
    expect([behind?.source, behind?.name, behind?.reason.includes("how to read")]).toEqual([
      "update",
      summary?.name,
      true,
    ]);
    const sum = present?.parts.reduce((tokens, part) => tokens + part.tokens, 0) ?? 0;
    expect(Math.abs(sum - (present?.tokens ?? 0))).toBeAtMost(4);
    expect(summary?.reason).toBe('Stands for the messages from "u1" to "a1".');
    expect(present?.parts.map(({ name }) => name)).toExclude("u1");
    await again.clearMessages();
    expect(await again.explainContext("u3")).toBe(null);
  });
});

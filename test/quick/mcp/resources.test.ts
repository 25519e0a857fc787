import type { Client } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { estimateStringTokens } from "../../../packages/model/src/messages/tokens.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { patience } from "../../helpers/patience.js";
import { call, connect } from "../../mcp/connect.js";
import { fillStore, say } from "../../mcp/sample.js";

let store: Store;
let client: Client;

beforeEach(async () => {
  store = memory();
  await fillStore(store);
  client = await connect(store);
});
afterEach(async () => {
  await client.close();
  await store.close();
});

const PROFILE = { sessionId: "", kind: "block", label: "profile", scope: { key: "memory" } } as const;

describe("resources", () => {
  it("are the blocks, then the conversations, page by page", async () => {
    await store.blocks.set(PROFILE, "Likes tea.");
    for (let index = 0; index < 60; index += 1) await store.sessions.create({ id: `s${index}`, name: `S ${index}` });
    const first = await client.listResources({ cursor: undefined });
    expect(first.resources[0]).toMatchObject({
      uri: "stemma://block/profile",
      name: "block/profile",
      title: "profile",
    });
    const uris = new Set(first.resources.map(({ uri }) => uri));
    let cursor = first.nextCursor;
    while (cursor !== undefined) {
      const page = await client.listResources({ cursor });
      for (const { uri } of page.resources) uris.add(uri);
      cursor = page.nextCursor;
    }
    expect(uris.size).toBe(65);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain("stemma://session/{session}");
  });

  it("of a long conversation are its newest messages, within the budget", async () => {
    const long = Array.from({ length: 60 }, (_, index) => say(`l${index}`, "user", `${index} ${"word ".repeat(200)}`));
    await store.session("long").append(long);
    const { contents } = await client.readResource({ uri: "stemma://session/long" });
    const text = contents[0] !== undefined && "text" in contents[0] ? contents[0].text : "";
    expect(estimateStringTokens(text)).toBeLessThan(4_000);
    expect(text).toMatch(/^\(Earlier messages are left out; fetch "session\/long" has them\.\)/);
    expect(text).toContain("<<< l59 from user");
  });

  it("that a client subscribes to are told of when another program writes", async () => {
    const told: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const { id } = await call<{ id: string }>(client, "remember", { title: "tea", text: "green" });
    const uris = ["stemma://session/a1", "stemma://block/profile", `stemma://${id}`, "stemma://session/b1/message/m1"];
    for (const uri of uris) await client.subscribeResource({ uri });
    await client.subscribeResource({ uri: "stemma://session/a2" });
    await client.unsubscribeResource({ uri: "stemma://session/a2" });
    await store.session("a1").append([say("x", "user", "More.")]);
    await store.session("a2").append([say("x", "user", "More.")]);
    await store.blocks.set(PROFILE, "Likes tea.");
    await call(client, "remember", { title: "tea", text: "black" });
    await store.session("b1").update(say("m1", "user", "Edited."));
    await vi.waitFor(() => expect(told.toSorted()).toEqual(uris.toSorted()), {
      timeout: patience(30_000),
      interval: 50,
    });
    await expect(client.subscribeResource({ uri: "file:///x" })).rejects.toThrow("is not an id");
  });
});

describe("prompts", () => {
  const textOf = async (name: string, args: Record<string, string>) => {
    const { messages } = await client.getPrompt({ name, arguments: args });
    const [message] = messages;
    return message?.content.type === "text" ? message.content.text : "";
  };

  it("have titles and descriptions", async () => {
    const { prompts } = await client.listPrompts();
    expect(
      prompts.map(({ name, title, description }) => [name, title !== undefined, description !== undefined]),
    ).toEqual([
      ["continue_conversation", true, true],
      ["recall", true, true],
    ]);
  });

  it("continue the latest conversation, or the one that is named", async () => {
    await store.session("b1").append([say("x", "user", "The last word.")]);
    expect(await textOf("continue_conversation", {})).toContain("The last word.");
    for (const conversation of ["session/a1", "stemma://session/a1", "a1", "Tea of Ada", "of ada"]) {
      expect(await textOf("continue_conversation", { conversation })).toContain("of Ada");
    }
    await expect(textOf("continue_conversation", { conversation: "none" })).rejects.toThrow("no conversation");
  });

  it("recall what is known about a topic", async () => {
    await call(client, "remember", { text: "The quince tree stands at the wall." });
    expect(await textOf("recall", { topic: "quinces" })).toContain("The quince tree stands");
    expect(await textOf("recall", { topic: "zebra" })).toContain("nothing about it");
  });
});

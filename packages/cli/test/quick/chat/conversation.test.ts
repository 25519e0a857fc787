import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Session } from "../../../../session/src/session/session.js";
import { memory } from "../../../../store/src/memory.js";
import { Conversation } from "../../../src/chat/conversation.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A chat of 20 messages whose model gives a summary, after `meanwhile`. */
async function chat(meanwhile: () => Promise<number | undefined>) {
  const server = createServer(async (request, response) => {
    request.resume();
    const status = (await meanwhile()) ?? 200;
    response.writeHead(status, { "content-type": "application/json" });
    const message = { role: "assistant", content: "They planted carrots." };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    response.end(JSON.stringify(status === 200 ? { id: "c", created: 1, model: "m", choices } : { error: {} }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const store = memory();
  const conversation = await Conversation.start(store, { model: "m", baseUrl: `http://127.0.0.1:${port}/v1` });
  closing.push(
    () => conversation.close(),
    () => server.close(),
  );
  await conversation.begin("s");
  const { session } = conversation.session;
  await session.appendAll(Array.from({ length: 20 }, (_, index) => said(`m${index}`, "About the garden. ".repeat(20))));
  return { conversation, session, other: Session.create(store).forSession("s") };
}

const said = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });

it("goes on with a session that another chat has begun since it was looked for", async () => {
  const store = memory();
  const [first, second] = [await Conversation.start(store, {}), await Conversation.start(store, {})];
  closing.push(
    () => first.close(),
    () => second.close(),
  );
  const begin = second.begin.bind(second);
  second.begin = async (id) => {
    await first.enter({ session: "same" });
    await begin(id);
  };
  expect(await second.enter({ session: "same" })).toBe(false);
  expect([first.session.id, second.session.id]).toEqual(["same", "same"]);
  await expect(second.enter({ session: "same", new: true })).rejects.toMatchObject({ code: "SESSION_EXISTS" });
});

describe("/compact", () => {
  it("stores no summary over a message that was edited while the model was summarising", async () => {
    const { conversation, session, other } = await chat(async () => {
      await other.updateMessage(said("m5", "edited"));
      return undefined;
    });
    expect(await conversation.compact()).toBe(null);
    expect(JSON.stringify(await session.getHistory())).toContain("edited");
  });

  it("refreshes the prompt", async () => {
    const { conversation, session } = await chat(async () => undefined);
    await session.freezeSystemPrompt();
    await session.replaceContextBlock("memory", "likes carrots");
    expect(await session.freezeSystemPrompt()).not.toContain("likes carrots");
    expect(await conversation.compact()).toEqual({ before: 20, after: 7, by: "m" });
    expect(await session.freezeSystemPrompt()).toContain("likes carrots");
  });

  it("tells why the model gave no summary", async () => {
    const { conversation } = await chat(async () => 400);
    await expect(conversation.compact()).rejects.toThrow(/Bad Request/);
  });
});

import { expect, it } from "vitest";
import { memory } from "../../../../../store/src/memory.js";
import { Conversation } from "../../../../src/chat/conversation.js";

const say = async (conversation: Conversation, text: string): Promise<string> => {
  let answer = "";
  await conversation.session.send(text);
  for await (const event of conversation.session.receive()) if (event.type === "text") answer += event.text;
  return answer;
};

it("learns the user's name in one chat and knows it in the next", async () => {
  const conversation = await Conversation.start(memory(), {});
  await conversation.begin();
  expect(await say(conversation, "What is my name?")).toBe("Nothing is remembered about your name.");
  expect(await say(conversation, "Hi, my name is Ada Lovelace. I live in Lima.")).toContain("Ada Lovelace");
  const { id } = conversation.session;
  await conversation.begin();
  expect(await say(conversation, "What is my name?")).toContain("Is called Ada Lovelace.");
  expect(await say(conversation, "what do you know about me?")).toContain("Lives in Lima.");
  expect(await say(conversation, "Call me Ada.")).toContain("Hello, Ada.");
  await conversation.begin();
  expect(await say(conversation, "What is my name?")).toContain("Is called Ada.");
  const history = await conversation.session.session.getBlockHistory("memory");
  expect(history.map(({ author, sessionId }) => [author, sessionId === id])).toEqual([
    ["learning", false],
    ["learning", true],
    ["learning", true],
  ]);
  await conversation.close();
});

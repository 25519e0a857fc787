import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { fakeModel } from "@langchain/core/testing";
import { expect, it } from "vitest";
import { StemmaChatMessageHistory } from "../../../packages/stemma/src/langchain.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { describeStores, newSessionIds } from "../../adapters/stores.js";

const call = (id: string) => ({ id, name: "add", args: { a: 1 }, type: "tool_call" as const });
const dicts = (messages: readonly BaseMessage[]) => JSON.parse(JSON.stringify(messages.map((each) => each.toDict())));

describeStores("a chat history of LangChain", (store) => {
  const nextId = newSessionIds();
  const open = () => {
    const session = Session.create(store()).forSession(nextId());
    return { session, history: new StemmaChatMessageHistory(session) };
  };

  it("gives back messages of every kind as they were added", async () => {
    const { history } = open();
    const messages = [
      new SystemMessage("Be brief."),
      new HumanMessage({
        id: "h1",
        name: "ada",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "image", source_type: "id", id: "file-1" },
        ],
      }),
      new AIMessage({
        id: "a1",
        content: [{ type: "text", text: "Looking." }],
        tool_calls: [call("1"), call("2"), { name: "nameless", args: {} }],
        additional_kwargs: { extra: { a: 1 } },
      }),
      new ToolMessage({ content: "2", tool_call_id: "2", name: "add", artifact: { z: 1 } }),
      new ToolMessage({ content: "no", tool_call_id: "1", name: "add", status: "error" }),
      new AIMessageChunk("Done."),
      new ChatMessage("I object.", "critic"),
      new ToolMessage({ content: "lost", tool_call_id: "nobody" }),
    ];
    await history.addMessages(messages);
    expect(dicts(await history.getMessages())).toEqual(dicts(messages));
    expect((await history.getMessages()).slice(0, 5).map((message) => message.constructor)).toEqual(
      messages.slice(0, 5).map((message) => message.constructor),
    );
  });

  it("keeps a call and its result in one part, also when the result comes later", async () => {
    const { session, history } = open();
    await history.addMessages([new HumanMessage("a"), new AIMessage({ content: "", tool_calls: [call("1")] })]);
    const pending = [history.addMessage(new ToolMessage({ content: '{"n":2}', tool_call_id: "1" }))];
    pending.push(history.addAIMessage("b"), history.addUserMessage("c"));
    await Promise.all(pending);
    expect(dicts(await history.getMessages()).map(({ type }: { type: string }) => type)).toEqual([
      "human",
      "ai",
      "tool",
      "ai",
      "human",
    ]);
    const [, message] = await session.getHistory();
    expect(message?.parts).toMatchObject([{ state: "output-available", input: { a: 1 }, output: { n: 2 } }]);
    expect((await session.getTree()).length).toBe(4);
  });

  it("clears what it holds", async () => {
    const { history } = open();
    await history.addUserMessage("a");
    await history.clear();
    expect(await history.getMessages()).toEqual([]);
  });

  it("is the memory of a RunnableWithMessageHistory", async () => {
    const model = fakeModel().respond(new AIMessage("Hello Ada.")).respond(new AIMessage("Ada."));
    const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{question}"]]);
    const sessions = new Map<string, Session>();
    const chain = new RunnableWithMessageHistory({
      runnable: prompt.pipe(model),
      getMessageHistory: (id: string) => {
        const session = Session.create(store()).forSession(id);
        sessions.set(id, session);
        return new StemmaChatMessageHistory(session);
      },
      inputMessagesKey: "question",
      historyMessagesKey: "history",
    });
    const config = { configurable: { sessionId: nextId() } };
    await chain.invoke({ question: "I am Ada." }, config);
    const answer = await chain.invoke({ question: "Who am I?" }, config);
    expect(answer.content).toBe("Ada.");
    const asked = model.calls.at(-1)?.messages.map(({ content }) => content);
    expect(asked).toEqual(["I am Ada.", "Hello Ada.", "Who am I?"]);
    const session = sessions.get(config.configurable.sessionId) as Session;
    expect((await session.getHistory()).map(({ parts }) => parts[0]?.text)).toEqual([
      "I am Ada.",
      "Hello Ada.",
      "Who am I?",
      "Ada.",
    ]);
  });
});

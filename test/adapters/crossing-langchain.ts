import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { StemmaChatMessageHistory } from "../../packages/stemma/src/langchain.js";
import { StemmaSaver } from "../../packages/stemma/src/langgraph.js";
import { Session } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { asValue, type Call, isCall, type Said, stepsOf, textOf } from "./crossing-said.js";

const historyOf = (store: Store, id: string) => new StemmaChatMessageHistory(Session.create(store).forSession(id));

// ── LangChain's chat history ──

export async function writeLangchain(store: Store, id: string, conversation: readonly Said[]): Promise<void> {
  await historyOf(store, id).addMessages(toLangchain(conversation));
}

export async function readLangchain(store: Store, id: string): Promise<Said[]> {
  return fromLangchain(await historyOf(store, id).getMessages());
}

// ── LangGraph ──

export async function writeGraph(store: Store, id: string, conversation: readonly Said[]): Promise<void> {
  await graphOn(store).updateState({ configurable: { thread_id: id } }, { messages: toLangchain(conversation) });
}

/** A graph begins with what the chat history gives, in a thread of its own. */
export async function readGraph(store: Store, id: string): Promise<Said[]> {
  const graph = graphOn(store);
  const config = { configurable: { thread_id: `${id} in a graph` } };
  await graph.updateState(config, { messages: await historyOf(store, id).getMessages() });
  const { values } = await graph.getState(config);
  return fromLangchain(values.messages);
}

function graphOn(store: Store) {
  return new StateGraph(MessagesAnnotation)
    .addNode("model", async () => ({ messages: [] }))
    .addEdge(START, "model")
    .addEdge("model", END)
    .compile({ checkpointer: new StemmaSaver(store) });
}

// ── Messages of both ──

function toLangchain(conversation: readonly Said[]): BaseMessage[] {
  return stepsOf(conversation).flatMap((step, index): BaseMessage[] => {
    const [said] = step as [Said];
    if ("answer" in said) return [new AIMessage({ id: `run-${index}`, content: said.answer })];
    if ("user" in said) {
      if (said.image === undefined) return [new HumanMessage(said.user)];
      const image = { type: "image_url", image_url: { url: said.image } };
      return [new HumanMessage({ content: [{ type: "text", text: said.user }, image] })];
    }
    const calls = step.filter(isCall);
    const tool_calls = calls.map(({ call, tool, input }) => ({ id: call, name: tool, args: input as object }));
    return [
      new AIMessage({ content: "", tool_calls }),
      ...calls.map(({ call, output }) => new ToolMessage({ tool_call_id: call, content: textOf(output) })),
    ];
  });
}

function fromLangchain(messages: readonly BaseMessage[]): Said[] {
  return messages.flatMap((message): Said[] => {
    if (message instanceof HumanMessage) {
      const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
      const text = content.flatMap((block) => (block.type === "text" ? [String(block.text)] : [])).join("");
      const image = content.flatMap((block) => (block.type === "image_url" ? [block.image_url] : []))[0];
      return [image === undefined ? { user: text } : { user: text, image: (image as { url: string }).url }];
    }
    if (!(message instanceof AIMessage)) return [];
    const calls = (message.tool_calls ?? []).map(({ id: call = "", name, args }): Call => {
      const result = messages.find((each) => each instanceof ToolMessage && each.tool_call_id === call);
      return { call, tool: name, input: args, output: asValue(String(result?.content)) };
    });
    return [...(message.text === "" ? [] : [{ answer: message.text }]), ...calls];
  });
}

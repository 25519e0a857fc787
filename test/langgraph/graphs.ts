import { AIMessage, type BaseMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import type { SessionMessage, Store } from "../../packages/stemma/src/index.js";

export const user = (text: string, id = `u-${text}`) => new HumanMessage({ id, content: text });

/** A chat whose answers, and their ids, follow from what was asked; a question that names a tool calls it. */
export function chatGraph(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({ messages: [answerTo(messages)] }))
    .addNode("tools", ({ messages }) => ({ messages: callsOf(messages.at(-1)).map(resultOf) }))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => (callsOf(messages.at(-1)).length > 0 ? "tools" : END))
    .addEdge("tools", "agent")
    .compile({ checkpointer });
}

function callsOf(message: BaseMessage | undefined) {
  return (message as AIMessage | undefined)?.tool_calls ?? [];
}

function answerTo(messages: readonly BaseMessage[]): AIMessage {
  const last = messages.at(-1) as BaseMessage;
  const id = `a${messages.length}-${last.id}`;
  if (last.getType() !== "human" || !last.text.includes("weather")) {
    return new AIMessage({ id, content: `answer to ${last.text}` });
  }
  return new AIMessage({
    id,
    content: "I look it up.",
    tool_calls: [{ id: `call-${last.id}`, name: "weather", args: { city: "Bern" }, type: "tool_call" }],
  });
}

function resultOf({ id = "", name, args }: { id?: string; name: string; args: Record<string, unknown> }): ToolMessage {
  return new ToolMessage({ id: `t-${id}`, tool_call_id: id, name, content: `sunny in ${args.city}` });
}

/** Runs two nodes at once for each item, then asks; a subgraph asks too. */
export function workGraph(checkpointer: BaseCheckpointSaver) {
  const Work = Annotation.Root({
    items: Annotation<string[]>,
    done: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
    approved: Annotation<string>,
  });
  const review = new StateGraph(Work)
    .addNode("look", ({ done }) => ({ done: [`looked at ${done.length}`] }))
    .addNode("ask", ({ done }) => ({ approved: interrupt({ asks: done.length }) as string }))
    .addEdge(START, "look")
    .addEdge("look", "ask")
    .addEdge("ask", END)
    .compile();
  return new StateGraph(Work)
    .addNode("plan", ({ items }) => ({ done: [`plan of ${items.length}`] }))
    .addNode("work", ({ items }) => ({ done: [`did ${items[0]}`] }))
    .addNode("review", review)
    .addEdge(START, "plan")
    .addConditionalEdges("plan", ({ items }) => items.map((item) => new Send("work", { items: [item] })), ["work"])
    .addEdge("work", "review")
    .addEdge("review", END)
    .compile({ checkpointer });
}

export const thread = (thread_id: string) => ({ configurable: { thread_id } });

/** A graph's history as two savers must agree on it: all but ids and times. */
export async function historyOf(
  graph: Pick<ReturnType<typeof chatGraph>, "getStateHistory">,
  config: ReturnType<typeof thread>,
) {
  const states: unknown[] = [];
  for await (const { values, next, metadata, tasks } of graph.getStateHistory(config)) {
    states.push({
      values: shown(values),
      next,
      source: metadata?.source,
      step: metadata?.step,
      tasks: tasks.map(({ name, interrupts, error }) => ({ name, asks: interrupts.map(({ value }) => value), error })),
    });
  }
  return states;
}

function shown(values: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(values));
}

/** The session's active path, as texts. */
export async function pathOf(store: Store, sessionId: string): Promise<string[]> {
  const { messages } = await store.session(sessionId).path();
  return messages.map(textOf);
}

/** What a message of the session, or of LangChain, says. */
export function textOf(message: SessionMessage | BaseMessage): string {
  if (!("parts" in message)) return message.text;
  return message.parts.map(({ text, output }) => text ?? output ?? "").join("");
}

export { RemoveMessage };

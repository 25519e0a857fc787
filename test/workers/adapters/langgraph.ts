import { HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { StemmaSaver } from "../../../packages/stemma/src/langgraph.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { RemoteObject, route } from "../agent.js";

/** A thread of LangGraph on a Durable Object. */
export class GraphObject extends RemoteObject {
  readonly #store = durableObject(this.ctx);

  /** Runs a graph twice, and gives its state and what the session shows. */
  async run(): Promise<{ state: number; session: (string | undefined)[] }> {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }) => ({ messages: [{ role: "ai", content: `Answer ${messages.length}` }] }))
      .addEdge(START, "model")
      .compile({ checkpointer: new StemmaSaver(this.#store) });
    const config = { configurable: { thread_id: "chat" } };
    for (const said of ["Hello", "Again"]) await graph.invoke({ messages: [new HumanMessage(said)] }, config);
    const { values } = await graph.getState(config);
    const history = await Session.create(this.#store).forSession("chat").getHistory();
    return { state: values.messages.length, session: history.map(({ parts }) => parts[0]?.text) };
  }
}

export default route;

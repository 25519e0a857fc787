import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { durableObject } from "../../../src/durable-object.js";
import { StemmaChatMessageHistory } from "../../../src/langchain.js";
import { Session } from "../../../src/session.js";
import { RemoteObject, route } from "../agent.js";

/** A chat history of LangChain on a Durable Object. */
export class HistoryObject extends RemoteObject {
  readonly #store = durableObject(this.ctx);

  async chat(): Promise<string[]> {
    const history = new StemmaChatMessageHistory(Session.create(this.#store).forSession("chat"));
    await history.addMessages([new HumanMessage("I am Ada."), new AIMessage("Hello Ada.")]);
    return (await history.getMessages()).map(({ type, text }) => `${type}: ${text}`);
  }
}

export default route;

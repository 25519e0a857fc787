import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { StemmaChatMessageHistory } from "../../../packages/stemma/src/langchain.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
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

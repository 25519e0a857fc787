import { Agent, Runner } from "@openai/agents";
import { assistantMessage, ScriptedModel } from "@openai/agents/testing";
import { openaiAgentsSession } from "../../../packages/stemma/src/openai-agents.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { RemoteObject, route } from "../agent.js";

/** A session of the OpenAI Agents SDK on a Durable Object. */
export class AgentsObject extends RemoteObject {
  readonly #store = durableObject(this.ctx);

  /** Runs an agent twice, and gives what its session then holds. */
  async run(): Promise<string[]> {
    const session = openaiAgentsSession(Session.create(this.#store).forSession("chat"));
    const model = new ScriptedModel([[assistantMessage("Hello Ada.")], [assistantMessage("You are Ada.")]]);
    const agent = new Agent({ name: "Mill", model });
    for (const said of ["I am Ada.", "Who am I?"])
      await new Runner({ tracingDisabled: true }).run(agent, said, { session });
    return (await session.getItems()).map((item) => JSON.stringify("content" in item ? item.content : item));
  }
}

export default route;

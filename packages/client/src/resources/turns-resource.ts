import type { WriteInit } from "../client-options.js";
import { type Answer, type Body, Resource, SESSION } from "./resource.js";

/** Turns of a program with a model of its own. */
export class Turns extends Resource {
  /** Gives what a request to a model needs, after the user's message was appended: the prompt, the history, and tools as JSON Schema. */
  prepare(
    session: string,
    turn: Body<`POST ${typeof SESSION}/turn`> = {},
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof SESSION}/turn`>> {
    return this.call(`POST ${SESSION}/turn`, [session], init, turn);
  }

  /** Runs a tool that a turn gave: its `output` is the text for the model. Errors: `TOOL_REFUSED` where the user must agree first. */
  runTool(
    session: string,
    tool: string,
    call: Body<`POST ${typeof SESSION}/tools/{tool}`>,
    init?: WriteInit,
  ): Promise<Answer<`POST ${typeof SESSION}/tools/{tool}`>> {
    return this.call(`POST ${SESSION}/tools/{tool}`, [session, tool], init, call);
  }

  /** Has the server learn from what is new. */
  learn(session: string, init?: WriteInit): Promise<Answer<`POST ${typeof SESSION}/learn`>> {
    return this.call(`POST ${SESSION}/learn`, [session], init);
  }
}

import { durableObject } from "../../packages/store/src/durable-object.js";
import { type Answer, askingOn, type Question } from "../studio/ask.js";
import { fillSample } from "../studio/sample.js";
import { RemoteObject, route } from "./agent.js";

/** A Durable Object with a studio on its store. */
export class StudioObject extends RemoteObject {
  readonly #store = durableObject(this.ctx);

  fill(): Promise<void> {
    return fillSample(this.#store);
  }

  ask(question: Question): Promise<Answer> {
    return askingOn(this.#store)(question);
  }
}

export default route;

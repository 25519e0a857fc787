import type { ToolSet } from "ai";
import { invalid } from "../../errors.js";
import { assertKnownOptions, type OptionNames } from "../../known-options.js";
import { isJsonObject } from "../../model/json-object.js";
import { assertOneOf } from "../../session/arguments.js";
import { assertPrepareTurnOptions, type RecallOptions } from "../../session/turn/request.js";
import type { ProviderName } from "../lint/known-providers.js";
import type { WhenBusy } from "../run/runs.js";

export interface ReceiveOptions {
  /**
   * The model that will be asked, or the name of its provider: what it refuses is mended, see `repair`. Default: what any
   * provider refuses.
   */
  model?: ProviderName | undefined;
  /** The tools that the model is given beside the session's. A client gives no outputs for those with `execute`. */
  tools?: ToolSet | undefined;
  /**
   * What to do while the session is being answered: wait until that has ended (the default), or fail with `SESSION_BUSY`. One
   * that waits is not stored yet, and is dropped if its client leaves.
   */
  whenBusy?: WhenBusy | undefined;
  /** Default 16 MiB. */
  maxBodyBytes?: number | undefined;
  /** How long a run counts as alive after its process last said so, in milliseconds. Default 10,000. */
  lease?: number | undefined;
  /** How long the model's provider keeps the prefix of a request, in milliseconds. Default 300,000. */
  cacheTtl?: number | undefined;
  /** Quotes what the user's other chats say about the message. Default: nothing. */
  recall?: RecallOptions | undefined;
}

const NAMES: OptionNames<ReceiveOptions> = {
  model: true,
  tools: true,
  whenBusy: true,
  maxBodyBytes: true,
  lease: true,
  cacheTtl: true,
  recall: true,
};

/** Throws `INVALID_ARGUMENT` for options that `receive` cannot take. */
export function assertReceiveOptions(options: ReceiveOptions): void {
  assertKnownOptions(options, "receive()", NAMES);
  const { model, tools } = options;
  if (model !== undefined && typeof model !== "string" && !isJsonObject(model)) {
    throw invalid("model must be a model of the AI SDK, or the name of its provider.");
  }
  if (tools !== undefined && !isJsonObject(tools)) throw invalid("tools must be an object of tools by their names.");
  assertLimits(options, "receive()");
}

/** The same for the options that `chatHandler` has too. */
export function assertLimits(
  { whenBusy, maxBodyBytes, lease, cacheTtl, recall }: Omit<ReceiveOptions, "model" | "tools">,
  method: string,
): void {
  assertOneOf(whenBusy, ["queue", "reject", undefined], "whenBusy");
  for (const [name, value] of Object.entries({ maxBodyBytes, lease })) {
    if (value === undefined || (typeof value === "number" && value > 0)) continue;
    throw invalid(`${name} must be a number above 0.`, { [name]: value });
  }
  assertPrepareTurnOptions({ cacheTtl, recall }, method);
}

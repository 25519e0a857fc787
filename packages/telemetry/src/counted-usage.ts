import type { Observed } from "@stemma/store";

/** The usage of one request to a model, as a call counts it. */
export interface CountedUsage {
  readonly sessionId: string;
  readonly input: number;
  readonly output: number;
  readonly model: string | undefined;
}

/** Finds the usage that a call counts: `addUsage(id, inputTokens, outputTokens, cost, model)`, or such writes of `writeTogether`. */
export function countedUsage({ name, values = [] }: Observed): CountedUsage[] {
  if (name === "sessions.addUsage") {
    const [id, input, output, , model] = values;
    return [{ sessionId: String(id), input: Number(input), output: Number(output), model: nameOf(model) }];
  }
  const [writes] = values;
  if (name !== "writeTogether" || !Array.isArray(writes)) return [];
  return writes.flatMap(({ registered, usage, model }) =>
    usage === undefined
      ? []
      : [{ sessionId: registered, input: usage.inputTokens, output: usage.outputTokens, model: nameOf(model) }],
  );
}

const nameOf = (model: unknown) => (typeof model === "string" ? model : undefined);

import type { SessionMessagePart } from "@stemma/model";
import { readToolPart } from "@stemma/model";

/**
 * Takes a message apart where other formats would have several: the AI SDK keeps rounds of calls and what was said after
 * them in one message, others write the results between them. Parts that `isContent` denies start no step of their own;
 * a step without content or calls is left out.
 */
export function splitSteps(
  parts: readonly SessionMessagePart[],
  isContent: (part: SessionMessagePart) => boolean,
): SessionMessagePart[][] {
  const steps: SessionMessagePart[][] = [];
  let step: SessionMessagePart[] = [];
  let called = false;
  for (const part of parts) {
    const isCall = readToolPart(part) !== null;
    if (part.type === "step-start" || (called && !isCall && isContent(part))) {
      steps.push(step);
      step = [];
      called = false;
    }
    called ||= isCall;
    step.push(part);
  }
  return [...steps, step].filter((found) => found.some((part) => isContent(part) || readToolPart(part) !== null));
}

import { yieldIfDue } from "@stemma/model";
import type { convertToModelMessages, ModelMessage, UIMessage } from "ai";

type Convert = typeof convertToModelMessages;

const PIECE = 100;

/**
 * Converts messages for a model with `convert` of the AI SDK. It takes each by itself, so it is given a long history in pieces,
 * between which the event loop turns.
 */
export async function modelMessages(
  convert: Convert,
  messages: readonly UIMessage[],
  options: Parameters<Convert>[1],
): Promise<ModelMessage[]> {
  const made: ModelMessage[] = [];
  for (let start = 0; start < messages.length; start += PIECE) {
    made.push(...(await convert(messages.slice(start, start + PIECE), options)));
    const due = yieldIfDue();
    if (due !== null) await due;
  }
  return made;
}

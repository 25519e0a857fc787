import { convertToModelMessages, type UIMessage } from "ai";
import { expect, it } from "vitest";
import { modelMessages } from "../../../../src/ai-sdk/message/model-messages.js";

it("converts a long history in pieces as the AI SDK converts it at once", async () => {
  const call = { type: "tool-find", toolCallId: "c", state: "output-available", input: {}, output: "found" };
  const messages = Array.from({ length: 250 }, (_, index) => {
    const text = { type: "text", text: `Message ${index}` };
    return index % 2 === 0
      ? { id: `m${index}`, role: "user", parts: [text] }
      : {
          id: `m${index}`,
          role: "assistant",
          parts: [{ ...call, toolCallId: `c${index}` }, { type: "step-start" }, text],
        };
  }) as UIMessage[];
  expect(await modelMessages(convertToModelMessages, messages, {})).toEqual(await convertToModelMessages(messages));
});

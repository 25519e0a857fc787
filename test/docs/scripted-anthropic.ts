import Anthropic from "@anthropic-ai/sdk";

const usage = { input_tokens: 10, output_tokens: 2 };
const message = (content: unknown[], stop_reason: string) => ({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-5-5", content, stop_reason, usage },
});

const ANSWERS = [
  message(
    [
      {
        type: "tool_use",
        id: "toolu_1",
        name: "memory",
        input: { command: "create", path: "/memories/preferences.md", file_text: "Ada drinks tea.\n" },
      },
    ],
    "tool_use",
  ),
  message([{ type: "text", text: "Noted." }], "end_turn"),
];

/** Stands for the client of Anthropic's SDK where the docs' code is run: its model writes one memory, then answers. */
export default class ScriptedAnthropic extends Anthropic {
  constructor() {
    const answers = ANSWERS.values();
    super({ apiKey: "none", fetch: async () => Response.json(answers.next().value) });
  }
}

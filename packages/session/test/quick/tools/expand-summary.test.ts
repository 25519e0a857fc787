import { describe, expect, it } from "vitest";
import { StemmaError } from "../../../../model/src/errors.js";
import type { SessionMessage } from "../../../../model/src/messages/message.js";
import { createExpandSummaryTool } from "../../../src/tools/expand-summary.js";

const messages: SessionMessage[] = [
  { id: "m1", role: "user", parts: [{ type: "text", text: "Deploy, please." }], createdAt: "2025-06-01T09:30:00.000Z" },
  {
    id: "m2",
    role: "assistant",
    parts: [
      { type: "tool-deploy", toolCallId: "c", state: "output-available", input: { to: "prod" }, output: "done" },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
      { type: "text", text: "Deployed." },
    ],
  },
];

const expand = async (id: string) => {
  if (id === "c1") return messages;
  throw new StemmaError("COMPACTION_NOT_FOUND", { id }, `No compaction has the id "${id}".`);
};

describe("expand_summary", () => {
  it("shows the original messages with their tool calls, and no file contents", async () => {
    const text =
      '[user · m1 · 2025-06-01T09:30:00.000Z]\nDeploy, please.\n\n[assistant · m2]\n(tool deploy)\ninput: {"to":"prod"}\noutput: done\n(file)\nDeployed.';
    expect(await createExpandSummaryTool(expand).execute({ id: "c1" })).toBe(text);
    expect(await createExpandSummaryTool(expand).execute({ id: "compaction_c1" })).toBe(text);
  });

  it("lists the summaries when it is not given one", async () => {
    const list = async () => [
      {
        id: "c1",
        summary: `About\n\ndeploys ${"x".repeat(500)}`,
        fromMessageId: "m1",
        toMessageId: "m2",
        createdAt: "2025-06-02T00:00:00.000Z",
      },
    ];
    const text = await createExpandSummaryTool(expand, list).execute({});
    expect(text).toMatch(/^- c1 \(2025-06-02T00:00:00\.000Z\): About deploys x+…$/);
    expect(text.length).toBeLessThan(300);
    expect(await createExpandSummaryTool(expand, async () => []).execute({})).toBe(
      "Nothing of this conversation was summarised.",
    );
  });

  it("refuses in words", async () => {
    const tool = createExpandSummaryTool(expand);
    expect(await tool.execute({})).toMatch(/^Error: /);
    expect(await tool.execute({ id: "c9" })).toBe('Error: No compaction has the id "c9".');
    expect(await tool.execute({ id: "c1", page: 2 })).toBe("Error: There is 1 page.");
    expect(await tool.execute({ id: "c1", page: 0 })).toMatch(/^Error: page/);
  });

  it("goes page by page through what is long, leaving nothing of the texts out", async () => {
    const text = Array.from({ length: 8000 }, (_, index) => `${index}😀`).join(" ");
    const long: SessionMessage[] = [
      { id: "m1", role: "user", parts: [{ type: "text", text }] },
      { id: "m2", role: "tool", parts: [{ type: "dynamic-tool", toolName: "read", output: { text } }] },
    ];
    const tool = createExpandSummaryTool(async () => long);
    let all = "";
    for (let page = 1; ; page++) {
      const shown = await tool.execute({ id: "c", page });
      if (shown.startsWith("Error: There are")) break;
      expect(shown.length).toBeLessThan(25_000);
      all += shown.replace(/\n\n\(Page \d+ of \d+\.\)$/, "");
    }
    expect(all).toContain(text);
    expect(all.length).toBeLessThan(text.length + 1500);
  });
});

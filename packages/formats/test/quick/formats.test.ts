import { describe, expect, it } from "vitest";
import { jsonl, sessionsOf } from "../../../../test/cli/read.js";
import { readSessions } from "../../src/read.js";

const message = { id: "a", role: "user", parts: [] };

describe("recognising a format", () => {
  it("goes by the first value", async () => {
    const files: [string, string][] = [
      [JSON.stringify([message]), "ui-messages"],
      [jsonl([{ role: "user", content: "x" }]), "openai"],
      [JSON.stringify([{ task_id: 3, traj: [{ role: "user", content: "x" }] }]), "openai"],
      [
        jsonl([
          { type: "session", id: "s" },
          { type: "message", message: { role: "user", content: "x" } },
        ]),
        "pi",
      ],
    ];
    for (const [text, source] of files) {
      const [session] = await sessionsOf(text);
      expect(session?.source).toBe(source);
      expect(session?.messages).toHaveLength(1);
    }
  });

  it("passes over a first line that is broken, and reports it", async () => {
    const [session] = await sessionsOf(`{"id":"0","role"\n${jsonl([message])}`);
    expect(session?.messages).toHaveLength(1);
    expect(session?.skipped).toEqual([{ line: 1, why: expect.stringContaining("not JSON") }]);
  });

  it("refuses what it does not know, and names what it does", async () => {
    for (const text of ["", "hello\n", '{"a":1}', "[]", "[[]]", "42", '"x"', "null", "<xml/>", '[{"role":5}]']) {
      await expect(sessionsOf(text)).rejects.toMatchObject({
        code: "UNKNOWN_FORMAT",
        message: expect.stringMatching(/jsonl.*pi.*ui-messages.*openai/s),
      });
    }
  });

  it("reads in the format that is named, and refuses a name that is none", async () => {
    const [session] = await sessionsOf(jsonl([{ role: "user", content: "x", parts: [] }]), { format: "openai" });
    expect(session?.source).toBe("openai");
    await expect(sessionsOf("[]", { format: "word" })).rejects.toMatchObject({ code: "UNKNOWN_FORMAT" });
  });

  it("closes what it reads from, also where it reads no further than the start", async () => {
    for (const [text, format] of [
      ['{"a":1}\n', undefined],
      ["hello\n", "pi"],
      [jsonl([{ role: "user", content: "x" }]), undefined],
    ] as const) {
      let isClosed = false;
      async function* bytes(): AsyncGenerator<Uint8Array> {
        try {
          yield new TextEncoder().encode(text);
          yield new TextEncoder().encode("\n");
        } finally {
          isClosed = true;
        }
      }
      const sessions = readSessions(bytes(), { format });
      await sessions.next().catch(() => {});
      await sessions.return(undefined);
      expect(isClosed).toBe(true);
    }
  });
});

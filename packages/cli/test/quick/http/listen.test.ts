import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { listen } from "../../../src/http/listen.js";

async function answerTo(request: string, handler = async () => new Response("ok")): Promise<string> {
  const server = await listen(handler, { host: "127.0.0.1", port: 0 });
  try {
    return await text(connect(server.port, "127.0.0.1").end(request));
  } finally {
    await server.close();
  }
}

it.each([
  ["Host: a b", "a space"],
  ["Host: http://x/", "a URL"],
  ["Host: %00", "an escape"],
  ["Host: [::1", "half of a bracket"],
  ["X-Host: x", "no Host"],
])("refuses a malformed Host with a problem: %s (%s)", async (header) => {
  const answer = await answerTo(`GET / HTTP/1.1\r\n${header}\r\nConnection: close\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  expect(answer).toContain("content-type: application/problem+json");
  expect(answer).toContain('"code":"INVALID_ARGUMENT"');
});

it("answers with a problem where a handler fails, and says nothing of why", async () => {
  const failing = () => Promise.reject(new Error("a secret"));
  const answer = await answerTo("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", failing);
  expect(answer).toMatch(/^HTTP\/1.1 500 /);
  expect(answer).toContain('"code":"INTERNAL"');
  expect(answer).not.toContain("secret");
});

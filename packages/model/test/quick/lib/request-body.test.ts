import { describe, expect, it } from "vitest";
import { readJsonObject } from "../../../src/index.js";

const limits = { maxBytes: 20, advice: "Send less." };

const bytesOf = (text: string) => new TextEncoder().encode(text);

const post = (body: Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string> = {}) =>
  new Request("http://localhost/", { method: "POST", body, headers, duplex: "half" } as RequestInit);

const broken = () =>
  new ReadableStream({
    pull: (controller) => controller.error(new Error("gone")),
  });

describe.each([
  ["of a length that is known", (body: Uint8Array) => ({ "content-length": String(body.byteLength) })],
  ["of a length that is no number", () => ({ "content-length": "many" })],
  ["of an unknown length", () => ({})],
])("a body %s", (_, headersOf: (body: Uint8Array) => Record<string, string>) => {
  const read = (body: Uint8Array<ArrayBuffer>) => readJsonObject(post(body, headersOf(body)), limits);

  it("is read as a JSON object", async () => {
    expect(await read(bytesOf('{"a":"ä"}'))).toEqual({ a: "ä" });
  });

  it("is refused where it is too large, is not UTF-8 or is no object", async () => {
    await expect(read(bytesOf(`{"a":"${"x".repeat(20)}"}`))).rejects.toMatchObject({ code: "REQUEST_TOO_LARGE" });
    await expect(read(Uint8Array.of(0x22, 0xff, 0x22))).rejects.toMatchObject({ code: "INVALID_TEXT" });
    await expect(read(Uint8Array.of(0x22, 0xc3))).rejects.toMatchObject({ code: "INVALID_TEXT" });
    await expect(read(bytesOf("[1]"))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("is refused where it breaks off", async () => {
    const request = post(broken(), headersOf(new Uint8Array(5)));
    await expect(readJsonObject(request, limits)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

it("refuses a body that is larger than it says", async () => {
  const request = post(bytesOf(`{"a":"${"x".repeat(20)}"}`), { "content-length": "5" });
  await expect(readJsonObject(request, limits)).rejects.toMatchObject({ code: "REQUEST_TOO_LARGE" });
});

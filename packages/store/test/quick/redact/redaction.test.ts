import { expect, it } from "vitest";
import { encodeJson } from "../../../../model/src/lib/json.js";
import { packFrames, unpackFrames } from "../../../../model/src/messages/frames.js";
import { redactRecord } from "../../../src/redact/redact-records.js";
import { redactionOf } from "../../../src/redact/redaction.js";

const redaction = redactionOf((text) => text.replaceAll("secret", "[gone]"));
const WHERE = { kind: "message", sessionId: "s" } as const;
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");

it("gives the same object where nothing changed, and a changed copy elsewhere", () => {
  const value = { a: ["plain", { b: 1, c: null }], d: new Date(0) };
  expect(redaction.json(value, WHERE)).toBe(value);
  const given = { a: ["secret", { b: "plain" }], secret: "key" };
  const made = redaction.json(given, WHERE);
  expect(made).toEqual({ a: ["[gone]", { b: "plain" }], secret: "key" });
  expect([made.a[1] === given.a[1], given.a[0]]).toEqual([true, "secret"]);
  const own = JSON.parse('{"__proto__": "secret"}');
  expect(JSON.stringify(redaction.json(own, WHERE))).toBe('{"__proto__":"[gone]"}');
});

it.each([
  [`data:text/plain;base64,${base64("a secret")}`, `data:text/plain;base64,${base64("a [gone]")}`],
  [
    `data:text/plain;charset=utf-8;base64,${base64("ä secret")}`,
    `data:text/plain;charset=utf-8;base64,${base64("ä [gone]")}`,
  ],
  [`data:application/ld+json;base64,${base64('"secret"')}`, `data:application/ld+json;base64,${base64('"[gone]"')}`],
  [`data:;base64,${base64("secret")}`, `data:;base64,${base64("[gone]")}`],
  ["data:text/plain,a%20secre%74", "data:text/plain,a%20%5Bgone%5D"],
  ["data:,secret", "data:,[gone]"],
  [`data:image/png;base64,${base64("secret")}`, `data:image/png;base64,${base64("secret")}`],
  [
    `data:text/plain;base64,${base64(new Uint8Array([255, 254]))}`,
    `data:text/plain;base64,${base64(new Uint8Array([255, 254]))}`,
  ],
  ["data: it is a secret, really", "data: it is a [gone], really"],
  ["data:text/plain;base64,secret!", "data:text/plain;base64,[gone]!"],
  ["data:text/plain,%secret", "data:text/plain,%[gone]"],
  ["data:text/plain,%zz%20secre%74", "data:text/plain,%25zz%20%5Bgone%5D"],
  ["data:text/plain,\ud800%20secret", "data:text/plain,\ud800 [gone]"],
  [`DATA:text/plain;base64,${base64("a secret")}`, `DATA:text/plain;base64,${base64("a [gone]")}`],
  [
    `data:text/plain; charset=utf-8; base64, ${base64("secret")}`,
    `data:text/plain; charset=utf-8; base64,${base64("[gone]")}`,
  ],
  [`data:text/plain;base64,${base64("a secret").replace("=", "%3D")}`, `data:text/plain;base64,${base64("a [gone]")}`],
  [
    `data:text/plain;base64,${Buffer.from("secret?>~~~ÿ").toString("base64url")}`,
    `data:text/plain;base64,${base64("[gone]?>~~~ÿ")}`,
  ],
  [
    `data:text/plain;base64,${Buffer.from("secret caf\xe9", "latin1").toString("base64")}`,
    `data:text/plain;base64,${Buffer.from("[gone] caf\xe9", "latin1").toString("base64")}`,
  ],
  [
    `data:application/octet-stream;base64,${base64("a secret")}`,
    `data:application/octet-stream;base64,${base64("a [gone]")}`,
  ],
  [`data:message/rfc822;base64,${base64("a secret")}`, `data:message/rfc822;base64,${base64("a [gone]")}`],
  [`data:application/zip;base64,${base64("PK\0secret")}`, `data:application/zip;base64,${base64("PK\0secret")}`],
  [`see ![a](data:text/plain;base64,${base64("a secret")})`, `see ![a](data:text/plain;base64,${base64("a [gone]")})`],
  [base64("it is a secret"), base64("it is a [gone]")],
  [base64(base64("it is a secret")), base64(base64("it is a [gone]"))],
])("redacts the text in %s", (given, expected) => {
  expect(redaction.text(given, WHERE)).toBe(expected);
  expect(redaction.text(expected, WHERE)).toBe(expected);
});

it("redacts what JSON makes of a URL, a date and a string object", () => {
  class Told extends Date {
    override toJSON = () => "secret";
  }
  const value = { a: new URL("https://example.com/?secret"), b: new Told(), c: Object("secret") };
  const made = { a: "https://example.com/?[gone]", b: "[gone]", c: "[gone]" };
  expect(redaction.json(value as unknown, WHERE)).toEqual(made);
});

it("redacts dates, states and media types of a message that have not their form", () => {
  const part = { type: "text", text: "plain", state: "done", mediaType: "text/plain" };
  const message = { id: "secret", role: "user", createdAt: "2026-01-01T00:00:00.000Z", parts: [part] };
  expect(redaction.message(message, "s")).toEqual(message);
  const odd = { ...message, createdAt: "a secret", parts: [{ ...part, state: "a secret", mediaType: "secret" }] };
  const made = { ...message, createdAt: "a [gone]", parts: [{ ...part, state: "a [gone]", mediaType: "[gone]" }] };
  expect(redaction.message(odd, "s")).toEqual(made);
});

it("redacts base64 beside its media type, of a text only", () => {
  const data = base64("a secret");
  expect(redaction.json([{ mediaType: "text/csv", data }, { mediaType: "image/png", data }, { data }], WHERE)).toEqual([
    { mediaType: "text/csv", data: base64("a [gone]") },
    { mediaType: "image/png", data },
    { data },
  ]);
});

it("leaves bytes that are no text as they are, and the frames of a checkpoint whole", () => {
  const scope = { sessionId: "s", label: "mine" };
  const escaped = new TextEncoder().encode("\x1b[31msecret");
  expect(new TextDecoder().decode(redactRecord(scope, "k", escaped, redaction.text))).toBe("\x1b[31m[gone]");
  const twice = new TextEncoder().encode('{"a": "secret", "a": "plain"}');
  expect(redactRecord(scope, "k", twice, redaction.text)).toEqual(encodeJson({ a: "plain" }));
  for (const bytes of [new Uint8Array([0, 115, 101]), new Uint8Array([255]), new Uint8Array()]) {
    expect(redactRecord(scope, "k", bytes, redaction.text)).toBe(bytes);
  }
  const plain = encodeJson({ a: "plain" });
  expect(redactRecord(scope, "k", plain, redaction.text)).toBe(plain);
  const state = { id: "secret", source: "secret", ts: "plain" };
  const message = { lc: 1, type: "constructor", id: ["secret"], kwargs: { id: "secret", content: "secret" } };
  const image = new Uint8Array([255, 1, 2]);
  const packed = packFrames({ secret: "secret" }, [...[state, state, message, state].map(encodeJson), image]);
  const { header, frames } = unpackFrames(
    redactRecord({ sessionId: "s", label: "langgraph" }, "k", packed, redaction.text),
    "k",
  );
  const read = frames.slice(0, 4).map((frame) => JSON.parse(new TextDecoder().decode(frame)));
  expect(header).toEqual({ secret: "secret" });
  expect(read).toEqual([
    state,
    state,
    { ...message, kwargs: { id: "secret", content: "[gone]" } },
    { id: "[gone]", source: "[gone]", ts: "plain" },
  ]);
  expect(frames[4]).toEqual(image);
});

it("tells nothing of the text in an error", () => {
  for (const redact of [() => null, () => Promise.reject(new Error("secret")), (text: string) => JSON.parse(text)]) {
    const text = () => redactionOf(redact as never).text("secret", { ...WHERE, path: ["parts", 0] });
    expect(text).toThrowError(expect.objectContaining({ code: "REDACTION_FAILED" }));
    expect(text).toThrowError(/^redact failed on a text of kind "message": (?!.*secret)/);
  }
});

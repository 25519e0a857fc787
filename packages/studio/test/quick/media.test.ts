import { describe, expect, it } from "vitest";
import { mediaOf, withStubs } from "../../src/path-page.js";

const message = (part: object) => ({ id: "m", role: "user", parts: [{ type: "file", ...part }] });
const stubOf = (part: object, field: string) => withStubs(message(part)).parts[0]?.[field];
const given = (part: object, path: string) => mediaOf(message(part), path);

describe("media of a message", () => {
  it.each([
    [{ url: "data:image/png;base64,AAECAw==" }, "url", "image/png", 4],
    [{ url: "data:;base64,AAEC", mediaType: "image/gif" }, "url", "image/gif", 3],
    [{ url: "data:text/plain,a%20b" }, "url", "text/plain", 5],
    [{ data: "AAEC", mediaType: "audio/mpeg" }, "data", "audio/mpeg", 3],
    [{ image: "AAEC", mediaType: "image/png" }, "image", "image/png", 3],
  ])("%o is replaced by its size", (part, field, mediaType, bytes) => {
    expect(stubOf(part, field)).toEqual({ $media: { mediaType, bytes, path: `/parts/0/${field}` } });
  });

  it.each([
    [{ url: "https://example.com/a.png", mediaType: "image/png" }, "url"],
    [{ text: "data:text/plain,typed by a user" }, "text"],
    [{ data: "AAEC" }, "data"],
    [{ data: { a: 1 }, mediaType: "image/png" }, "data"],
  ])("%o stays", (part, field) => {
    expect(stubOf(part, field)).toEqual((part as Record<string, unknown>)[field]);
  });

  it("are found by a path whose names hold slashes and tildes, and in a field called __proto__", async () => {
    const part = JSON.parse('{"a/b":{"c~d":[{"__proto__":{"url":"data:image/png;base64,AAEC"}}]}}');
    const found = JSON.stringify(withStubs(message(part)));
    const path = JSON.parse(found).parts[0]["a/b"]["c~d"][0];
    expect(Object.getOwnPropertyDescriptor(path, "__proto__")?.value.url.$media.path).toBe(
      "/parts/0/a~1b/c~0d/0/__proto__/url",
    );
    const response = given(part, "/parts/0/a~1b/c~0d/0/__proto__/url");
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0, 1, 2]);
  });

  it.each([
    ["image/png", "image/png"],
    ["IMAGE/SVG+XML", "image/svg+xml"],
    ["video/mp4", "video/mp4"],
    ["text/html", "application/octet-stream"],
    ["image/png\r\nset-cookie: a=b", "application/octet-stream"],
    ["application/xhtml+xml", "application/octet-stream"],
    ["image/", "application/octet-stream"],
  ])("of the type %j are sent as %s, in a sandbox", (mediaType, sent) => {
    const { headers } = given({ data: "AAEC", mediaType }, "/parts/0/data");
    expect(headers.get("content-type")).toBe(sent);
    expect(headers.get("content-security-policy")).toContain("sandbox");
    expect(headers.get("set-cookie")).toBe(null);
    expect(headers.get("content-disposition")).toBe(sent === "application/octet-stream" ? "attachment" : null);
  });

  it("that cannot be decoded are refused", () => {
    expect(() => given({ url: "data:image/png;base64,%%%" }, "/parts/0/url")).toThrow("no media");
  });
});

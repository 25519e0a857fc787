import { expect, it } from "vitest";
import { createTokenGate } from "../../../src/studio/serve-studio.js";

const get = (address: string, headers = {}) => new Request(address, { headers });

it("leads back to an address of its own, whatever path the token came with", () => {
  const gate = createTokenGate("studio", undefined);
  for (const path of ["/session?id=a&", "//evil.test/x?", "/\\evil.test?", "///evil.test?"]) {
    const answer = gate.exchange(get(`http://127.0.0.1:4984${path}token=${gate.issue()}`));
    expect(answer?.status).toBe(303);
    const target = new URL(answer?.headers.get("location") ?? "", "http://127.0.0.1:4984/");
    expect(target.host).toBe("127.0.0.1:4984");
    expect(target.searchParams.has("token")).toBe(false);
  }
});

it("takes a token once, and the cookie from then on", () => {
  const gate = createTokenGate("studio", undefined);
  const link = `http://127.0.0.1:4984/?token=${gate.issue()}`;
  const cookie = gate.exchange(get(link))?.headers.get("set-cookie")?.split(";")[0] ?? "";
  expect(gate.exchange(get(link))).toBe(null);
  expect(gate.authorize(get("http://127.0.0.1:4984/", { cookie }))).toBe(true);
  for (const wrong of ["studio=x", `${cookie}x`, `${cookie} x`, `x${cookie}`, `"${cookie}"`, cookie.toUpperCase()]) {
    expect(gate.authorize(get("http://127.0.0.1:4984/", { cookie: wrong }))).toBe(false);
  }
  expect(gate.exchange(get(`http://127.0.0.1:4984/?token=${gate.issue()}&token=x`))).toBe(null);
});

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ApiKeys, authenticator, guard, UserTokens } from "../../src/index.js";

const AUDIENCE = "https://memory.example.com";
const request = (authorization?: string) =>
  new Request(AUDIENCE, authorization === undefined ? {} : { headers: { authorization } });
const bearer = (token: string) => request(`Bearer ${token}`);

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "let in";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** All that a store keeps as records of no session, as text. */
async function stored(store: Store): Promise<string> {
  const labels = await store.records.labels("");
  const found = await Promise.all(labels.map((label) => store.records.list({ sessionId: "", label })));
  return found
    .flat()
    .map(({ value }) => new TextDecoder().decode(value))
    .join("\n");
}

describe("ApiKeys", () => {
  it("makes a key that stands for what it was made for, and stores its digest alone", async () => {
    const store = memory();
    const keys = new ApiKeys(store);
    const made = await keys.create({ name: "browser", access: "memory", userId: "ada", readOnly: true });
    expect(made.key).toMatch(/^stm_[\w-]{8}_[\w-]{49}$/);
    expect(await keys.verify(made.key)).toEqual({ id: made.info.id, access: "memory", userId: "ada", readOnly: true });
    expect(await keys.list()).toEqual([made.info]);
    expect(await stored(store)).not.toContain(made.key.slice(13, 40));
  });

  it("knows no key that is another's, misspelt, revoked or expired", async () => {
    const store = memory();
    const keys = new ApiKeys(store);
    const other = new ApiKeys(memory());
    const { key, info } = await keys.create({ name: "a", access: "memory" });
    const short = await keys.create({ name: "b", access: "memory", expiresAt: Date.now() + 60_000 });
    const foreign = await other.create({ name: "c", access: "admin" });
    for (const wrong of [
      "",
      "stm_",
      `${key}x`,
      key.slice(1),
      key.replace(/.$/, key.endsWith("A") ? "B" : "A"),
      foreign.key,
    ]) {
      expect(await keys.verify(wrong)).toBeNull();
    }
    expect(await keys.verify(short.key)).not.toBeNull();
    expect(await keys.revoke(info.id)).toBe(true);
    expect(await keys.revoke(info.id)).toBe(false);
    expect(await keys.verify(key)).toBeNull();
    expect((await keys.list()).map(({ name }) => name)).toEqual(["b"]);
  });

  it("is revoked in another process within 30 seconds", async () => {
    const store = memory();
    const [here, there] = [new ApiKeys(store), new ApiKeys(store)];
    const { key, info } = await here.create({ name: "a", access: "memory" });
    const clock = vi.spyOn(Date, "now");
    try {
      clock.mockReturnValue(1_000_000);
      expect(await there.verify(key)).not.toBeNull();
      await here.revoke(info.id);
      clock.mockReturnValue(1_030_001);
      expect(await there.verify(key)).toBeNull();
    } finally {
      clock.mockRestore();
    }
  });

  it("asks the store once for a key that many requests have, known or not", async () => {
    const store = memory();
    const get = vi.fn(store.records.get.bind(store.records));
    const watched = { ...store, records: { ...store.records, get } };
    const keys = new ApiKeys(watched);
    const { key } = await keys.create({ name: "a", access: "memory" });
    for (let turn = 0; turn < 50; turn += 1) await keys.verify(key);
    expect(get).toHaveBeenCalledTimes(1);
  });

  it("cannot be read or made through a store, not even by an administrator", async () => {
    const store = memory();
    await new ApiKeys(store).create({ name: "a", access: "admin" });
    const { records, writeTogether } = guard(store, { id: "root", access: "admin" });
    const keys = { sessionId: "", label: "stemma:keys" };
    const value = new Uint8Array();
    expect(await codeOf(() => records.list(keys))).toBe("FORBIDDEN");
    expect(await codeOf(() => records.set(keys, "mine", value))).toBe("FORBIDDEN");
    expect(await codeOf(() => writeTogether([{ records: keys, key: "mine", value }]))).toBe("FORBIDDEN");
  });

  it.each([
    [{ name: 1, access: "memory" }],
    [{ name: "a" }],
    [{ name: "a", access: "all" }],
    [{ name: "a", access: "memory", userId: "" }],
    [{ name: "a", access: "memory", user: "ada" }],
    [{ name: "a", access: "memory", keys: "team" }],
    [{ name: "a", access: "memory", expiresAt: Number.NaN }],
  ])("refuses %j", async (wrong) => {
    expect(await codeOf(() => new ApiKeys(memory()).create(wrong as never))).toBe("INVALID_ARGUMENT");
  });
});

describe("UserTokens", () => {
  it("makes a token that stands for a user until it expires, in every process on the store", async () => {
    const store = memory();
    const tokens = new UserTokens(store, { audience: AUDIENCE });
    const { token, expiresAt } = await tokens.create({ userId: "ada", keys: ["team"], lasts: 5_000 });
    const principal = await new UserTokens(store, { audience: AUDIENCE }).verify(token);
    expect(principal).toMatchObject({ access: "memory", userId: "ada", keys: ["team"] });
    expect(expiresAt).toBeLessThanOrEqual(Date.now() + 5_000);
    vi.useFakeTimers({ now: expiresAt + 1, toFake: ["Date"] });
    try {
      expect(await tokens.verify(token)).toBeNull();
    } finally {
      vi.useRealTimers();
    }
  });

  it("signs with one secret where several processes begin at once", async () => {
    const store = memory();
    const all = Array.from({ length: 5 }, () => new UserTokens(store, { audience: AUDIENCE }));
    const made = await Promise.all(all.map((each) => each.create({ userId: "ada" })));
    for (const { token } of made) for (const each of all) expect(await each.verify(token)).not.toBeNull();
  });

  it("knows none that is another server's or store's, forged or changed", async () => {
    const store = memory();
    const tokens = new UserTokens(store, { audience: AUDIENCE });
    const { token } = await tokens.create({ userId: "ada" });
    const [header = "", payload = "", signature = ""] = token.split(".");
    const bob = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(payload, "base64url").toString()), sub: "bob" }),
    );
    const unsigned = new UnsecuredJWT({ reach: {} })
      .setIssuer("stemma")
      .setAudience(AUDIENCE)
      .setSubject("bob")
      .encode();
    const forge = (head: object, key: string) =>
      new SignJWT({ reach: {} })
        .setProtectedHeader({ alg: "HS256", ...head })
        .setIssuer("stemma")
        .setAudience(AUDIENCE)
        .setSubject("bob")
        .setJti("1")
        .setExpirationTime("5m")
        .sign(new TextEncoder().encode(key));
    const forged = [
      "",
      "a.b.c",
      unsigned,
      `${header}.${bob.toString("base64url")}.${signature}`,
      `${header}.${payload}.`,
      await forge({ kid: "000000" }, "a guess of a secret of 32 bytes!"),
      await forge({ kid: "../../000000" }, "a guess of a secret of 32 bytes!"),
      await forge({}, "a guess of a secret of 32 bytes!"),
      (await new UserTokens(memory(), { audience: AUDIENCE }).create({ userId: "ada" })).token,
      (await new UserTokens(store, { audience: "https://other.example.com" }).create({ userId: "ada" })).token,
    ];
    for (const wrong of forged) expect(await tokens.verify(wrong)).toBeNull();
  });

  it.each([
    [{ userId: "" }],
    [{ userId: "ada", lasts: 0 }],
    [{ userId: "ada", lasts: 3_600_001 }],
    [{ userId: "ada", admin: true }],
  ])("refuses %j", async (wrong) => {
    const tokens = new UserTokens(memory(), { audience: AUDIENCE });
    expect(await codeOf(() => tokens.create(wrong as never))).toBe("INVALID_ARGUMENT");
  });
});

describe("authenticator()", () => {
  const ISSUER = "https://issuer.example.com";
  let server: Server;
  let jwks = "";
  let asked = 0;
  let isDown = false;
  let pair: Awaited<ReturnType<typeof generateKeyPair>>;

  beforeAll(async () => {
    pair = await generateKeyPair("ES256", { extractable: true });
    const key = { ...(await exportJWK(pair.publicKey)), kid: "one", alg: "ES256", use: "sig" };
    server = createServer((_incoming, outgoing) => {
      asked += 1;
      outgoing.writeHead(isDown ? 503 : 200, { "content-type": "application/json" });
      outgoing.end(JSON.stringify({ keys: [key] }));
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
  });
  afterAll(() => void server.close());

  const signed = (claims: { readonly [Name in keyof JWTPayload]?: JWTPayload[Name] | undefined }, head: object = {}) =>
    new SignJWT({
      iss: ISSUER,
      aud: "stemma",
      sub: "ada",
      exp: Math.floor(Date.now() / 1_000) + 60,
      ...claims,
    } as JWTPayload)
      .setProtectedHeader({ alg: "ES256", kid: "one", ...head })
      .sign(pair.privateKey);

  it("takes keys, tokens of its own and tokens that others sign", async () => {
    const store = memory();
    const [keys, tokens] = [new ApiKeys(store), new UserTokens(store, { audience: AUDIENCE })];
    const principalOf = authenticator({ keys, tokens, jwt: { jwks, issuer: ISSUER, audience: "stemma" } });
    const { key, info } = await keys.create({ name: "a", access: "admin" });
    expect(await principalOf(bearer(key))).toEqual({ id: info.id, access: "admin" });
    const { token } = await tokens.create({ userId: "ada" });
    expect(await principalOf(bearer(token))).toMatchObject({ userId: "ada" });
    expect(await principalOf(request(`bEARER  ${await signed({})}`))).toEqual({
      id: "user:ada",
      access: "memory",
      userId: "ada",
    });
  });

  it("takes nothing else", async () => {
    const store = memory();
    const keys = new ApiKeys(store);
    const { key } = await keys.create({ name: "a", access: "memory" });
    const jwt = { jwks, issuer: ISSUER, audience: "stemma" } as const;
    const principalOf = authenticator({ keys, tokens: new UserTokens(store, { audience: AUDIENCE }), jwt });
    const jwk = await exportJWK(pair.publicKey);
    const asSecret = new TextEncoder().encode(JSON.stringify(jwk));
    const confused = await new SignJWT({ iss: ISSUER, aud: "stemma", sub: "bob", exp: 9_999_999_999 })
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .sign(asSecret);
    const other = await generateKeyPair("ES256");
    const embedded = await new SignJWT({ iss: ISSUER, aud: "stemma", sub: "bob", exp: 9_999_999_999 })
      .setProtectedHeader({ alg: "ES256", kid: "one", jwk: await exportJWK(other.publicKey) } as never)
      .sign(other.privateKey);
    const wrong = [
      request(),
      request(""),
      request("Bearer"),
      request("Bearer "),
      request(`Basic ${btoa(`ada:${key}`)}`),
      request(`Bearer ${key}, Bearer ${key}`),
      request(`Bearer ${key} ${key}`),
      bearer("x".repeat(100_000)),
      bearer(await signed({ exp: Math.floor(Date.now() / 1_000) - 60 })),
      bearer(await signed({ aud: "another" })),
      bearer(await signed({ aud: undefined })),
      bearer(await signed({ exp: undefined })),
      bearer(await signed({ sub: undefined })),
      bearer(await signed({ sub: "" })),
      bearer(await signed({ sub: 5 as never })),
      bearer(await signed({ iss: "https://evil.example.com" })),
      bearer(await signed({ iss: "stemma" })),
      bearer(await signed({}, { kid: "two" })),
      bearer(new UnsecuredJWT({ iss: ISSUER, aud: "stemma", sub: "bob" }).encode()),
      bearer(confused),
      bearer(embedded),
    ];
    for (const each of wrong)
      expect(await codeOf(() => principalOf(each)), String(each.headers.get("authorization")).slice(0, 60)).toBe(
        "NOT_ALLOWED",
      );
  });

  it("takes the tenant from the claim that is named, and no token without one then", async () => {
    const jwt = { jwks, issuer: ISSUER, audience: "stemma" } as const;
    const principalOf = authenticator({ jwt: { ...jwt, tenantClaim: "org" } });
    expect(await principalOf(bearer(await signed({ org: "acme" })))).toEqual({
      id: "acme/user:ada",
      access: "memory",
      userId: "ada",
      tenant: "acme",
    });
    for (const org of [undefined, "", "Acme", "../acme", "a/b", 1, ["acme"], null, "a".repeat(49)]) {
      const token = await signed({ org } as JWTPayload);
      expect([org, await codeOf(() => principalOf(bearer(token)))]).toEqual([org, "NOT_ALLOWED"]);
    }
    // Nobody else's claim is one.
    const unnamed = await authenticator({ jwt })(bearer(await signed({ org: "acme", tenant: "acme" })));
    expect(unnamed).toEqual({ id: "user:ada", access: "memory", userId: "ada" });
  });

  it("fetches another's keys once for many tokens that name an unknown one", async () => {
    const principalOf = authenticator({ jwt: { jwks, issuer: ISSUER, audience: "stemma" } });
    asked = 0;
    for (let turn = 0; turn < 20; turn += 1) {
      const token = await signed({}, { kid: `unknown-${turn}` });
      expect(await codeOf(() => principalOf(bearer(token)))).toBe("NOT_ALLOWED");
    }
    expect(asked).toBeLessThanOrEqual(2);
  });

  it("says that it cannot know where another's keys cannot be read", async () => {
    isDown = true;
    try {
      const principalOf = authenticator({ jwt: { jwks, issuer: ISSUER, audience: "stemma" } });
      const token = await signed({});
      expect(await codeOf(() => principalOf(bearer(token)))).toBe("CONNECTION_LOST");
    } finally {
      isDown = false;
    }
  });

  it("asks a function of the program's first", async () => {
    const ada = { id: "cookie", access: "memory", userId: "ada" } as const;
    const principalOf = authenticator({
      authenticate: (asked) => (asked.headers.get("cookie") === "ada" ? ada : null),
    });
    expect(await principalOf(new Request(AUDIENCE, { headers: { cookie: "ada" } }))).toEqual(ada);
    expect(await codeOf(() => principalOf(request()))).toBe("NOT_ALLOWED");
  });

  it.each([
    [{ jwks: "http://issuer.example.com/jwks", issuer: "a", audience: "b" }],
    [{ jwks: "nonsense", issuer: "a", audience: "b" }],
    [{ jwks: "https://a.example.com", issuer: "a" }],
    [{ jwks: "https://a.example.com", issuer: "a", audience: "b", algorithms: ["HS256"] }],
    [{ jwks: "https://a.example.com", issuer: "a", audience: "b", algorithms: ["none"] }],
  ])("refuses tokens of others by %j", (jwt) => {
    expect(() => authenticator({ jwt: jwt as never })).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

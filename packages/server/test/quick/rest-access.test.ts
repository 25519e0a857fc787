import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { AuditLog } from "../../src/index.js";
import { serveRest } from "./rest-helpers.js";

async function serveAccess() {
  const store = memory();
  const audit = new AuditLog(store);
  const server = await serveRest({ withAccess: true, audit }, store);
  const told = async () => {
    await audit.flush();
    const entries: unknown[] = [];
    for await (const { call, mode, userId, code } of audit.entries())
      entries.unshift([call, mode, userId ?? null, code]);
    return entries;
  };
  return { ...server, told, admin: await server.keyOf({ access: "admin" }) };
}

describe("API keys over REST", () => {
  it("are made, listed and revoked by administrators", async () => {
    const { ask, admin, told } = await serveAccess();
    const fields = { name: "Ada's phone", userId: "ada", keys: ["team"], readOnly: true };
    const expiresAt = "2999-01-31T00:00:00.000Z";
    const made = await ask("POST", "/v1/keys", { key: admin, json: { ...fields, expiresAt } });
    const { key, ...info } = made.body;
    expect([made.status, info]).toEqual([
      201,
      { ...fields, access: "memory", expiresAt, id: key.slice(4, 12), createdAt: expect.any(String) },
    ]);
    expect((await ask("GET", "/v1/sessions", { key })).status).toBe(200);
    const listed = await ask("GET", "/v1/keys", { key: admin });
    expect(listed.body.data).toContainEqual(info);
    expect(JSON.stringify(listed.body)).not.toContain(key.slice(13));
    const revoke = () => ask("DELETE", `/v1/keys/${info.id}`, { key: admin });
    expect([(await revoke()).status, (await revoke()).body.code]).toEqual([204, "NOT_FOUND"]);
    expect((await ask("GET", "/v1/sessions", { key })).status).toBe(401);
    expect(await told()).toEqual([
      ["keys.create", "admin", null, null],
      ["keys.list", "admin", null, null],
      ["keys.revoke", "admin", null, null],
      ["keys.revoke", "admin", null, null],
    ]);
  });

  it.each([{}, { access: "mint" }, { access: "admin", userId: "ada" }, { access: "admin", project: "p" }] as const)(
    "are out of reach of others: %j",
    async (access) => {
      const { ask, keyOf, admin } = await serveAccess();
      const key = await keyOf(access);
      const { data } = (await ask("GET", "/v1/keys", { key: admin })).body;
      const answers = [
        await ask("GET", "/v1/keys", { key }),
        await ask("POST", "/v1/keys", { key, json: { name: "mine", access: "admin" } }),
        await ask("DELETE", `/v1/keys/${data[0].id}`, { key }),
      ];
      expect(answers.map(({ body }) => body.code)).toEqual(["FORBIDDEN", "FORBIDDEN", "FORBIDDEN"]);
      expect((await ask("GET", "/v1/keys", { key: admin })).body.data).toEqual(data);
    },
  );

  it("are listed by an administrator who only reads, who makes none", async () => {
    const { ask, keyOf } = await serveAccess();
    const key = await keyOf({ access: "admin", readOnly: true });
    expect((await ask("GET", "/v1/keys", { key })).status).toBe(200);
    expect((await ask("POST", "/v1/keys", { key, json: { name: "mine" } })).status).toBe(403);
  });

  it.each([
    { name: 1 },
    { name: "k", access: "root" },
    { name: "k", expiresAt: "soon" },
    { name: "k", expiresAt: "1999-01-01T00:00:00Z" },
    { name: "k", userId: "" },
    { name: "k", user: "ada" },
  ])("are refused with %j", async (json) => {
    const { ask, admin } = await serveAccess();
    const { status, body } = await ask("POST", "/v1/keys", { key: admin, json });
    expect([status, body.code]).toEqual([400, "INVALID_ARGUMENT"]);
  });

  it("are nowhere on a server that was given none", async () => {
    const { ask, keyOf } = await serveRest();
    expect((await ask("GET", "/v1/keys", { key: await keyOf({ access: "admin" }) })).status).toBe(404);
  });
});

describe("tokens over REST", () => {
  it("are in the audit log with their user, made and refused ones", async () => {
    const { ask, keyOf, told } = await serveAccess();
    const [mint, plain] = [await keyOf({ access: "mint" }), await keyOf()];
    const { status, body } = await ask("POST", "/v1/tokens", { key: mint, json: { userId: "ada", ttl: 60 } });
    expect([status, Date.parse(body.expiresAt) - Date.now() < 61_000]).toEqual([201, true]);
    expect((await ask("POST", "/v1/tokens", { key: plain, json: { userId: "ada" } })).status).toBe(403);
    expect((await ask("POST", "/v1/tokens", { key: mint, json: { userId: "ada", ttl: "1" } })).status).toBe(400);
    const tooLong = await ask("POST", "/v1/tokens", { key: mint, json: { userId: "ada", ttl: 3_601 } });
    expect(tooLong.body).toMatchObject({ status: 400, details: { field: "ttl" } });
    expect(await told()).toEqual([
      ["tokens.create", "write", "ada", null],
      ["tokens.create", "write", "ada", "FORBIDDEN"],
    ]);
  });
});

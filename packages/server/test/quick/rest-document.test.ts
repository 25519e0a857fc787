import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { ApiKeys, UserTokens } from "../../src/index.js";
import { HOST, serveRest } from "./rest-helpers.js";

/** With all routes that a server can have. */
function serveAll() {
  const store = memory();
  return serveRest({ keys: new ApiKeys(store), tokens: new UserTokens(store, { audience: HOST }) }, store);
}

describe("REST: the document", () => {
  it("is the one that was reviewed", async () => {
    const { ask } = await serveAll();
    const { body, headers } = await ask("GET", "/openapi.json");
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    await expect(`${JSON.stringify(body, null, 1)}\n`).toMatchFileSnapshot("../../openapi.json");
  });

  it("is OpenAPI 3.1, in which each reference leads somewhere and each operation has a name of its own", async () => {
    const { ask } = await serveAll();
    const { body } = await ask("GET", "/openapi.json");
    expect(body.openapi).toBe("3.1.0");
    const text = JSON.stringify(body);
    for (const [, name = ""] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
      expect(Object.keys(body.components.schemas)).toContain(name);
    }
    const operations = Object.values<object>(body.paths).flatMap((methods) =>
      Object.values<{ operationId: string; security: unknown }>(methods as never),
    );
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    expect(operations.every(({ security }) => JSON.stringify(security) === '[{"bearer":[]}]')).toBe(true);
    for (const [path, methods] of Object.entries<Record<string, { parameters?: { name: string; in: string }[] }>>(
      body.paths,
    )) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters = [] } of Object.values(methods)) {
        expect(parameters.filter((each) => each.in === "path").map(({ name }) => name)).toEqual(names);
      }
    }
    // What 3.1 no longer has.
    expect(text).not.toContain('"nullable"');
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { studioRoutes } from "../../../packages/studio/src/create-studio.js";
import { type Answer, type Ask, askingOn, BASE, type Question } from "../../studio/ask.js";
import { fillSample } from "../../studio/sample.js";
import { bodyOf, WRITE_CASES } from "../../studio/write-cases.js";

const { host, origin } = new URL(BASE);
const ROUTES = studioRoutes("/debug").map(({ method, path, access }) => ({ method, path, access }));
const WRITES = ROUTES.filter(({ access }) => access === "write");

/** What each route needs to be answered. */
const QUERIES: Readonly<Record<string, string>> = {
  "/api/media": "id=trip&message=m2&path=/parts/2/url",
  "/api/memory": "user=ada",
  "/api/entries": "user=ada&label=facts",
  "/api/entry": "user=ada&label=facts&entry=home",
  "/api/versions": "session=trip&label=memory",
  "/api/writes": "id=trip&message=m1",
  "/api/search": "q=zebra",
  "/api/owners": "kind=user",
  "/api/usage": "by=day",
};

describe("every route of the studio", () => {
  const store = memory();
  const ask: Ask = askingOn(store);
  beforeAll(() => fillSample(store));
  afterAll(() => store.close());

  const questionOf = async ({ method, path }: (typeof ROUTES)[number]): Promise<Question> => {
    const write = WRITE_CASES[path.slice("/api/".length)];
    if (method === "GET") return { path: `${path}?${QUERIES[path] ?? "id=trip"}` };
    if (write === undefined) throw new RangeError(`There is no case for ${path}.`);
    return { path, body: await bodyOf(ask, write) };
  };
  const stateOf = () => store.session("trip").change();
  /** Asks what is to be refused; nothing may change. */
  const refused = async (question: Question): Promise<Answer> => {
    const before = await stateOf();
    const answer = await ask(question);
    expect(await stateOf()).toBe(before);
    return answer;
  };

  it("is a page, a file, or stands under /api/; what writes is POST, and has a case", () => {
    expect(ROUTES.filter(({ path }) => !path.startsWith("/api/")).map(({ path }) => path)).toEqual([
      "/",
      "/search",
      "/session",
      "/context",
      "/memory",
      "/usage",
      "/page.js",
      "/page.css",
    ]);
    expect(ROUTES.every(({ method, access }) => (method === "POST") === (access === "write"))).toBe(true);
    expect(WRITES.map(({ path }) => path.slice("/api/".length)).toSorted()).toEqual(
      Object.keys(WRITE_CASES).toSorted(),
    );
  });

  describe.each(ROUTES)("$method $path", (route) => {
    it("is refused to a foreign host", async () => {
      const question = await questionOf(route);
      const { status, json } = await refused({ ...question, hosts: ["127.0.0.1:4984"] });
      expect([status, json.code]).toEqual([403, "NOT_ALLOWED"]);
      const named = await refused({ ...question, hosts: [host], headers: { host: "evil.test:4984" } });
      expect(named.status).toBe(403);
    });

    it.each([
      { origin: "http://evil.test" },
      { origin: "null" },
      { origin: `${origin}.evil.test` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site", origin },
    ])("is refused to another site: %o", async (headers) => {
      const { status, json } = await refused({
        ...(await questionOf(route)),
        headers: headers as Record<string, string>,
      });
      expect([status, json.code]).toEqual([403, "NOT_ALLOWED"]);
    });

    it("is refused to nobody in particular", async () => {
      const { status, json } = await refused({ ...(await questionOf(route)), as: "nobody" });
      expect([status, json.code]).toEqual([401, "NOT_ALLOWED"]);
    });

    it("is refused with another method", async () => {
      for (const method of ["PUT", "DELETE", "OPTIONS", route.method === "GET" ? "POST" : "GET"]) {
        const { status } = await refused({ path: (await questionOf(route)).path, method });
        expect(status).toBe(405);
      }
    });

    it("answers for what is another user's as for what is not there", async () => {
      const as = { user: "bob" };
      for (const isGood of [true, false]) {
        const { path, body } = await questionOf(route);
        const question = isGood
          ? { path, body }
          : { path: path.replace(/&.*/, ""), body: body && { ...body, label: 7 } };
        const renamed = JSON.parse(
          JSON.stringify(question).replaceAll("trip", "gone").replace("user=ada", "user=gone"),
        ) as Question;
        const others = await refused({ ...question, as });
        const absent = await refused({ ...renamed, as });
        expect(others.text.replaceAll("trip", "gone")).toBe(absent.text);
        expect([others.status, others.headers]).toEqual([absent.status, absent.headers]);
      }
    });

    it("has the headers that keep a browser from running anything", async () => {
      const question = await questionOf(route);
      for (const answer of [
        await refused({ ...question, readOnly: true }),
        await refused({ ...question, as: "nobody" }),
      ]) {
        const { headers } = answer;
        expect(headers).toMatchObject({
          "x-content-type-options": "nosniff",
          "cache-control": "no-store",
          "cross-origin-resource-policy": "same-origin",
          "referrer-policy": "no-referrer",
          "x-frame-options": "DENY",
        });
        const policy = headers["content-security-policy"] ?? "";
        expect(policy).toContain("default-src 'none'");
        if (!policy.includes("sandbox")) {
          for (const rule of ["script-src 'self'", "base-uri 'none'", "require-trusted-types-for 'script'"]) {
            expect(policy).toContain(rule);
          }
        }
        expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      }
    });

    if (route.access === "read") {
      it("answers the page's own requests, and writes nothing", async () => {
        const question = await questionOf(route);
        for (const headers of [{}, { origin, "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }]) {
          const { status } = await refused({ ...question, readOnly: true, headers: headers as Record<string, string> });
          expect(status).toBe(200);
        }
      });
      return;
    }

    it("is refused where the studio only reads", async () => {
      const { status, json } = await refused({ ...(await questionOf(route)), readOnly: true });
      expect([status, json.code]).toEqual([403, "READ_ONLY"]);
    });

    it("is refused to what a form or a picture can send", async () => {
      const question = await questionOf(route);
      for (const headers of [
        { "content-type": "text/plain" },
        { "content-type": "application/x-www-form-urlencoded" },
        { "content-type": "application/jsonp" },
        { "x-stemma-studio": "" },
        { "x-stemma-studio": "2" },
      ]) {
        const { status } = await refused({ ...question, headers: headers as Record<string, string> });
        expect([403, 415]).toContain(status);
      }
    });

    it.each([undefined, [], "text", { id: 1 }, { id: "none" }, { id: ["trip"] }, { owner: { session: 1 } }])(
      "says what is wrong of %o",
      async (body) => {
        const question = { path: route.path, method: "POST", body };
        const { status, json } = await refused({ ...question, body: body ?? null });
        expect([400, 404]).toContain(status);
        expect(json.message).not.toMatch(/\n\s+at /);
      },
    );
  });
});

describe("what is no route", () => {
  const store = memory();
  afterAll(() => store.close());

  it.each(["/api/nothing", "/page.js/", "/..%2fapi/info", "/__proto__", "er"])("%s is not found", async (path) => {
    const { status, json } = await askingOn(store)({ path });
    expect([status, json.code]).toEqual([404, "NOT_FOUND"]);
  });

  it("takes no body without an end", async () => {
    const body = { id: "trip", name: "x".repeat(5_000_000) };
    expect((await askingOn(store)({ path: "/api/rename", body })).status).toBe(413);
  });
});

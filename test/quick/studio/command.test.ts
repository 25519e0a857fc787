import { request } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type ServedStudio,
  type ServeStudioOptions,
  serveStudio,
} from "../../../packages/cli/src/studio/serve-studio.js";
import { memory } from "../../../packages/store/src/memory.js";
import { commandLine, run, temporaryFolder } from "../../cli/run.js";
import { fillSample } from "../../studio/sample.js";

const store = memory();
const errors: unknown[] = [];
let studio: ServedStudio;

beforeAll(() => fillSample(store));
afterAll(() => store.close());
afterEach(async () => {
  await studio?.close();
  expect(errors).toEqual([]);
});

async function start(options: Partial<ServeStudioOptions> = {}): Promise<string> {
  studio = await serveStudio(store, { port: 0, write: false, onError: (error) => errors.push(error), ...options });
  return `http://127.0.0.1:${studio.port}`;
}

/** The cookie that a link gives. */
async function cookieOf(link: string): Promise<string> {
  const response = await fetch(link, { redirect: "manual" });
  expect(response.status).toBe(303);
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

/** `fetch` sets the host itself. */
function statusWithHost(port: number, host: string, cookie: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ port, path: "/api/info", headers: { host, cookie } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

describe("the studio of the command line", () => {
  it("exchanges the token of its link for a cookie that scripts and other sites do not get", async () => {
    await start();
    const response = await fetch(studio.link().replace("/?", "/session?id=trip&"), { redirect: "manual" });
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe("/session?id=trip");
    expect(response.headers.get("set-cookie")).toMatch(
      new RegExp(`^stemma-studio-${studio.port}=[\\w-]{22}; Path=/; Max-Age=86400; HttpOnly; SameSite=Strict$`),
    );
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  });

  it("opens once with a link, and again only where the cookie is", async () => {
    const url = await start();
    const link = studio.link();
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{22}$/);
    const cookie = await cookieOf(link);
    expect((await fetch(link, { redirect: "manual" })).status).toBe(401);
    expect((await fetch(link, { redirect: "manual", headers: { cookie } })).status).toBe(303);
    expect(await cookieOf(studio.link())).toBe(cookie);
    const info = await fetch(`${url}/api/info`, { headers: { cookie } });
    expect(await info.json()).toMatchObject({ store: "memory", sessions: 3, canWrite: false, hasManager: false });
    const page = await fetch(url, { headers: { cookie } });
    expect(await page.text()).toContain('<meta name="stemma-base" content="">');
    expect((await fetch(`${url}/page.js`, { headers: { cookie } })).headers.get("content-type")).toContain(
      "javascript",
    );
  });

  it("shows nothing without the cookie, or with another one", async () => {
    const url = await start();
    for (const path of ["/", "/api/info", "/page.js", "/?token=wrong", "/?token="]) {
      expect((await fetch(url + path, { redirect: "manual" })).status).toBe(401);
    }
    for (const value of ["", "x", "A".repeat(22)]) {
      const cookie = `stemma-studio-${studio.port}=${value}`;
      expect((await fetch(`${url}/api/info`, { headers: { cookie } })).status).toBe(401);
    }
  });

  it("knows only its own names", async () => {
    await start();
    const { port } = studio;
    const cookie = await cookieOf(studio.link());
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect(await statusWithHost(port, host, cookie)).toBe(200);
    }
    for (const host of [
      "evil.test",
      `evil.test:${port}`,
      "localhost",
      `localhost:${port + 1}`,
      `localhost.evil:${port}`,
    ]) {
      expect(await statusWithHost(port, host, cookie)).toBe(403);
    }
  });

  it("gives no cookie to a page of another site", async () => {
    await start();
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { origin: "http://evil.test" }]) {
      const response = await fetch(studio.link(), { redirect: "manual", headers: headers as Record<string, string> });
      expect([response.status, response.headers.get("set-cookie")]).toEqual([403, null]);
    }
  });

  it("writes only when it was started to", async () => {
    for (const write of [false, true]) {
      const url = await start({ write });
      const cookie = await cookieOf(studio.link());
      const headers = { cookie, "content-type": "application/json", "x-stemma-studio": "1" };
      const body = JSON.stringify({ id: "other", name: `Renamed ${write}` });
      const { status } = await fetch(`${url}/api/rename`, { method: "POST", headers, body });
      expect(status).toBe(write ? 200 : 403);
      await studio.close();
    }
    expect((await store.sessions.get("other"))?.name).toBe("Renamed true");
  });

  it("is reached by others only with a token, which can be used again", async () => {
    const token = "a-secret-of-some-length";
    for (const host of ["0.0.0.0", "::", "192.0.2.1", ""]) {
      await expect(start({ host })).rejects.toThrow("--token");
    }
    await expect(start({ host: "0.0.0.0", token: "short" })).rejects.toThrow("16 characters");
    const url = await start({ host: "0.0.0.0", token });
    for (let use = 0; use < 2; use += 1) {
      const cookie = await cookieOf(`${url}/?token=${encodeURIComponent(token)}`);
      expect(await statusWithHost(studio.port, `my.machine:${studio.port}`, cookie)).toBe(200);
    }
    expect((await fetch(`${url}/api/info`)).status).toBe(401);
  });

  it("says which port is taken", async () => {
    await start();
    const again = serveStudio(store, { port: studio.port, write: false, onError: () => {} });
    await expect(again).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: `Port ${studio.port} is taken. Name another one with --port; --port 0 takes a free one.`,
    });
  });

  it("outlives requests that are none", async () => {
    await start();
    expect(await statusWithHost(studio.port, "a b", "")).toBe(400);
    expect((await fetch(studio.link(), { redirect: "manual" })).status).toBe(303);
  });
});

describe("stemma studio", () => {
  const folder = temporaryFolder();

  it("says what is wrong of a database, a port or a host", async () => {
    const missing = await run(["studio", "--db", `${folder}/none.db`]);
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("There is no database")]);
    const stemma = commandLine(folder, "some.db");
    await stemma.ok("import", stemma.file("chat.json", JSON.stringify([{ role: "user", content: "hello" }])));
    const noFile = await run(["studio", "--db", stemma.file("text.db", "no database, but a text of some length")]);
    expect([noFile.code, noFile.err]).toEqual([1, expect.stringContaining("not a SQLite database")]);
    expect((await stemma.run("studio", "--port", "70000")).code).toBe(2);
    const open = await stemma.run("studio", "--port", "0", "--host", "0.0.0.0");
    expect([open.code, open.err]).toEqual([1, expect.stringContaining("--token")]);
    const refused = await run(["studio", "--db", "postgres://localhost:1/none"]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("No database answers")]);
  });
});

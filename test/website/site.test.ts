import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { GUIDE } from "../../website/guide.mjs";
import { hasChromium, startChromium } from "../helpers/browser.js";
import { ROOT } from "../package/manifest.js";

const SITE = join(ROOT, "website/dist");
const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

// What any static host does: a page has no `.html` in its address.
function serveSite(): Promise<Server> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = [path, `${path}.html`, join(path, "index.html")]
      .map((each) => join(SITE, each))
      .find((each) => extname(each) !== "" && existsSync(each));
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": TYPES[extname(file ?? "")] ?? "font/woff2",
      "cache-control": "max-age=600",
    });
    response.end(file === undefined ? "" : readFileSync(file));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

describe.skipIf(!hasChromium())("the built site in Chromium (needs /usr/bin/chromium, or STEMMA_CHROMIUM)", () => {
  let server: Server;
  let browser: Browser;
  /** With one cache for all pages, as a reader's browser has. */
  let context: BrowserContext;
  let home: string;
  const failures: string[] = [];

  async function open(path: string, width = 1200): Promise<Page> {
    const page = await context.newPage();
    await page.setViewportSize({ width, height: 900 });
    page.on("pageerror", (error) => failures.push(`${page.url()}: ${error.message}`));
    page.on("response", (response) => {
      if (response.status() >= 400) failures.push(`${page.url()}: ${response.status()} for ${response.url()}`);
    });
    await page.goto(home + path, { waitUntil: "load" });
    return page;
  }

  beforeAll(async () => {
    execFileSync("node", ["website/main.mjs", "--build"], { cwd: ROOT, stdio: "pipe" });
    server = await serveSite();
    home = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await startChromium();
    context = await browser.newContext();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  it("shows every page of the guide with its title, its code and its tables, at every width", async () => {
    const page = await open("/");
    for (const { link } of GUIDE.flatMap(({ items }) => items)) {
      await page.goto(home + link, { waitUntil: "load" });
      expect([link, await page.locator("main h1").count()]).toEqual([link, 1]);
      for (const width of [1200, 768, 390]) {
        await page.setViewportSize({ width, height: 900 });
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect([link, width, Math.max(overflow, 0)]).toEqual([link, width, 0]);
      }
    }
    await page.close();
    expect(failures).toEqual([]);
  }, 300_000);

  it("finds a method by its name, and leads to its page", async () => {
    const page = await open("/");
    const input = page.locator(".VPLocalSearchBox input");
    // The key is heard once the page's script runs, which "load" does not wait for.
    await vi.waitFor(
      async () => {
        await page.keyboard.press("/");
        await input.waitFor({ timeout: 2000 });
      },
      { timeout: 60_000 },
    );
    await input.fill("explainContext");
    const first = page.locator(".VPLocalSearchBox .result").first();
    await first.waitFor();
    await first.click();
    await page.waitForURL(/turns|reference/);
    expect(await page.locator("main").innerText()).toContain("explainContext");
    await page.close();
    expect(failures).toEqual([]);
  }, 120_000);

  it("has a page of the reference for the session, with what its methods fail with", async () => {
    const page = await open("/reference/session/classes/Session");
    const text = await page.locator("main").innerText();
    for (const part of ["appendMessage", "prepareTurn", "MESSAGE_NOT_FOUND"]) expect(text).toContain(part);
    await page.close();
    expect(failures).toEqual([]);
  });
});

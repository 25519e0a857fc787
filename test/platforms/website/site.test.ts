import { execFileSync } from "node:child_process";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { GUIDE } from "../../../website/guide.mjs";
import { serveSite } from "../../../website/serve.mjs";
import { hasChromium, startChromium } from "../../helpers/browser.js";
import { patience } from "../../helpers/patience.js";
import { ROOT } from "../../package/manifest.js";

const SITE = join(ROOT, "website/dist");
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
    server = await serveSite(SITE, 0);
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

  it("says that it searches, and answers soon", async () => {
    const page = await open("/");
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    // The index comes when it is let through.
    await page.route(/localSearchIndex/, async (route) => {
      await asked;
      await route.continue();
    });
    await page.locator(".VPNavBarSearch button").click();
    await page.locator(".VPLocalSearchBox input").fill("lease");
    const sign = () =>
      page.locator(".VPLocalSearchBox .results").evaluate((list) => getComputedStyle(list, "::before").content);
    await expect.poll(sign).toBe('"Searching …"');
    const start = performance.now();
    answer();
    await page.locator(".VPLocalSearchBox .result").first().waitFor();
    expect(performance.now() - start).toBeLessThan(patience(1000));
    expect(await sign()).toBe("none");
    await page.close();
    expect(failures).toEqual([]);
  });

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
  });

  it("has a page of the reference for the session, with what its methods fail with", async () => {
    const page = await open("/reference/session/classes/Session");
    const text = await page.locator("main").innerText();
    for (const part of ["appendMessage", "prepareTurn", "MESSAGE_NOT_FOUND"]) expect(text).toContain(part);
    await page.close();
    expect(failures).toEqual([]);
  });
});

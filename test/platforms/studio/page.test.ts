import type { Server } from "node:http";
import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hasChromium, startChromium, visit } from "../../helpers/browser.js";
import { servePage } from "../../studio/page-server.js";
import { WORLDS, type World } from "../../studio/page-world.js";

const PAGES = [
  "/",
  "/session?id=session-7",
  "/session?id=session-7&at=compaction_c1",
  "/context?id=session-7&turn=m60",
  "/memory",
  "/memory?user=ada&label=knowledge&entry=fact-3",
  "/memory?session=session-7",
  "/memory?session=session-7&message=m24",
  "/usage",
  "/search?q=orders",
];

describe.skipIf(!hasChromium())("the studio's page in Chromium (needs /usr/bin/chromium, or STEMMA_CHROMIUM)", () => {
  const servers: Server[] = [];
  const faults: string[] = [];
  let browser: Browser;

  async function serve(world: World) {
    const served = await servePage(world);
    servers.push(served.server);
    return served;
  }

  async function blank(options: BrowserContextOptions = {}): Promise<Page> {
    const view = { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" } as const;
    const context = await browser.newContext({ ...view, ...options });
    const page = await context.newPage();
    page.on("pageerror", (error) => faults.push(`${page.url()}: ${error.message}`));
    return page;
  }

  async function open(address: string): Promise<Page> {
    const page = await blank();
    await visit(page, address);
    return page;
  }

  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  it.each(["empty", "ordinary", "monstrous"] as const)(
    "shows every page of %s data at three widths",
    async (name) => {
      const { home } = await serve(WORLDS[name]);
      const page = await blank();
      for (const path of PAGES) {
        await visit(page, home + path);
        expect(await page.locator("main").innerText(), path).not.toBe("");
        for (const width of [1440, 768, 390]) {
          await page.setViewportSize({ width, height: 800 });
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          expect(overflow, `${path} at ${width}`).toBeLessThanOrEqual(0);
          const cut = await page
            .locator(".top-bar > *, .session-head :is(h1, .facts > div, .session-bar > *)")
            .evaluateAll((all) => all.filter((each) => each.getBoundingClientRect().right > innerWidth).length);
          expect(cut, `what is cut of the header of ${path} at ${width}`).toBe(0);
        }
      }
      await page.context().close();
      expect(faults).toEqual([]);
    },
    240_000,
  );

  it("runs nothing of what a message, a title or an id holds, even without a policy", async () => {
    const { home } = await serve(WORLDS.monstrous);
    const page = await blank({ bypassCSP: true });
    for (const path of PAGES) {
      await visit(page, home + path);
      for (const fold of (await page.locator(".fold > summary").all()).slice(0, 8)) await fold.click();
      expect(await page.evaluate(() => Reflect.get(window, "hacked")), path).toBeUndefined();
      expect(await page.locator("a[href^='javascript'], a[href^='data'], iframe, main script").count(), path).toBe(0);
    }
    await page.context().close();
  });

  it.each(["light", "dark"] as const)(
    "has nothing that axe finds serious, in the %s theme",
    async (colorScheme) => {
      const { home } = await serve(WORLDS.ordinary);
      const page = await blank({ colorScheme, bypassCSP: true });
      for (const path of PAGES) {
        await visit(page, home + path);
        await page.evaluate(`${axe.source};0`);
        const found: string[] = await page.evaluate(`axe.run().then(({ violations }) => violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => id + ": " + nodes[0].html))`);
        expect(found, path).toEqual([]);
      }
      await page.context().close();
    },
    240_000,
  );

  it("opens 100,000 messages at the newest, and scrolls up without a jump and without holding them all", async () => {
    const { home } = await serve(WORLDS.monstrous);
    const page = await open(`${home}/session?id=session-7`);
    expect(await page.locator("[data-message=m99999]").count()).toBe(1);
    for (let step = 0; step < 24; step += 1) {
      const moved = await page.evaluate(async () => {
        const scroller = document.querySelector(".conversation-scroller") as HTMLElement;
        scroller.scrollTop = Math.max(0, scroller.scrollTop - 4000);
        const top = scroller.getBoundingClientRect().top;
        const first = [...scroller.querySelectorAll("[data-message]")].find(
          (message) => message.getBoundingClientRect().bottom > top,
        ) as HTMLElement;
        const before = first.getBoundingClientRect().top;
        await new Promise((resolve) => setTimeout(resolve, 400));
        return first.isConnected ? Math.abs(first.getBoundingClientRect().top - before) : Number.NaN;
      });
      expect(moved).toBeLessThan(2);
    }
    const shown = await page.locator(".messages > [data-message]").count();
    expect(shown).toBeGreaterThan(100);
    expect(shown).toBeLessThanOrEqual(160);
    await page.locator(".to-newest").click();
    await page.waitForSelector("[data-message=m99999]");
    await page.context().close();
  });

  it("obeys the keys", async () => {
    const { home } = await serve(WORLDS.ordinary);
    const page = await open(`${home}/`);
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("q");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".session-page");
    expect(new URL(page.url()).searchParams.get("id")).toBe("session-1");
    await visit(page, `${home}/session?id=session-7&at=m59`);
    await page.locator("[data-message=m59]").focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(/at=m59-b/);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.context().close();
  });

  it("scrolls through 100,000 sessions, and comes back to the same row", async () => {
    const { home } = await serve(WORLDS.monstrous);
    const page = await open(`${home}/`);
    const list = page.locator(".virtual-list");
    // Each step down loads the next page, sooner or later.
    await vi.waitFor(
      async () => {
        await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        await page.waitForTimeout(150);
        expect(await list.evaluate((element) => element.scrollTop)).toBeGreaterThan(20_000);
      },
      { timeout: 40_000 },
    );
    expect(await list.locator("li").count()).toBeLessThan(80);
    const row = list.locator("a").nth(20);
    const address = await row.getAttribute("href");
    const top = await list.evaluate((element) => element.scrollTop);
    await row.evaluate((element) => (element as HTMLElement).click());
    await page.waitForSelector(".session-page");
    await page.goBack();
    await page.waitForSelector(`a[href="${address}"]`);
    expect(Math.abs((await list.evaluate((element) => element.scrollTop)) - top)).toBeLessThan(2);
    await page.context().close();
  });

  it("asks before it deletes, and keeps what somebody wrote when the block has another version", async () => {
    const { home, posts } = await serve(WORLDS.ordinary);
    const page = await open(`${home}/session?id=session-7`);
    await page.locator("[data-message=m62]").hover();
    await page.locator("[data-message=m62] .menu summary").click();
    await page.getByText("Delete this message…").click();
    expect(posts).toEqual([]);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await expect.poll(() => posts).toEqual([["delete-messages", { id: "session-7", messageIds: ["m62"] }]]);
    await visit(page, `${home}/memory?session=session-7&label=tasks`);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.locator("textarea").fill("mine");
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForSelector(".conflict");
    expect(await page.locator("textarea").inputValue()).toBe("mine");
    expect(await page.locator(".conflict").innerText()).toContain("Tell Ada");
    await page.context().close();
  });

  it("shows what is written meanwhile, and does not lose the place of whoever reads above", async () => {
    const world = { ...WORLDS.ordinary };
    const { home } = await serve(world);
    const page = await open(`${home}/session?id=session-7`);
    world.pathLength += 1;
    await page.waitForSelector("[data-message=m64]", { timeout: 20_000 });
    const place = () =>
      page.evaluate(() => document.querySelector("[data-message=m40]")?.getBoundingClientRect().top ?? null);
    await page.locator("[data-message=m40]").scrollIntoViewIfNeeded();
    const before = await place();
    world.pathLength += 1;
    await page.waitForTimeout(2500);
    expect(Math.abs(Number(await place()) - Number(before))).toBeLessThan(2);
    await page.context().close();
  });
});

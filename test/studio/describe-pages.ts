import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listen, type RunningServer } from "../../packages/cli/src/http/listen.js";
import type { Studio } from "../../packages/studio/src/options.js";
import { hasChromium, startChromium } from "../helpers/browser.js";

/** A studio below `/debug`, which may write, on a store that holds the sample. */
export interface ServedStudio {
  readonly studio: Studio;
  /** Renames the session `trip` beside the page, as another process would. */
  rename(name: string): Promise<void>;
  /** Writes the block `memory` of the session `trip`, as another process would. */
  writeMemory(content: string): Promise<void>;
  /** Writes the fact `home` of ada, as another process would. */
  writeFact(content: string): Promise<void>;
  /** What the fact `home` of ada says; undefined where it is gone. */
  fact(): Promise<string | undefined>;
  /** What the block `memory` of the session `trip` holds. */
  memory(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** What each page is to show of the sample. */
const PAGES: readonly (readonly [path: string, texts: readonly string[]])[] = [
  ["/", ["A trip", "ada", "bob"]],
  ["/?user=ada", ["A trip"]],
  ["/search?q=zebra", ["zebra", "A trip"]],
  ["/session?id=trip", ["A trip was booked.", "You are welcome, zebra", "stopped", "5 stored"]],
  ["/session?id=trip&originals=1", ["Plan a trip to the zebra crossing", "Booked.", "1.2 s"]],
  ["/session?id=trip&leaf=side", ["Cancel it"]],
  ["/context?id=trip", ["Tokens by source"]],
  ["/context?id=trip&turn=m3", ["Hash of the prefix"]],
  ["/memory", ["ada", "acme"]],
  ["/memory?session=trip&label=memory", ["Likes zebras and crossings.", "learned"]],
  ["/memory?user=ada&label=facts&entry=home", ["Lima", "Oslo", "message m1"]],
  ["/memory?key=acme&label=team", ["Ships on Fridays."]],
  ["/memory?session=trip&message=m1", ["memory"]],
  ["/?order=cost", ["A trip"]],
  ["/usage", ["0.5", "Compactions"]],
  ["/usage?by=model&id=trip", ["Before and after"]],
  ["/usage?by=session", ["A trip"]],
];

/** The real page on a real studio, in Chromium. */
export function describePages(name: string, open: () => Promise<ServedStudio>): void {
  describe.skipIf(!hasChromium())(`the pages of a studio on ${name}, in Chromium`, () => {
    let served: ServedStudio;
    let server: RunningServer;
    let browser: Browser;
    /** Goes from one of the pages to the next. */
    let page: Page;
    const faults: string[] = [];

    const at = (path: string) => `http://127.0.0.1:${server.port}/debug${path}`;

    async function blank(): Promise<Page> {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      page.on("pageerror", ({ message }) => faults.push(`${page.url()}: ${message}`));
      page.on("console", (message) => message.type() === "error" && faults.push(`${page.url()}: ${message.text()}`));
      return page;
    }

    async function visit(path: string): Promise<Page> {
      const page = await blank();
      await page.goto(at(path));
      return page;
    }

    beforeAll(async () => {
      served = await open();
      server = await listen(served.studio, { host: "127.0.0.1", port: 0 });
      browser = await startChromium();
      page = await blank();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
      await served?.close();
    });

    it.each(PAGES)("shows %s", async (path, texts) => {
      await page.goto(at(path));
      for (const text of texts) {
        await expect.poll(() => page.locator("main").innerText(), { timeout: 20_000 }).toContain(text);
      }
      expect(faults).toEqual([]);
    });

    it("shows a new name without being asked to", async () => {
      const page = await visit("/session?id=trip");
      await page.getByText("A trip", { exact: true }).first().waitFor();
      await served.rename("Another trip");
      await page.getByText("Another trip", { exact: true }).first().waitFor({ timeout: 20_000 });
      await served.rename("A trip");
      await page.close();
    });

    it("shows when each message was stored", async () => {
      const page = await visit("/session?id=trip&originals=1");
      await page.locator("article.message time").nth(3).waitFor();
      const times = await page.locator("article.message time").evaluateAll((all) => all.map((time) => time.outerHTML));
      expect(times.map((time) => /datetime="\d{4}-/.test(time))).toEqual([true, true, true, true]);
      await page.close();
    });

    it("loads a sound when somebody asks for it", async () => {
      const page = await visit("/session?id=trip&originals=1");
      const play = page.getByRole("button", { name: "Play" });
      await play.waitFor();
      expect(await page.locator("audio").count()).toBe(0);
      const [sound] = await Promise.all([page.waitForResponse(/api\/media/), play.click()]);
      expect([sound.status(), sound.headers()["content-type"]]).toEqual([200, "audio/wav"]);
      await page.close();
      expect(faults).toEqual([]);
    });

    it("shows what somebody else wrote meanwhile to a block, and saves over nothing", async () => {
      const page = await visit("/memory?session=trip&label=memory");
      await page.getByRole("button", { name: "Edit" }).click();
      await served.writeMemory("Likes tapirs.");
      await page.locator("textarea").fill("Likes giraffes.");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("alert").getByText("Likes tapirs.").waitFor();
      expect(await served.memory()).toBe("Likes tapirs.");
      await served.writeMemory("Likes zebras and crossings.");
      await page.close();
      // The browser notes the refusal.
      expect(faults.splice(0)).toEqual([expect.stringContaining("409")]);
    });

    it("writes a block, and restores the version before", async () => {
      const page = await visit("/memory?session=trip&label=memory");
      await page.getByRole("button", { name: "Edit" }).click();
      await page.locator("textarea").fill("Likes okapis.");
      await page.getByRole("button", { name: "Save" }).click();
      await expect.poll(() => served.memory()).toBe("Likes okapis.");
      await page.getByText("Version 5", { exact: true }).first().waitFor();
      await page.getByRole("button", { name: "Restore" }).first().click();
      await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
      await expect.poll(() => served.memory()).toBe("Likes zebras and crossings.");
      await page.close();
      expect(faults).toEqual([]);
    });

    it.each([1280, 390])(
      "edits a fact, forgets it, undoes that and restores a version, at %i pixels",
      async (width) => {
        const page = await visit("/memory?user=ada&label=facts&entry=home");
        await page.setViewportSize({ width, height: 800 });
        const fits = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        const main = page.locator(".memory-main");
        await main.getByText("Lima", { exact: true }).first().waitFor();
        await main.getByRole("button", { name: "Edit" }).press("Enter");
        await main.getByLabel("Text of home").fill("<b>Rome</b>");
        await main.getByLabel("Since").fill("2020-01-01");
        await main.getByLabel("Until").fill("2021-06-01");
        expect(await fits()).toBe(0);
        await main.getByRole("button", { name: "Save" }).press("Enter");
        await main.getByText("January 2020 – June 2021").first().waitFor();
        expect([await served.fact(), await main.locator("b").count()]).toEqual(["<b>Rome</b>", 0]);

        // What has ended is folded, and opens with a key.
        const list = main.getByRole("list", { name: "Entries" });
        await expect.poll(() => list.getByText("Rome").count()).toBe(0);
        await list.getByRole("button", { name: "1 entry that does not hold now" }).press("Enter");
        await list.getByText("<b>Rome</b>").waitFor();

        await main.getByRole("button", { name: "Forget…" }).press("Enter");
        await page.getByRole("dialog").getByRole("button", { name: "Forget it" }).press("Enter");
        await main.getByText("The entry was removed.").waitFor();
        expect(await served.fact()).toBe(undefined);
        await main.getByRole("button", { name: "Undo" }).press("Enter");
        await main.getByText("January 2020 – June 2021").first().waitFor();
        expect(await served.fact()).toBe("<b>Rome</b>");

        const version = main.locator(".version-row", { has: page.getByText("Version 2", { exact: true }) });
        await version.getByRole("button", { name: "Restore" }).press("Enter");
        await page.getByRole("dialog").getByRole("button", { name: "Restore" }).press("Enter");
        await expect.poll(() => served.fact()).toBe("Lima");
        await expect.poll(() => main.getByText("January 2020").count()).toBe(0);
        expect(await fits()).toBe(0);

        await main.getByRole("link", { name: "message m1" }).click();
        await page.locator("[data-message=m1]").waitFor();
        await page.close();
        expect(faults).toEqual([]);
      },
    );

    it("writes over no fact that somebody else changed meanwhile", async () => {
      const page = await visit("/memory?user=ada&label=facts&entry=home");
      await page.getByRole("button", { name: "Edit" }).click();
      await served.writeFact("Quito");
      await page.getByLabel("Text of home").fill("Rome");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("alert").getByText("ENTRY_CONFLICT").waitFor();
      expect([await served.fact(), await page.getByLabel("Text of home").inputValue()]).toEqual(["Quito", "Rome"]);
      await served.writeFact("Lima");
      await page.close();
      expect(faults.splice(0)).toEqual([expect.stringContaining("409")]);
    });
  });
}

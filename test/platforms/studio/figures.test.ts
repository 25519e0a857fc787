import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listen, type RunningServer } from "../../../packages/cli/src/http/listen.js";
import { SessionManager } from "../../../packages/session/src/manager/session-manager.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { createStudio } from "../../../packages/studio/src/create-studio.js";
import { hasChromium, startChromium } from "../../helpers/browser.js";
import { textMessage } from "../../helpers/messages.js";
import { ROOT } from "../../package/manifest.js";
import { fillShowcase } from "../../studio/showcase.js";

const IMAGES = join(ROOT, "docs/images");

/** The pictures of the docs, by their files. */
const PICTURES = {
  "studio-session.png": { path: "/session?id=lisbon", colorScheme: "light" },
  "studio-context.png": { path: "/context?id=lisbon&turn=plan-q", colorScheme: "light" },
  "studio-memory.png": { path: "/memory?user=ada&label=memory", colorScheme: "dark" },
} as const;

const ROUNDS = 5;

/** `STEMMA_RECORD=1 npx vitest run studio/figures`: makes the pictures, and prints how long pages take, in milliseconds. */
describe.runIf(process.env.STEMMA_RECORD && hasChromium())("the figures and pictures of the studio", () => {
  const folder = mkdtempSync(join(tmpdir(), "stemma-figures-"));
  const store = sqlite(join(folder, "chats.db"));
  let server: RunningServer;
  let browser: Browser;
  const home = () => `http://127.0.0.1:${server.port}`;

  beforeAll(async () => {
    const manager = SessionManager.create(store)
      .withContext("memory", { scope: "user", maxTokens: 1000, description: "Facts about the user" })
      .withCachedPrompt();
    await fillShowcase(manager);
    for (const count of [1000, 100_000]) {
      for (let at = 0; at < count; at += 1000) {
        await manager.appendAll(
          `of ${count}`,
          Array.from({ length: 1000 }, (_, index) => textMessage(`m${at + index}`)),
        );
      }
    }
    server = await listen(createStudio(manager, { basePath: "/", authorize: () => true }), {
      host: "127.0.0.1",
      port: 0,
    });
    browser = await startChromium();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(Object.entries(PICTURES))("makes %s", async (file, { path, colorScheme }) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 760 }, colorScheme });
    await page.goto(home() + path, { waitUntil: "networkidle" });
    await page.screenshot({ path: join(IMAGES, file) });
    await page.close();
  });

  it("opens a page of 100,000 messages as fast as one of 1,000", async () => {
    const taken: Record<string, number> = {};
    for (const [name, path, shown] of [
      ["sessions", "/", "A week in Lisbon"],
      ["1,000 messages", "/session?id=of+1000", "m999"],
      ["100,000 messages", "/session?id=of+100000", "m99999"],
    ] as const) {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) times.push(await timeOf(path, shown));
      taken[name] = Math.round(times.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] as number);
    }
    console.log(`milliseconds until it is shown, median of ${ROUNDS}, nothing cached: ${JSON.stringify(taken)}`);
    expect(taken["100,000 messages"]).toBeLessThan(2 * (taken["1,000 messages"] as number));
  });

  async function timeOf(path: string, shown: string): Promise<number> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 760 } });
    const page: Page = await context.newPage();
    const start = performance.now();
    await page.goto(home() + path);
    await page.getByText(shown, { exact: false }).first().waitFor();
    const time = performance.now() - start;
    await context.close();
    return time;
  }
});

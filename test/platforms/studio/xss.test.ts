import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listen, type RunningServer } from "../../../packages/cli/src/http/listen.js";
import { toHtml } from "../../../packages/formats/src/export/export-formats.js";
import type { SessionInfo } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { createStudio } from "../../../packages/studio/src/create-studio.js";
import { hasChromium, startChromium } from "../../helpers/browser.js";
import { fillHostile, HOSTILE_KEY, HOSTILE_MESSAGES, HOSTILE_SESSION, HOSTILE_USER } from "../../studio/hostile.js";
import { MARKER, PAYLOADS } from "../../studio/payloads.js";
import { sampleManager } from "../../studio/sample.js";

/** Clicks on one page that open what is folded, and how long the page then has to do something it must not. */
const CLICKS = 60;
const PATIENCE = 300;

const query = (fields: Record<string, string>) => `?${new URLSearchParams(fields)}`;
const id = HOSTILE_SESSION;

const PAGES: readonly string[] = [
  "/",
  `/${query({ name: "xss" })}`,
  `/${query({ user: HOSTILE_USER, prefix: id.slice(0, 20) })}`,
  ...PAYLOADS.filter((_, index) => index % 40 === 0).map((payload) => `/search${query({ q: payload })}`),
  `/search${query({ q: "alert script", role: PAYLOADS[2] as string })}`,
  `/session${query({ id })}`,
  `/session${query({ id, originals: "1", lanes: "0" })}`,
  `/session${query({ id, leaf: "aside" })}`,
  ...HOSTILE_MESSAGES.map((at) => `/session${query({ id, at, originals: "1" })}`),
  `/session${query({ id: PAYLOADS[5] as string, leaf: PAYLOADS[6] as string, at: PAYLOADS[7] as string })}`,
  `/context${query({ id })}`,
  `/context${query({ id, turn: "asked" })}`,
  ...[{ session: id }, { user: HOSTILE_USER }, { key: HOSTILE_KEY }].flatMap((owner) => {
    const label = PAYLOADS[0] as string;
    return [
      `/memory${query(owner)}`,
      `/memory${query({ ...owner, label: `${PAYLOADS[3]}#3` })}`,
      `/memory${query({ ...owner, label, entry: `${PAYLOADS[4]}#4` })}`,
    ];
  }),
  ...["day", "model", "session"].map((by) => `/usage${query({ by })}`),
];

describe.skipIf(!hasChromium())("200 payloads in every field, in Chromium", () => {
  const store = memory();
  const folder = mkdtempSync(join(tmpdir(), "stemma-xss-"));
  let browser: Browser;
  let server: RunningServer;
  let home: string;
  /** One for all pages of the studio. */
  let studioPage: Awaited<ReturnType<typeof watched>>;

  beforeAll(async () => {
    expect(PAYLOADS).toHaveLength(200);
    const manager = sampleManager(store);
    await fillHostile(manager);
    const studio = createStudio(manager, { authorize: () => true, basePath: "/studio", write: true });
    server = await listen(studio, { host: "127.0.0.1", port: 0 });
    home = `http://127.0.0.1:${server.port}/studio`;
    browser = await startChromium();
    studioPage = await watched(await browser.newContext(), home);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("are seen by this test where they do something", async () => {
    const context = await browser.newContext();
    const { page, seen } = await watched(context, "about:blank");
    await page.setContent(`<p onclick="1">${PAYLOADS[1]}</p><a href="javascript:1">x</a>`);
    await expect.poll(() => seen.join()).toMatch(/console: xss-marker.*a dialog: 1.*a request: http:\/\/evil.test/s);
    expect(await dangers(page)).toEqual(expect.arrayContaining(["window.__xss", "p onclick=1", "a href=javascript:1"]));
    await context.close();
  });

  it.each(PAGES.map((path, index) => [index, path.slice(0, 40), path]))(
    "do nothing on page %i, %s…",
    async (_, __, path) => {
      const { page, seen } = studioPage;
      await page.goto(`${home}${path}`, { waitUntil: "load" });
      // The payload is there, as text.
      if (!path.startsWith("/usage?by=day"))
        await page.getByText("window.__xss").first().waitFor({ state: "attached" });
      await page.waitForTimeout(PATIENCE);
      await openAll(page);
      await page.waitForTimeout(PATIENCE);
      expect(await dangers(page)).toEqual([]);
      expect(seen.splice(0)).toEqual([]);
    },
  );

  it("do nothing in an exported page", async () => {
    const file = join(folder, "export.html");
    let html = "";
    for await (const piece of toHtml(store, (await store.sessions.get(id)) as SessionInfo)) html += piece;
    writeFileSync(file, html);
    const context = await browser.newContext();
    const { page, seen } = await watched(context, `file://${file}`);
    await page.goto(`file://${file}`);
    await openAll(page);
    await page.waitForTimeout(PATIENCE);
    expect(await page.locator("article").count()).toBe(181);
    expect(await dangers(page)).toEqual([]);
    expect(seen).toEqual([]);
    await context.close();
  });
});

/** A page, and whatever it does that it must not: what runs, what is asked of elsewhere, what the browser had to prevent. */
async function watched(context: BrowserContext, home: string): Promise<{ page: Page; seen: string[] }> {
  const seen: string[] = [];
  const page = await context.newPage();
  context.on("page", (other) => seen.push(`a window: ${other.url()}`));
  page.on("dialog", (dialog) => {
    seen.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    const text = message.text();
    if (text.includes(MARKER) || /content security policy|trusted/i.test(text))
      seen.push(`console: ${text.slice(0, 300)}`);
  });
  page.on("pageerror", (error) => seen.push(`an error: ${error.message.slice(0, 300)}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(home) && !url.startsWith("data:")) seen.push(`a request: ${url.slice(0, 300)}`);
  });
  return { page, seen };
}

/** Opens what is folded, without following a link or writing anything. */
async function openAll(page: Page): Promise<void> {
  await page.evaluate((most) => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    const folded = [...document.querySelectorAll<HTMLElement>('button[aria-expanded="false"]')];
    for (const button of folded.slice(0, most)) button.click();
    for (const element of document.querySelectorAll<HTMLElement>("*")) {
      element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    }
  }, CLICKS);
}

/** What ran, and links and attributes that would run. */
function dangers(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = "__xss" in window ? ["window.__xss"] : [];
    for (const element of document.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        const isUrl = ["href", "src", "action", "formaction", "xlink:href", "data"].includes(name);
        const scheme = /^[a-z][a-z\d+.-]*:/i.exec(value.replace(/[\s\p{Cc}]/gu, ""))?.[0].toLowerCase();
        const isHarmless = scheme === undefined || ["http:", "https:", "mailto:"].includes(scheme);
        const isPicture = element.matches("img, link[rel=icon]") && scheme === "data:";
        if (name.startsWith("on") || name === "srcdoc" || (isUrl && !isHarmless && !isPicture)) {
          found.push(`${element.localName} ${name}=${value.slice(0, 100)}`);
        }
      }
    }
    return found;
  });
}

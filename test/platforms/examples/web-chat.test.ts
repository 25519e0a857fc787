// One file, because all cases share a browser and the servers of the example, which take seconds to start.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { record } from "../../examples/animation.js";
import { playScenario } from "../../examples/web-chat-scenario.js";
import { build, isInstalled, WebChat } from "../../examples/web-chat-server.js";
import { hasChromium, startChromium } from "../../helpers/browser.js";
import { ROOT } from "../../package/manifest.js";

/** `STEMMA_RECORD=1 npx vitest run examples/web-chat -t animation` sets it: the scenario of the README is played slowly, and its animation written. */
const IS_RECORDED = process.env.STEMMA_RECORD === "1";
const ANIMATION = join(ROOT, "docs/images/web-chat.webp");
const LAST_WORDS = "That is all there is to it.";

describe.skipIf(!isInstalled() || !hasChromium())(
  "examples/web-chat in Chromium (needs npm ci --prefix examples/web-chat, and /usr/bin/chromium or STEMMA_CHROMIUM)",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "stemma-web-chat-"));
    const server = new WebChat(join(folder, "chat.db"), IS_RECORDED ? 25 : 8);
    /** Its answers take long enough to be met in their middle, on a busy machine too. */
    const slow = new WebChat(join(folder, "slow.db"), 30);
    const failures: string[] = [];
    let browser: Browser;

    beforeAll(async () => {
      await build();
      await Promise.all([server.start(), slow.start()]);
      browser = await startChromium();
    });
    afterEach(async ({ task }) => {
      await Promise.all(browser.contexts().map((context) => context.close()));
      // The next attempt meets users who have said nothing yet.
      if (task.result?.state === "fail") await Promise.all([server.startAnew(), slow.startAnew()]);
      expect(failures.splice(0)).toEqual([]);
    });
    afterAll(async () => {
      await browser?.close();
      await Promise.all([server.kill("SIGTERM"), slow.kill("SIGTERM")]);
      rmSync(folder, { recursive: true, force: true });
    });

    /** A browser in which a user has signed in. */
    async function signIn(name: string, { width = 1280, height = 800, to = server } = {}): Promise<Page> {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: "light" });
      return watch(await context.newPage(), name, to.url);
    }

    async function watch(page: Page, name: string, url: string): Promise<Page> {
      page.setDefaultTimeout(60_000);
      page.on("pageerror", (error) => failures.push(error.message));
      await page.goto(url);
      await page.getByLabel("Your name").fill(name);
      await page.keyboard.press("Enter");
      await page.getByText(`Hello, ${name}.`).waitFor();
      return page;
    }

    const field = (page: Page) => page.getByLabel("Message", { exact: true });
    const answers = (page: Page) => page.getByRole("article", { name: "Answer" });
    const facts = (page: Page) => page.locator(".fact > span");

    /** Waits, since a page whose connection broke off shows the rest a second later. */
    async function shows(shown: Locator, ...texts: string[]): Promise<void> {
      await expect.poll(() => shown.allInnerTexts()).toEqual(texts);
    }

    async function says(shown: Locator, text: string): Promise<void> {
      await shown.filter({ hasText: text }).waitFor();
    }

    async function ask(page: Page, text: string): Promise<void> {
      await field(page).fill(text);
      await page.keyboard.press("Enter");
      await page.getByRole("article", { name: "You" }).filter({ hasText: text }).waitFor();
    }

    /** Asks, and waits for the whole answer. */
    async function say(page: Page, text: string): Promise<void> {
      const count = await answers(page).count();
      await ask(page, text);
      await whole(page, count);
    }

    async function whole(page: Page, index: number): Promise<void> {
      await answers(page).nth(index).getByRole("button", { name: "Answer again" }).waitFor();
    }

    it("sends what is entered while an answer is written when that has ended, and asks for nothing that is not there", async () => {
      const page = await signIn("Queue", { to: slow, width: 390 });
      const refused: string[] = [];
      page.on("response", (response) => {
        if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
      });
      await ask(page, "How does this work?");
      await answers(page).first().waitFor();
      await field(page).fill("What do you know about me?");
      await page.keyboard.press("Enter");
      await page.getByText("This is sent when the answer has ended.").waitFor();
      expect(await field(page).inputValue()).toBe("What do you know about me?");
      await page.getByRole("article", { name: "You" }).filter({ hasText: "What do you know about me?" }).waitFor();
      await shows(page.locator(".waiting"));
      expect(await answers(page).first().innerText()).toContain(LAST_WORDS);
      expect(await field(page).inputValue()).toBe("");
      expect(refused).toEqual([]);
    });

    it("shows what the model notes, knows it in a new chat, says why, and leads to the message", async () => {
      const page = await signIn("Amy");
      await say(page, "My name is Amy and I live in Lisbon.");
      await shows(facts(page), "Name: Amy", "Lives in Lisbon");
      await shows(answers(page).locator("li"), "Name: Amy", "Lives in Lisbon");
      const first = page.url();

      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByText("Hello, Amy.").waitFor();
      await say(page, "What do you know about me?");
      await shows(answers(page).locator("li"), "Name: Amy", "Lives in Lisbon");
      expect(page.url()).not.toBe(first);

      const fact = page.locator(".fact", { hasText: "Lives in Lisbon" });
      await fact.getByText("Why do you know that?").click();
      await says(fact, "You said so today at");
      await fact.getByRole("link").click();
      await page.locator('article[data-marked="true"]', { hasText: "I live in Lisbon." }).waitFor();
      expect(page.url()).toBe(first);

      // What is forgotten can be had back.
      await page.getByRole("button", { name: "Forget “Name: Amy”" }).click();
      await shows(facts(page), "Lives in Lisbon");
      await page.getByText("Earlier versions").click();
      await page
        .getByRole("button", { name: /^Restore the version/ })
        .first()
        .click();
      await shows(facts(page), "Name: Amy", "Lives in Lisbon");
    });

    it("plays what the animation in the README shows", async () => {
      const page = await signIn("Ada", { width: 1120, height: 660 });
      if (IS_RECORDED) await record(page, ANIMATION, () => playScenario(page, true));
      else await playScenario(page, false);
    });

    it("learns what the model did not note, from the chat that is left, and knows it in the next one", async () => {
      const page = await signIn("Lea");
      await say(page, "I live in Porto. How does this work?");
      await says(answers(page), LAST_WORDS);
      expect(await answers(page).innerText()).not.toContain("Porto");
      await page.getByText("Nothing yet. Say something about yourself").waitFor();

      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByText("Hello, Lea.").waitFor();
      await expect.poll(() => facts(page).allInnerTexts(), { timeout: 15_000 }).toEqual(["Lives in Porto"]);
      await say(page, "What do you know about me?");
      await shows(answers(page).locator("li"), "Lives in Porto");
      const fact = page.locator(".fact");
      await fact.getByText("Why do you know that?").click();
      await fact.getByRole("link").click();
      await page.locator('article[data-marked="true"]', { hasText: "I live in Porto." }).waitFor();
    });

    it("does not bring back what was forgotten", async () => {
      const page = await signIn("Kim");
      await say(page, "I live in Porto.");
      await page.getByRole("button", { name: "Forget “Lives in Porto”" }).click();
      await page.getByText("Nothing yet. Say something about yourself").waitFor();
      const left = page.waitForResponse(/\/api\/leave\//);
      await page.getByRole("button", { name: "New chat" }).click();
      expect((await left).status()).toBe(204);
      await say(page, "What do you know about me?");
      await says(answers(page), "Nothing yet.");
      expect(await facts(page).count()).toBe(0);
    });

    it("keeps users apart", async () => {
      const ada = await signIn("Ada of the secrets");
      await say(ada, "Remember that my password hint is a tulip.");
      const address = ada.url();

      const ben = await signIn("Ben");
      await ben.getByText("Nothing yet. Say something about yourself").waitFor();
      await say(ben, "What do you know about me?");
      await says(answers(ben), "Nothing yet.");
      await ben.getByLabel("Search all chats").fill("tulip");
      await ben.getByText("No message says “tulip”.").waitFor();
      await ben.goto(address);
      await ben.getByText("Hello, Ben.").waitFor();
      expect(await ben.getByRole("article").count()).toBe(0);
    });

    it("goes on with an answer after kill -9 of its server, a restart and a reload", async () => {
      const page = await signIn("Cleo", { to: slow });
      await ask(page, "How does this work?");
      await page.getByRole("heading", { name: "Messages form a tree" }).waitFor();
      await slow.kill();
      await page.getByText("The connection was lost.").waitFor();
      await slow.start();

      // The page finds the server again by itself, and shows what had been stored.
      await page.getByText("This answer was cut off.").waitFor();
      await page.reload();
      await page.getByText("This answer was cut off.").waitFor();
      await says(answers(page), "How this chat works");
      expect(await answers(page).innerText()).not.toContain(LAST_WORDS);

      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText(LAST_WORDS).waitFor();
      await whole(page, 0);
      await page.reload();
      await page.getByText(LAST_WORDS).waitFor();
      // One answer, which has no siblings.
      expect(await answers(page).count()).toBe(1);
      expect(await page.locator(".switch").count()).toBe(0);
    });

    it("goes on with an answer when the page is reloaded in the middle of it", async () => {
      const page = await signIn("Dora", { to: slow });
      await ask(page, "How does this work?");
      await page.getByRole("heading", { name: "Messages form a tree" }).waitFor();
      await page.reload();
      await page.getByRole("button", { name: "Stop" }).waitFor();
      await page.getByText(LAST_WORDS).waitFor();
      expect(await answers(page).count()).toBe(1);
    });

    it("answers again, edits, and goes between the versions", async () => {
      const page = await signIn("Eve");
      await say(page, "I like tea.");
      await answers(page).getByRole("button", { name: "Answer again" }).click();
      await page.locator(".answer .switch", { hasText: "2/2" }).waitFor();
      await page.getByRole("button", { name: "The version before" }).click();
      await page.locator(".answer .switch", { hasText: "1/2" }).waitFor();

      const question = page.getByRole("article", { name: "You" });
      await question.hover();
      await question.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Edit the message").fill("I like coffee.");
      await page.keyboard.press("Enter");
      await page.locator(".question .switch", { hasText: "2/2" }).waitFor();
      await shows(facts(page), "Likes tea", "Likes coffee");
      await page.reload();
      await question.filter({ hasText: "I like coffee." }).waitFor();
      await page.locator(".question").getByRole("button", { name: "The version before" }).click();
      await question.filter({ hasText: "I like tea." }).waitFor();
      // Of its two answers the newer one.
      await page.locator(".answer .switch", { hasText: "2/2" }).waitFor();
    });

    it("shows an answer in two tabs while it is written, and stops it from either", async () => {
      const page = await signIn("Finn", { to: slow });
      await say(page, "I like rain.");
      const other = await page.context().newPage();
      await other.goto(page.url());
      await answers(other).first().waitFor();

      await ask(page, "How does this work?");
      await other.getByRole("heading", { name: "Messages form a tree" }).waitFor();
      await other.getByRole("button", { name: "Stop" }).click();
      for (const tab of [page, other]) await tab.getByText("You stopped this answer.").waitFor();
      expect(await page.locator("main").innerText()).not.toContain(LAST_WORDS);
      expect(await answers(other).allInnerTexts()).toEqual(await answers(page).allInnerTexts());

      // What one tab does, the other one shows.
      await say(other, "I like snow.");
      await page.getByRole("article", { name: "You" }).filter({ hasText: "I like snow." }).waitFor();
      await shows(facts(page), "Likes rain", "Likes snow");
    });

    it("finds a message on a branch that is not shown, and opens the summary", async () => {
      const page = await signIn("Gus");
      await say(page, "I have a parrot.");
      await page.getByRole("article", { name: "You" }).hover();
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Edit the message").fill("I have a lizard.");
      await page.keyboard.press("Enter");
      await page.locator(".question .switch", { hasText: "2/2" }).waitFor();
      await whole(page, 0);
      await say(page, "What do you know about me?");

      await page.getByRole("button", { name: "Summarise older messages" }).click();
      const line = page.getByText("The 2 messages above are summarised for the model");
      await line.click();
      await says(page.locator(".summary"), "I have a lizard.");

      await page.keyboard.press("Control+k");
      await page.keyboard.type("parrots");
      await page.locator(".found a", { hasText: "You: I have a parrot." }).click();
      await page.locator('article[data-marked="true"]', { hasText: "I have a parrot." }).waitFor();
      await says(page.locator(".found mark").first(), "parrot");
    });

    it("draws Markdown, and runs nothing of what stands in it", async () => {
      const page = await signIn("Hal");
      await say(
        page,
        'Remember that <img src="x" onerror="document.title=1"> and [this](javascript:alert(1)) and ![p](https://example.com/p.png)',
      );
      const answer = answers(page).first();
      await says(answer, '<img src="x"');
      expect(await answer.locator("img").count()).toBe(0);
      expect(await answer.getByText("this", { exact: true }).getAttribute("href")).toBe("");
      await say(page, "How does this work?");
      expect(await page.locator(".markdown table tr").count()).toBe(4);
      await says(page.locator(".markdown pre code"), "SessionManager.create");
    });

    it("is used with the keyboard, in narrow windows, and deletes a chat", async () => {
      const page = await signIn("Ida", { width: 390, to: slow });
      const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      await ask(page, "How does this work?");
      await page.getByRole("heading", { name: "Messages form a tree" }).waitFor();
      // The first closes what is open, the second stops the answer.
      await page.getByRole("button", { name: "Memory" }).click();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Stop" }).click({ trial: true });
      await page.keyboard.press("Escape");
      await page.getByText("You stopped this answer.").waitFor();
      for (const width of [390, 768, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect([width, await overflow()]).toEqual([width, 0]);
      }
      await page.setViewportSize({ width: 390, height: 800 });
      await page.getByRole("button", { name: "Memory" }).click();
      await page.getByText("Nothing yet.").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Chats" }).click();
      page.on("dialog", (dialog) => void dialog.accept());
      await page.getByRole("button", { name: "Delete How does this work?" }).click();
      await page.getByText("Your chats will be listed here.").waitFor();
      await page.keyboard.press("Escape");
      await page.getByText("Hello, Ida.").waitFor();
    });
  },
);

// One file, because all cases share a browser and the servers of the example, which take seconds to start.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
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
    async function signIn(
      name: string,
      { width = 1280, height = 800, to = server, bypassCSP = false } = {},
    ): Promise<Page> {
      // What moves is drawn again and again.
      const reducedMotion = IS_RECORDED ? "no-preference" : "reduce";
      const view = { viewport: { width, height }, colorScheme: "light", reducedMotion } as const;
      const context = await browser.newContext({ ...view, bypassCSP });
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
    const facts = (page: Page) => page.locator(".fact > p > span");

    /** Waits until these facts are shown as what is remembered. */
    async function remembers(page: Page, ...texts: string[]): Promise<void> {
      // In narrow windows the panel is hidden.
      const shown = async () => (await facts(page).allTextContents()).sort();
      await expect.poll(shown, { timeout: 15_000 }).toEqual(texts.sort());
    }

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

    it("shows what was learned, knows it in a new chat, says why, and leads to the message", async () => {
      const page = await signIn("Amy");
      await say(page, "My name is Amy and I live in Lisbon.");
      await shows(answers(page).locator("li"), "Name: Amy", "Lives in Lisbon");
      await remembers(page, "Name: Amy", "Lives in Lisbon");
      const first = page.url();

      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByText("Hello, Amy.").waitFor();
      await say(page, "What do you know about me?");
      await shows(answers(page).locator("li"), "Lives in Lisbon", "Name: Amy");
      expect(page.url()).not.toBe(first);

      const fact = page.locator(".fact", { hasText: "Lives in Lisbon" });
      await fact.getByText("Why do you know that?").click();
      await says(fact, "You said so today at");
      await fact.getByRole("link").click();
      await page.locator('article[data-marked="true"]', { hasText: "I live in Lisbon." }).waitFor();
      expect(page.url()).toBe(first);

      // What is forgotten can be had back.
      await page.getByRole("button", { name: "Forget “Name: Amy”" }).click();
      await page.getByRole("status").filter({ hasText: "Forgotten: Name: Amy" }).waitFor();
      await remembers(page, "Lives in Lisbon");
      await page.getByRole("button", { name: "Undo" }).click();
      await remembers(page, "Name: Amy", "Lives in Lisbon");
    });

    it("plays what the animation in the README shows", async () => {
      const page = await signIn("Ada", { width: 1120, height: 660 });
      if (IS_RECORDED) await record(page, ANIMATION, () => playScenario(page, true));
      else await playScenario(page, false);
    });

    it("learns what was told beside a question, and knows it in the next chat", async () => {
      const page = await signIn("Lea");
      await say(page, "I live in Porto. How does this work?");
      await says(answers(page), LAST_WORDS);
      expect(await answers(page).innerText()).not.toContain("Porto");
      await remembers(page, "Lives in Porto");

      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByText("Hello, Lea.").waitFor();
      await say(page, "What do you know about me?");
      await shows(answers(page).locator("li"), "Lives in Porto");
      const fact = page.locator(".fact");
      await fact.getByText("Why do you know that?").click();
      await fact.getByRole("link").click();
      await page.locator('article[data-marked="true"]', { hasText: "I live in Porto." }).waitFor();
    });

    it("does not bring back what was forgotten, in the panel or by asking for it", async () => {
      const page = await signIn("Kim");
      await say(page, "I live in Porto and I like tea.");
      await remembers(page, "Lives in Porto", "Likes tea");
      await page.getByRole("button", { name: "Forget “Lives in Porto”" }).click();
      await remembers(page, "Likes tea");
      await say(page, "Forget that I like tea.");
      await page.locator(".tool-note", { hasText: "Taken out of the memory" }).waitFor();
      await page.reload();
      await page.getByText("Nothing yet. Say something about yourself").waitFor();
      await page.getByRole("button", { name: "New chat" }).click();
      await say(page, "What do you know about me?");
      await says(answers(page), "Nothing yet.");
      await page.reload();
      await page.getByText("Nothing yet. Say something about yourself").waitFor();
      expect(await facts(page).count()).toBe(0);
    });

    describe.each([1280, 390])("the memory page at %i pixels", (width) => {
      async function remembered(name: string): Promise<Page> {
        const page = await signIn(name, { width, bypassCSP: true });
        await say(page, "I have lived in Berlin since April 2023.");
        await remembers(page, "Lives in Berlin");
        await say(page, "I moved to Lisbon in June 2025. I like <b>tea</b>.");
        await remembers(page, "Lives in Lisbon", "Likes <b>tea</b>");
        if (width < 1100) await page.getByRole("button", { name: "Memory" }).click();
        await page.getByRole("link", { name: "Open the memory" }).click();
        await page.getByRole("heading", { name: "Memory", exact: true }).waitFor();
        return page;
      }

      const fits = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      const factThat = (page: Page, text: string) => page.locator(".fact", { hasText: text });

      it("shows facts by subject, since when, what has ended, and leads to the message", async () => {
        const page = await remembered(`Mia ${width}`);
        await shows(page.locator(".subjects h2"), "Home", "Likes");
        const home = page.getByRole("region", { name: "Home" });
        await shows(home.locator("time:visible"), "since June 2025");
        await home.getByText("1 fact that does not hold now").click();
        await shows(home.locator("time:visible"), "since June 2025", "April 2023 – June 2025");
        expect(await page.locator(".fact b").count()).toBe(0);
        await page.locator("details").evaluateAll((all) => {
          for (const each of all) (each as HTMLDetailsElement).open = true;
        });
        await says(factThat(page, "Lives in Berlin"), "learned from a chat");
        expect(await fits(page)).toBe(0);
        await page.evaluate(`${axe.source};0`);
        const found = await page.evaluate(`axe.run().then(({ violations }) => violations
          .filter(({ impact }) => impact === "serious" || impact === "critical")
          .map(({ id, nodes }) => id + ": " + nodes[0].html))`);
        expect(found).toEqual([]);

        await factThat(page, "Lives in Berlin").getByRole("link").click();
        await page.locator('article[data-marked="true"]', { hasText: "I have lived in Berlin" }).waitFor();
      });

      it("edits, forgets and restores with the keyboard, and exports", async () => {
        const page = await remembered(`Noa ${width}`);
        await page.getByRole("button", { name: "Edit “Lives in Lisbon”" }).press("Enter");
        await page.getByLabel("What is remembered").fill("Lives in <i>Lisbon</i>, near the river");
        await page.getByLabel("Until").fill("2999-06-01");
        expect(await fits(page)).toBe(0);
        await page.getByLabel("What is remembered").press("Enter");
        const fact = factThat(page, "Lives in <i>Lisbon</i>, near the river");
        await says(fact, "since June 2025, until June 2999");

        // Escape changes nothing, and gives the focus back.
        const edit = fact.getByRole("button", { name: /^Edit/ });
        await edit.press("Enter");
        await page.getByLabel("What is remembered").fill("Nothing of the kind");
        await page.keyboard.press("Escape");
        await expect.poll(() => edit.evaluate((button) => button === document.activeElement)).toBe(true);

        await page.keyboard.press("Tab");
        await page.keyboard.press("Enter");
        await page.getByRole("status").filter({ hasText: "Forgotten: Lives in <i>Lisbon</i>" }).waitFor();
        // What it superseded holds again.
        await remembers(page, "Lives in Berlin", "Likes <b>tea</b>");
        await page.keyboard.press("Enter");
        await fact.getByText("Versions").press("Enter");
        await shows(fact.locator(".versions li em"), "now", "forgotten");
        await fact.getByRole("button", { name: "Restore “Lives in Lisbon”" }).press("Enter");
        await says(factThat(page, "Lives in Lisbon").locator("time"), "since June 2025");
        // The other one was told without a date: it begins with its message.
        await expect
          .poll(() => page.locator(".fact:visible time").allInnerTexts())
          .toEqual(["since June 2025", expect.stringMatching(/^since \w+ \d+, \d{4}$/)]);

        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("link", { name: "Export" }).press("Enter"),
        ]);
        expect(download.suggestedFilename()).toBe("memory.json");
        await page.getByRole("link", { name: "Back to the chat" }).press("Enter");
        await page.getByRole("article", { name: "You" }).filter({ hasText: "I moved to Lisbon" }).waitFor();
      });

      it("writes over nothing that was changed meanwhile", async () => {
        const page = await remembered(`Ole ${width}`);
        const other = await page.context().newPage();
        await other.goto(`${server.url}/memory`);
        await page.getByRole("button", { name: "Edit “Lives in Lisbon”" }).click();
        await other.getByRole("button", { name: "Edit “Lives in Lisbon”" }).click();
        await other.getByLabel("What is remembered").fill("Lives in Faro");
        await other.getByRole("button", { name: "Save" }).click();
        await factThat(other, "Lives in Faro").waitFor();
        await page.getByLabel("What is remembered").fill("Lives in Porto");
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByRole("alert").waitFor();
        expect(await page.getByLabel("What is remembered").inputValue()).toBe("Lives in Porto");
        await page.getByRole("button", { name: "Cancel" }).click();
        await factThat(page, "Lives in Faro").waitFor();
      });
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
      await ben.goto(`${server.url}/memory`);
      await ben.getByText("Nothing yet. Say something about yourself").waitFor();
      const exported = await ben.evaluate(async () => (await fetch("/api/chat/memory/export")).json());
      expect(exported).toEqual({ facts: [] });
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
      await remembers(page, "Likes tea", "Likes coffee");
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
      await remembers(page, "Likes rain", "Likes snow");
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
      await page.getByText("Your chats will be listed here.").waitFor({ state: "attached" });
      await page.keyboard.press("Escape");
      await page.getByText("Hello, Ida.").waitFor();
    });
  },
);

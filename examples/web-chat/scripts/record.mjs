// Records the animation of the README: talks to the app in Chromium, and writes what it showed to docs/images/web-chat.webp.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import sharp from "sharp";

const FOLDER = fileURLToPath(new URL("..", import.meta.url));
const OUTPUT = fileURLToPath(new URL("../../../docs/images/web-chat.webp", import.meta.url));
const SIZE = { width: 1120, height: 660 };
/** Milliseconds between two frames, at least. */
const FRAME = 100;
/** The longest that nothing moves, in milliseconds. */
const STILL = 1400;
const LAST = 3000;

const folder = mkdtempSync(join(tmpdir(), "stemma-record-"));
const server = spawn(process.execPath, ["--import", "tsx", "server/main.ts"], {
  cwd: FOLDER,
  env: { ...process.env, DATABASE: join(folder, "chat.db"), PORT: "0", STEMMA_MODEL: "" },
  stdio: ["ignore", "pipe", "inherit"],
});
const executablePath = process.env.STEMMA_CHROMIUM || "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

try {
  const url = await new Promise((resolve, reject) => {
    server.stdout.on("data", (data) => resolve(/http:\S+/.exec(String(data))?.[0]));
    server.once("exit", () => reject(new Error("The server did not start.")));
  });
  const page = await browser.newPage({ viewport: SIZE, colorScheme: "light" });
  await page.goto(url);
  await page.getByLabel("Your name").fill("Ada");
  await page.keyboard.press("Enter");
  await page.getByText("Hello, Ada.").waitFor();
  const frames = await screencast(page, () => play(page));
  await write(frames);
  console.log(`${OUTPUT}: ${frames.length} frames, ${Math.round(statSync(OUTPUT).size / 1000)} kB`);
} finally {
  await browser.close();
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}

/** What is shown: a fact is noted, a new chat knows it, and says why; branches; a summary. */
async function play(page) {
  const pause = (milliseconds) => page.waitForTimeout(milliseconds);
  const type = async (text) => {
    await page.getByLabel("Message", { exact: true }).pressSequentially(text, { delay: 28 });
    await pause(250);
    await page.keyboard.press("Enter");
  };
  const answered = (count) =>
    page
      .getByRole("article", { name: "Answer" })
      .nth(count - 1)
      .getByRole("button", { name: "Answer again" })
      .waitFor();

  await type("I live in Lisbon and I love cycling.");
  await answered(1);
  await pause(1200);
  await page.getByRole("button", { name: "New chat" }).click();
  await page.getByText("Hello, Ada.").waitFor();
  await type("What do you know about me?");
  await answered(1);
  await pause(700);
  const fact = page.locator(".fact", { hasText: "Lives in Lisbon" });
  await fact.getByText("Why do you know that?").click();
  await pause(1200);
  await fact.getByRole("link").click();
  await page.locator('[data-marked="true"]').waitFor();
  await pause(1300);
  await fact.getByText("Why do you know that?").click();
  await page.getByRole("article", { name: "You" }).hover();
  await page.getByRole("button", { name: "Edit" }).click();
  await pause(500);
  await page.getByLabel("Edit the message").press("Control+a");
  await page.getByLabel("Edit the message").pressSequentially("How does this work?", { delay: 28 });
  await page.keyboard.press("Enter");
  await pause(3800);
  await page.keyboard.press("Escape");
  await page.getByText("You stopped this answer.").waitFor();
  await pause(700);
  await page.locator(".scroll").evaluate((place) => place.scrollTo({ top: 0, behavior: "smooth" }));
  await pause(600);
  await page.locator(".question .switch button").first().click();
  await page.locator(".question", { hasText: "I live in Lisbon and I love cycling." }).waitFor();
  await pause(900);
}

/** The frames that a page shows while `work` runs, each with the milliseconds that it stays. */
async function screencast(page, work) {
  const session = await page.context().newCDPSession(page);
  const shown = [];
  session.on("Page.screencastFrame", ({ data, metadata, sessionId }) => {
    shown.push({ data: Buffer.from(data, "base64"), at: metadata.timestamp * 1000 });
    session.send("Page.screencastFrameAck", { sessionId }).catch(() => {});
  });
  await session.send("Page.startScreencast", { format: "png" });
  await work();
  await session.send("Page.stopScreencast");
  const kept = [];
  for (const frame of shown) {
    const last = kept.at(-1);
    if (last !== undefined && frame.at - last.at < FRAME) last.data = frame.data;
    else kept.push(frame);
  }
  return kept.map(({ data, at }, index) => {
    const next = kept[index + 1]?.at;
    return { data, delay: next === undefined ? LAST : Math.round(Math.min(next - at, STILL)) };
  });
}

async function write(frames) {
  await sharp(
    frames.map(({ data }) => data),
    { join: { animated: true } },
  )
    .webp({ delay: frames.map(({ delay }) => delay), loop: 0, lossless: true, effort: 4 })
    .toFile(OUTPUT);
}

import { existsSync } from "node:fs";
import { type Browser, chromium, type Page, type Request } from "playwright-core";

// The shell has no windows to draw, which halves what a page costs.
const PATHS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const CHROMIUM = process.env.STEMMA_CHROMIUM || PATHS.find((path) => existsSync(path)) || PATHS.join(" or ");

/** True where Chromium is installed. In CI it must be. */
export function hasChromium(): boolean {
  const found = existsSync(CHROMIUM);
  if (!found && process.env.CI) throw new Error(`No Chromium at ${CHROMIUM}: install it, or set STEMMA_CHROMIUM.`);
  return found;
}

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

/** Goes to an address, and waits until what it asks its server for is there and drawn. Sooner than "networkidle", which waits half a second more. */
export async function visit(page: Page, address: string): Promise<void> {
  const underWay = new Set<Request>();
  const begin = (request: Request) => underWay.add(request);
  const end = (request: Request) => underWay.delete(request);
  page.on("request", begin).on("requestfinished", end).on("requestfailed", end);
  await page.goto(address, { waitUntil: "load" });
  // What is drawn may ask for more.
  for (let quiet = 0; quiet < 2; quiet = underWay.size === 0 ? quiet + 1 : 0) await twoFrames(page);
  page.off("request", begin).off("requestfinished", end).off("requestfailed", end);
}

function twoFrames(page: Page): Promise<unknown> {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

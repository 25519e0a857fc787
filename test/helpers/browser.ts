import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const CHROMIUM = process.env.STEMMA_CHROMIUM || "/usr/bin/chromium";

/** True where Chromium is installed. In CI it must be. */
export function hasChromium(): boolean {
  const found = existsSync(CHROMIUM);
  if (!found && process.env.CI) throw new Error(`No Chromium at ${CHROMIUM}: install it, or set STEMMA_CHROMIUM.`);
  return found;
}

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

import type { Page } from "playwright-core";
import sharp from "sharp";

/** Milliseconds between two frames, at least. */
const FRAME = 100;
/** The longest that nothing moves, in milliseconds. */
const STILL = 1400;
/** How long the last frame stays, in milliseconds. */
const LAST = 3000;

/** Writes an animation (WebP) of what a page shows while `work` runs. */
export async function record(page: Page, file: string, work: () => Promise<void>): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const shown: { data: Buffer; at: number }[] = [];
  session.on("Page.screencastFrame", ({ data, metadata, sessionId }) => {
    shown.push({ data: Buffer.from(data, "base64"), at: (metadata.timestamp ?? 0) * 1000 });
    session.send("Page.screencastFrameAck", { sessionId }).catch(() => {});
  });
  await session.send("Page.startScreencast", { format: "png" });
  await work();
  await session.send("Page.stopScreencast");
  const frames = thinned(shown);
  const delay = frames.map(({ at }, index) => {
    const next = frames[index + 1]?.at;
    return next === undefined ? LAST : Math.round(Math.min(next - at, STILL));
  });
  await sharp(
    frames.map(({ data }) => data),
    { join: { animated: true } },
  )
    .webp({ delay, loop: 0, lossless: true, effort: 4 })
    .toFile(file);
}

// Of those that follow each other closely the last one.
function thinned(shown: readonly { data: Buffer; at: number }[]): { data: Buffer; at: number }[] {
  const kept: { data: Buffer; at: number }[] = [];
  for (const { data, at } of shown) {
    const last = kept.at(-1);
    if (last !== undefined && at - last.at < FRAME) last.data = data;
    else kept.push({ data, at });
  }
  return kept;
}

import { open, rename, rm } from "node:fs/promises";

/** Writes a file whole or not at all, readable by its owner only. */
export async function writeFile(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const partial = `${path}.partial`;
  const file = await open(partial, "w", 0o600);
  try {
    for await (const chunk of chunks) await file.write(chunk);
    await file.close();
    await rename(partial, path);
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}

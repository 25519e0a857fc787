import { expect } from "vitest";
import { Spawned } from "./spawned.js";

/** `stemma serve` as a process that listens. */
export interface Served {
  readonly url: string;
  readonly process: Spawned;
}

/** Starts it on a free port. */
export async function startServed(
  program: string,
  args: readonly string[] = [],
  variables: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const env = { ...process.env, NODE_NO_WARNINGS: "1", ...variables };
  const served = new Spawned(program, ["serve", "--port", "0", ...args], env);
  const listening = () => served.lines.find(({ event }) => event === "listening");
  await expect.poll(listening, { interval: 10 }).toBeDefined();
  return { url: String(listening()?.url), process: served };
}

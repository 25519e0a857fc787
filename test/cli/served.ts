import { patience } from "../helpers/patience.js";
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
  const until = Date.now() + patience(20_000);
  let isOver = false;
  served.ended.then(() => {
    isOver = true;
  });
  while (listening() === undefined) {
    if (isOver || Date.now() > until) throw new Error(`It does not listen: ${served.out}${served.err}`);
    await new Promise((wake) => setTimeout(wake, 10));
  }
  return { url: String(listening()?.url), process: served };
}

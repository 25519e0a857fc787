import type { Completable } from "./completion.js";
import { LineTerminal } from "./line-terminal.js";
import type { Terminal } from "./terminal.js";

/** The terminal of this process: a screen where a person sits at one that can move its cursor, else lines. */
export async function openTerminal(commands: readonly Completable[]): Promise<Terminal> {
  const { stdin, stdout } = process;
  if (stdin.isTTY !== true || stdout.isTTY !== true || process.env.TERM === "dumb")
    return new LineTerminal(stdin, stdout);
  // Loaded only where it is used: a pipe starts without it.
  const { ScreenTerminal } = await import("./screen-terminal.js");
  return ScreenTerminal.open(commands);
}

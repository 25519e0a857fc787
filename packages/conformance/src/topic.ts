import type { Need } from "./target.js";
import type { Workspace } from "./workspace.js";

/** One behaviour: a sentence, and the code that shows it. */
export interface Case {
  readonly title: string;
  readonly needs: readonly Need[];
  run(workspace: Workspace): Promise<void>;
}

/** The cases about one subject. */
export interface Topic {
  readonly name: string;
  readonly cases: readonly Case[];
}

type Run = Case["run"];

/** Registers a case, with what it needs of the store when that is not a matter of course. */
export interface AddCase {
  (title: string, run: Run): void;
  (title: string, needs: readonly Need[], run: Run): void;
}

/** Collects cases, written as tests are: `it("does this", async ({ session }) => …)`. */
export function defineTopic(name: string, define: (it: AddCase) => void): Topic {
  const cases: Case[] = [];
  const add = (title: string, second: readonly Need[] | Run, third?: Run): void => {
    if (typeof second === "function") cases.push({ title, needs: [], run: second });
    else cases.push({ title, needs: second, run: third as Run });
  };
  define(add);
  return { name, cases };
}

// Stands for vitest in the worker: suites register here, and vitest runs each case from outside.
import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

export const expect = chai.expect;

export interface RegisteredCase {
  /** The names of the suites around it, outermost first. */
  readonly suites: readonly string[];
  readonly title: string;
  /** Null for a case that is skipped. */
  readonly run: (() => unknown) | null;
}

export const cases: RegisteredCase[] = [];
const suites: string[] = [];

export function describe(name: string, body: () => void): void {
  suites.push(name);
  body();
  suites.pop();
}

describe.each =
  (rows: readonly unknown[]) =>
  (name: string, body: (...values: unknown[]) => void): void => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row];
      describe(name.replace("%s", String(values[0])), () => body(...values));
    }
  };

export function it(title: string, run: () => unknown): void {
  cases.push({ suites: [...suites], title, run });
}

it.skip = (title: string): void => {
  cases.push({ suites: [...suites], title, run: null });
};

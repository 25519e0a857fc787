// Stands for vitest in the worker: suites register here, and vitest runs each case from outside.
import { chai, customMatchers, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

export const expect = chai.expect;
(expect as unknown as { extend(target: unknown, matchers: object): void }).extend(expect, customMatchers);

export interface RegisteredCase {
  /** The names of the suites around it, outermost first. */
  readonly suites: readonly string[];
  readonly title: string;
  /** Null for a case that is skipped. */
  readonly run: (() => unknown) | null;
}

export const cases: RegisteredCase[] = [];
const suites: string[] = [];
/** What is to be done before the cases of the suites that are open. */
let before: readonly (() => unknown)[] = [];

export function describe(name: string, body: () => void): void {
  const around = before;
  suites.push(name);
  body();
  suites.pop();
  before = around;
}

describe.each =
  (rows: readonly unknown[]) =>
  (name: string, body: (...values: unknown[]) => void): void => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row];
      describe(name.replace("%s", String(values[0])), () => body(...values));
    }
  };

/** Here, before each case: each finds an empty database. */
export function beforeAll(prepare: () => unknown): void {
  before = [...before, prepare];
}

export function it(title: string, run: () => unknown): void {
  const steps = before;
  const runAll = async () => {
    for (const step of [...steps, run]) await step();
  };
  cases.push({ suites: [...suites], title, run: runAll });
}

it.each =
  (rows: readonly unknown[]) =>
  (name: string, run: (...values: unknown[]) => unknown): void => {
    for (const row of rows) it(titleOf(name, row), () => run(...(Array.isArray(row) ? row : [row])));
  };

it.skip = (title: string): void => {
  cases.push({ suites: [...suites], title, run: null });
};

/** A case that needs other clocks is left out by its title. */
export const vi = {};

function titleOf(name: string, row: unknown): string {
  const values = Array.isArray(row) ? [...row] : [row];
  return name
    .replace(/\$(\w+)/g, (_, field: string) => String((row as Record<string, unknown>)[field]))
    .replace(/%([sj])/g, (_, form: string) => (form === "s" ? String(values.shift()) : JSON.stringify(values.shift())));
}

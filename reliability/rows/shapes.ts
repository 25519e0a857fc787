import fc from "fast-check";
import { isEqual } from "../../packages/conformance/src/assert.js";
import { StemmaError } from "../../packages/model/src/errors.js";
import type { SessionMessage } from "../../packages/model/src/messages/message.js";
import { Session } from "../../packages/stemma/src/session.js";
import { anyString } from "../../test/helpers/any-string.js";
import type { Row } from "../tools/row.js";

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  anyString({ maxLength: 10 }),
  fc.constantFrom("\0", "\ud800", "\u2028", "x".repeat(5_000), "__proto__", "", "constructor", "toJSON", "漢字"),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 20, arbitrary: text },
    { weight: 20, arbitrary: fc.constantFrom<unknown>(null, 0, -0, 1e308, true, 0.1, -7) },
    { weight: 10, arbitrary: fc.array(tie("any"), { maxLength: 4 }) },
    { weight: 10, arbitrary: fc.dictionary(text, tie("any"), { maxKeys: 4 }) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(undefined, new Date(0), new Uint8Array(3), 10n, Number.NaN) },
  ),
})).any;
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text }),
  fc.record(
    { type: fc.constantFrom("tool-x", "file", "data-y", "reasoning"), input: value, output: value },
    { requiredKeys: ["type"] },
  ),
  fc.dictionary(text, value, { maxKeys: 3 }).map((rest) => ({ type: "other", ...rest })),
  value,
);
const shape = fc.record(
  {
    role: fc.oneof(fc.constantFrom("user", "assistant", "system"), text),
    parts: fc.oneof(fc.array(part, { maxLength: 4 }), value),
    metadata: value,
    extra: value,
  },
  { requiredKeys: ["role", "parts"] },
);

/** A message of any shape is read back as JSON shows it, or it is refused with an error that has a code. */
export const shapes: Row = {
  number: 18,
  portable: true,
  title: "{size} shapes of messages",
  target: "equal or a typed error",
  sizes: { SQLite: [50_000, 1_000], Postgres: [50_000, 500], memory: [50_000, 0], workerd: [50_000, 0] },
  async run({ place, open, size }) {
    const store = open(await place());
    const wrong: string[] = [];
    let refused = 0;
    for (let seed = 0; seed < size; seed += 500) {
      // No session gets long.
      const session = Session.create(store).forSession(`s${seed}`);
      for (const [index, made] of fc.sample(shape, { seed, numRuns: Math.min(500, size - seed) }).entries()) {
        const id = `m${index}`;
        const given = { id, ...made } as unknown as SessionMessage;
        try {
          await session.appendMessage(given, null);
          const expected: unknown = JSON.parse(JSON.stringify(given));
          const { createdAt: _, ...stored } = (await session.getMessage(id)) as SessionMessage & {
            createdAt?: unknown;
          };
          if (!isEqual(JSON.parse(JSON.stringify(stored)), expected)) wrong.push(JSON.stringify([expected, stored]));
        } catch (error) {
          if (StemmaError.isInstance(error)) refused += 1;
          else wrong.push(`seed ${seed}, ${index}: ${error}`);
        }
      }
    }
    await store.close();
    const figure = `${wrong.length} other; ${size - refused - wrong.length} equal, ${refused} refused`;
    return { figure, met: wrong.length === 0, details: wrong.slice(0, 5).map((each) => each.slice(0, 500)) };
  },
};

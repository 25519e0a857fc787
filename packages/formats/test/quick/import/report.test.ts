import { expect, it } from "vitest";
import { addReports, type ImportReport } from "../../../src/import/import-session.js";

const report = (fields: Partial<ImportReport>): ImportReport => ({
  session: "s",
  name: "s",
  messages: 1,
  inserted: 1,
  updated: 0,
  compactions: 0,
  kept: {},
  skipped: [],
  ...fields,
});

it("adds up what an import did with the pieces of a session", () => {
  const first = report({ kept: { image: 2 }, skipped: [{ line: 1, why: "not JSON" }] });
  const next = report({ name: "its title", updated: 1, kept: { image: 1, audio: 3 } });
  expect(addReports(first, next)).toEqual(
    report({
      name: "its title",
      messages: 2,
      inserted: 2,
      updated: 1,
      kept: { image: 3, audio: 3 },
      skipped: [{ line: 1, why: "not JSON" }],
    }),
  );
});

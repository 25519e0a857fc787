import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ERROR_CODES } from "../../packages/model/src/errors.js";
import { ROOT } from "../package/manifest.js";

it("docs/errors.md lists every error code with its meaning, and no other", () => {
  const rows = [...readFileSync(`${ROOT}docs/errors.md`, "utf8").matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)];
  expect(Object.fromEntries(rows.map(([, code, meaning]) => [code, meaning]))).toEqual(ERROR_CODES);
});

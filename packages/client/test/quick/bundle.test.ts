import { expect, it } from "vitest";
import { bundled } from "./bundled.js";

it.each([
  ["stemma/client", "StemmaClient", 5_120],
  // The table of methods, and values that JSON has no word for, come along.
  ["stemma/remote", "remote", 6_840],
])("%s takes few bytes of a page, and imports nothing", async (entry, name, most) => {
  const { bytes, imports } = await bundled(`export { ${name}, StemmaError } from "${entry}"`);
  expect(imports).toEqual([]);
  expect(bytes).toBeLessThanOrEqual(most);
});

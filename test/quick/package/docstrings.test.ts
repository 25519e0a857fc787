import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../package/manifest.js";

/** A beginning that has no subject, or that only who read the line above understands. */
const LEANS = /^(The same|Same|See|What|As above|Ditto|Likewise)\b|^(Like|As) [^.]*\babove\b/;

const wings = readdirSync(`${ROOT}packages`, { withFileTypes: true }).filter((entry) => entry.isDirectory());

it.each(wings.map(({ name }) => name))("each docstring of %s can be read alone", (wing) => {
  const source = join(ROOT, "packages", wing, "src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
  const leaning = files.flatMap((file) =>
    Array.from(readFileSync(join(source, file), "utf8").matchAll(/\/\*\*\s*(?:\* )?(.*)/g), ([, begin = ""]) => begin)
      .filter((begin) => LEANS.test(begin))
      .map((begin) => `${file}: ${begin}`),
  );
  expect(leaning).toEqual([]);
});

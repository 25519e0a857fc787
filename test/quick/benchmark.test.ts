import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { expect, it } from "vitest";
import { FROM_SOURCES } from "../../scripts/entry-points.mjs";

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** What the benchmark builds of a wing, where it was not built. */
const sources: Plugin = {
  name: "sources",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\.stemma\// }, ({ path }) => ({
      path: file(path.replace(/^.*\.stemma\/(\w+)\/(.+)\.js$/, "packages/$1/src/$2.ts")),
    })),
};

it("has all parts of the sources that the benchmark measures alone", async () => {
  const { errors, outputFiles } = await build({
    ...FROM_SOURCES,
    entryPoints: [file("bench/stemma-internals.mjs")],
    plugins: [sources],
    write: false,
    logLevel: "silent",
  });
  expect([errors.length, outputFiles.length]).toEqual([0, 1]);
});

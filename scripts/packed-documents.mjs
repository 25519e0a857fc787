import { build } from "esbuild";
import { entryPoints } from "./entry-points.mjs";

const PAGES = ["sessions-page", "older-sessions-page", "memory-page"];

const program = `
  import { runOn } from "./test/documents/host.ts";
  import { cases } from "./test/workers/suites/vitest.ts";
  ${PAGES.map((page) => `import "./test/docs/documents/${page}.test.ts";`).join("\n")}
  import { memory } from "./packages/stemma/src/memory.js";
  import { sqlite } from "./packages/stemma/src/sqlite.js";

  const stores = { sqlite: () => sqlite(":memory:"), memory };
  const [store] = process.argv.slice(2);
  if (store in stores) runOn(stores[store]);
  console.warn = () => {};
  for (const { suites, title, run } of cases) {
    try {
      await run();
    } catch (cause) {
      throw new Error([...suites, title].join(" › "), { cause });
    }
  }
  console.log(cases.length + " samples");
`;

/**
 * Writes a program that runs the samples of the documents, as the tests have them, on the installed package: on an agent's
 * database, or with the argument `sqlite` or `memory` on such a store.
 * @param {string} outfile
 */
export async function writeDocuments(outfile) {
  const specifiers = new Map(entryPoints().map(({ source, specifier }) => [source, specifier]));
  await build({
    stdin: { contents: program, resolveDir: process.cwd(), loader: "ts" },
    outfile,
    bundle: true,
    ignoreAnnotations: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["ai", "ai/test", "better-sqlite3"],
    plugins: [
      {
        name: "installed-package",
        setup({ onResolve }) {
          onResolve({ filter: /\/src\/.*\.js$/ }, ({ path }) => {
            const source = `packages/stemma/src/${path.split("/src/")[1]?.replace(/js$/, "ts")}`;
            const specifier = specifiers.get(source);
            if (!specifier) throw new Error(`A sample imports ${source}, which is no entry point.`);
            return { path: specifier, external: true };
          });
          onResolve({ filter: /^vitest$/ }, () => ({ path: `${process.cwd()}/test/workers/suites/vitest.ts` }));
        },
      },
    ],
  });
}

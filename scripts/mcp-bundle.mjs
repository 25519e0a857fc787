// Puts the MCP packages, and zod, which they need, into the one file through which the command reaches them, so that `stemma mcp` needs no other package.
import { build } from "esbuild";
import { PACKAGE } from "./entry-points.mjs";

const FILE = "cli/mcp/sdk";

/** Stands for the SDK's validator of JSON schemas, a library of its own: it checks answers to questions, and the command asks none. */
const SHIMS = `
  export { default as process } from "node:process";
  export class DefaultJsonSchemaValidator {
    getValidator() { throw new Error("The command asks no questions."); }
  }`;

/** Writes the file into the built package. Types are not part of it: nothing but the command uses it. */
export async function bundleMcp() {
  const { metafile } = await build({
    metafile: true,
    entryPoints: ["packages/cli/src/mcp/sdk.ts"],
    outfile: `${PACKAGE}dist/${FILE}.js`,
    allowOverwrite: true,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node20",
    plugins: [
      {
        name: "shims",
        setup: (bundle) => {
          bundle.onResolve({ filter: /\/_shims$/ }, () => ({ path: "shims", namespace: "stemma" }));
          bundle.onLoad({ filter: /^shims$/, namespace: "stemma" }, () => ({ contents: SHIMS }));
        },
      },
    ],
    legalComments: "eof",
    logLevel: "error",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  const missing = imports.filter((path) => !path.startsWith("node:"));
  if (missing.length > 0) throw new Error(`dist/${FILE}.js needs ${missing.join(", ")}, which a user may not have.`);
}

// Bundles what runs in the thread of a local model, as one text: so it starts wherever a bundler puts the code that starts it.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { FROM_SOURCES } from "./entry-points.mjs";

/** The script of the thread, which loads `@huggingface/transformers` from where it is told to. */
export async function localThread() {
  const { outputFiles } = await build({
    ...FROM_SOURCES,
    stdin: {
      contents: `import { parentPort } from "node:worker_threads"; import { serve } from "./serve.ts"; serve(parentPort);`,
      resolveDir: fileURLToPath(new URL("../packages/local/src/thread/", import.meta.url)),
    },
    minify: true,
    keepNames: true,
    write: false,
    // Node runs a text as CommonJS.
    format: "cjs",
    target: "node20",
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

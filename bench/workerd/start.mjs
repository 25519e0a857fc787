import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

/** Starts workerd with the worker, its data in `folder`. `call(object, candidate, method, ...args)` calls a method. */
export async function startWorkerd(folder) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("./worker.mjs", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker"],
    mainFields: ["module", "main"],
    external: ["node:*", "cloudflare:*"],
    logLevel: "error",
  });
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.js", contents: outputFiles[0].text }],
    compatibilityDate: "2026-04-01",
    compatibilityFlags: ["nodejs_compat"],
    // The baseline keeps its place in memory, however long the others take.
    durableObjects: { CONVERSATION: { className: "Conversation", useSQLite: true, unsafePreventEviction: true } },
    durableObjectsPersist: join(folder, "workerd"),
  });
  await miniflare.ready;
  return {
    async call(object, candidate, method, ...args) {
      const url = `http://worker/${[object, candidate, method].map(encodeURIComponent).join("/")}`;
      const response = await miniflare.dispatchFetch(url, { method: "POST", body: JSON.stringify(args) });
      const { value, error } = await response.json();
      if (error) throw new Error(error);
      return value;
    },
    stop: () => miniflare.dispose(),
  };
}

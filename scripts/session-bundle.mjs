// What a program on an agent or a store uses of `stemma/session`, in one file.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** How much it may load to begin with: the bytes of it, minified and compressed. */
export const LIMIT = 30_000;

/** What an agent's first call loads, beside what is loaded to begin with. */
export const ENGINE = /\bagent-sql\b/;

/**
 * Bundles it from a folder with the module at `path`, minified. Modules that `import()` loads are left out, but for those that
 * `with` names. Providers for an external database are not named, so they are left out too.
 *
 * @param {{ resolveDir: string, path: string, with?: RegExp }} from
 */
export async function bundleSession({ resolveDir, path, with: later = /^$/ }) {
  const contents = `export { Session, SessionManager, AgentContextProvider, AgentSearchProvider, R2SkillProvider } from "${path}"`;
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: ["zod"],
    plugins: [{ name: "loaded-later", setup: (plugin) => leaveOut(plugin, later) }],
  });
  const [{ contents: bytes, text }] = outputFiles;
  const found = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  const imports = [...new Set(found.filter(({ kind }) => kind === "import-statement").map((each) => each.path))];
  return { text, bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, imports };
}

/**
 * @param {import("esbuild").PluginBuild} plugin
 * @param {RegExp} later
 */
function leaveOut({ onResolve }, later) {
  onResolve({ filter: /./ }, ({ kind, path }) =>
    kind === "dynamic-import" && !later.test(path) ? { path, external: true } : undefined,
  );
}

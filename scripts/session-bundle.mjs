// What programs use of the package, in one file each, minified.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** How much it may load to begin with: the bytes of it, minified and compressed. */
export const LIMIT = 30_000;

/** How much the smallest program on a Durable Object may reach, at once or later: the bytes of it, minified and compressed. */
export const REACHED_LIMIT = 132_000;

/** What an agent's first call loads, beside what is loaded to begin with. */
export const ENGINE = /\bagent-sql\b/;

/**
 * What a program on an agent or a store uses of `stemma/session`, which is at `path` from a folder. Modules that `import()`
 * loads are left out, but for those that `with` names. Providers for an external database are not named, so they are left out too.
 *
 * @param {{ resolveDir: string, path: string, with?: RegExp }} from
 */
export function bundleSession({ resolveDir, path, with: later = /^$/ }) {
  const contents = `export { Session, SessionManager, AgentContextProvider, AgentSearchProvider, R2SkillProvider } from "${path}"`;
  return bundle({ contents, resolveDir }, later);
}

/** The smallest program on a Durable Object, with all that it reaches, of the package in this folder. */
export function bundleDurableObject() {
  const contents = `
    import { DurableObject } from "cloudflare:workers";
    import { Session } from "./dist/index.js";
    import { durableObject } from "./dist/durable-object.js";
    export class Chat extends DurableObject {
      session = Session.create(durableObject(this.ctx));
    }`;
  return bundle({ contents, resolveDir: "." }, /./);
}

/**
 * @param {{ contents: string, resolveDir: string }} stdin
 * @param {RegExp} later
 */
async function bundle(stdin, later) {
  const { outputFiles, metafile } = await build({
    stdin,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: ["cloudflare:workers"],
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

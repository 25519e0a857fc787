// What programs use of the package, in one file each, minified.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** How much a program on an agent or a store may reach, in bytes, minified and compressed. */
export const SESSION_LIMIT = 157_200;

/** The same of the smallest program on a Durable Object, libraries among it. */
export const PROGRAM_LIMIT = 185_300;

/** The same of the smallest Worker with an object for each user. */
export const WORKER_LIMIT = 389_500;

/**
 * What a program on an agent or a store uses of `stemma/session`, which is at `path` from a folder. Providers for an external
 * database are not named, so they are left out.
 *
 * @param {{ resolveDir: string, path: string }} from
 */
export function bundleSession({ resolveDir, path }) {
  const contents = `export { Session, SessionManager, AgentContextProvider, AgentSearchProvider, R2SkillProvider } from "${path}"`;
  return bundle({ contents, resolveDir });
}

/** The smallest program on a Durable Object, with all that it reaches, of the package in this folder. */
export function bundleDurableObject() {
  const contents = `
    import { DurableObject } from "cloudflare:workers";
    import { Session } from "./packages/stemma/dist/index.js";
    import { durableObject } from "./packages/stemma/dist/durable-object.js";
    export class Chat extends DurableObject {
      session = Session.create(durableObject(this.ctx));
    }`;
  return bundle({ contents, resolveDir: "." });
}

/** The smallest Worker that serves REST from an object for each user, of the package in this folder. */
export function bundleWorker() {
  const contents = `
    import { DurableObject } from "cloudflare:workers";
    import { authenticator, UserTokens } from "./packages/stemma/dist/server.js";
    import { createWorker, userMemory } from "./packages/stemma/dist/worker.js";
    export class UserMemory extends DurableObject {
      memory = userMemory(this.ctx);
      fetch(request) { return this.memory.fetch(request); }
    }
    export default createWorker((env) => ({
      namespace: env.MEMORY,
      authenticate: authenticator({ tokens: new UserTokens(env.TOKEN_SECRET, { audience: "https://example.com" }) }),
    }));`;
  return bundle({ contents, resolveDir: "." });
}

/** @param {{ contents: string, resolveDir: string }} stdin */
async function bundle(stdin) {
  const { outputFiles, metafile } = await build({
    stdin,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: ["cloudflare:workers"],
  });
  const [{ contents: bytes, text }] = outputFiles;
  const found = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  const imports = [...new Set(found.filter(({ kind }) => kind === "import-statement").map((each) => each.path))];
  return { text, bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, imports };
}

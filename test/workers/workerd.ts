import { mkdtempSync, rmSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type BuildOptions, build } from "esbuild";
import type { Miniflare, MiniflareOptions } from "miniflare";
import { afterAll, describe } from "vitest";
import { studioDefine } from "../../scripts/studio-page.mjs";

type ClassOf<W> = { [K in keyof W]: W[K] extends new (...args: never[]) => object ? K : never }[keyof W] & string;
type InstanceOf<C> = C extends new (...args: never[]) => infer I ? I : never;

/** The methods of a Durable Object, called from outside: what goes in and out is JSON. */
export type Remote<T> = {
  [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<Awaited<R>>
    : never;
};

/** A worker of this folder: `W` is the type of its module. */
export interface WorkerDefinition<W> {
  /** The module, relative to this folder; or its text. */
  readonly entry: string | { readonly text: string };
  /** Its Durable Object classes; true for those that are backed by SQLite. */
  readonly objects: Readonly<Record<ClassOf<W>, boolean>>;
  readonly buckets?: string[];
  /** Hyperdrive bindings, each with the URL of its database. */
  readonly hyperdrives?: Readonly<Record<string, string>>;
  /** It uses packages that need modules of Node, so it gets `nodejs_compat`. */
  readonly node?: boolean;
  readonly plugins?: BuildOptions["plugins"];
}

/** A worker in a workerd process of its own, whose data outlives a restart. */
export interface Workerd<W> {
  object<C extends ClassOf<W>>(className: C, name: string): Remote<InstanceOf<W[C]>>;
  /** Sends a request to the worker itself. */
  fetch(path: string, init?: { method?: string; headers?: Record<string, string>; body?: string }): Promise<Response>;
  /** Ends the process; the next call starts another one on the same data. */
  stop(): Promise<void>;
  /** The folder with the databases of a class. */
  folderOf(className: ClassOf<W>): string;
  /** Ends the process and removes its data. */
  dispose(): Promise<void>;
}

/** A worker as one module. */
async function bundle<W>({ entry, plugins, node = false }: WorkerDefinition<W>): Promise<string> {
  const { outputFiles } = await build({
    ...(typeof entry === "string"
      ? { entryPoints: [join(import.meta.dirname, entry)] }
      : { stdin: { contents: entry.text, loader: "ts", resolveDir: import.meta.dirname } }),
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker"],
    mainFields: ["module", "main"],
    // package.json says that no module has effects; suites are there for theirs.
    ignoreAnnotations: true,
    define: await studioDefine(),
    // The sources import the Claude Agent SDK, which is there.
    nodePaths: [join(import.meta.dirname, "../../compat/node_modules")],
    external: ["cloudflare:*"],
    logLevel: "error",
    ...(node && NODE_MODULES),
    ...(plugins && { plugins }),
  });
  return outputFiles[0]?.text ?? "";
}

// Packages in CommonJS require modules of Node by their short names.
const NODE_MODULES = {
  alias: Object.fromEntries(builtinModules.filter((name) => !/^_|:/.test(name)).map((name) => [name, `node:${name}`])),
  external: ["node:*", "cloudflare:*"],
  banner: {
    js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom("/worker.js");',
  },
} satisfies BuildOptions;

// Why workerd cannot run here, or null. On CI it must.
async function whyNot(): Promise<string | null> {
  if (process.env.CI === "true") return null;
  try {
    const miniflare = await createMiniflare({ modules: true, script: "export default {}" });
    // What did not start may not end either, so nobody waits for that.
    const end = () => miniflare.dispose().catch(() => {});
    const patience = setTimeout(10_000, "nothing happened for ten seconds");
    const reason = await Promise.race([miniflare.ready.then(end).then(() => null, String), patience]);
    if (reason === null) return null;
    void end();
    return `workerd cannot start here: ${reason}`;
  } catch (error) {
    return `workerd is not installed for this platform: ${error}`;
  }
}

// Loaded late: it throws where there is no workerd for the platform.
async function createMiniflare(options: MiniflareOptions): Promise<Miniflare> {
  const { Miniflare } = await import("miniflare");
  return new Miniflare(options);
}

/** Null where workerd runs, otherwise why it does not. */
export const reasonToSkip = await whyNot();

/** A suite of cases that run against a worker; skipped, with the reason in its name, where workerd cannot start. */
export function describeWorkerd<W>(
  name: string,
  definition: WorkerDefinition<W>,
  suite: (workerd: Workerd<W>) => void,
): void {
  if (reasonToSkip !== null) {
    describe.skip(`${name} (skipped: ${reasonToSkip})`, () => {});
    return;
  }
  describe(name, () => {
    const workerd = openWorkerd(definition);
    afterAll(() => workerd.dispose());
    suite(workerd);
  });
}

/** A worker whose process starts with the first call. */
export function openWorkerd<W>(definition: WorkerDefinition<W>): Workerd<W> {
  const persist = mkdtempSync(join(tmpdir(), "stemma-workerd-"));
  const script = bundle(definition);
  let running: Promise<Miniflare> | undefined;
  const ready = () => {
    running ??= script.then((contents) => start(definition, contents, persist));
    return running;
  };
  const stop = async () => {
    await (await running)?.dispose();
    running = undefined;
  };
  return {
    object: <C extends ClassOf<W>>(className: C, name: string) =>
      new Proxy({} as Remote<InstanceOf<W[C]>>, {
        get:
          (_target, method: string) =>
          (...args: unknown[]) =>
            call(ready(), [className, name, method], args),
      }),
    fetch: async (path, init) =>
      (await (await ready()).dispatchFetch(`http://worker${path}`, init)) as unknown as Response,
    stop,
    folderOf: (className) => join(persist, `${NAME}-${className}`),
    dispose: async () => {
      await stop();
      rmSync(persist, { recursive: true, force: true });
    },
  };
}

const NAME = "stemma";

async function start<W>(definition: WorkerDefinition<W>, contents: string, persist: string): Promise<Miniflare> {
  const objects = Object.entries(definition.objects) as [string, boolean][];
  const options: MiniflareOptions = {
    name: NAME,
    modules: [{ type: "ESModule", path: "worker.js", contents }],
    compatibilityDate: "2026-04-01",
    compatibilityFlags: definition.node ? ["nodejs_compat"] : [],
    hyperdrives: { ...definition.hyperdrives },
    durableObjects: Object.fromEntries(objects.map(([className, useSQLite]) => [className, { className, useSQLite }])),
    durableObjectsPersist: persist,
    r2Buckets: definition.buckets ?? [],
    r2Persist: join(persist, "r2"),
    cachePersist: join(persist, "cache"),
    workflowsPersist: join(persist, "workflows"),
  };
  const miniflare = await createMiniflare(options);
  await miniflare.ready;
  return miniflare;
}

async function call(running: Promise<Miniflare>, path: string[], args: unknown[]): Promise<unknown> {
  const url = `http://worker/${path.map(encodeURIComponent).join("/")}`;
  const response = await (await running).dispatchFetch(url, { method: "POST", body: JSON.stringify(args) });
  const answer = (await response.json()) as { value?: unknown; error?: { message: string; code?: string } };
  if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
  return answer.value;
}

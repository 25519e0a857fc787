import { existsSync, readFileSync } from "node:fs";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { ENTRY_POINTS, ROOT } from "../../package/manifest.js";

const NODE = /^node:/;

/** What an entry point may reach. One that is not named here must run where there is no Node. */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  "stemma/sqlite": NODE,
  "stemma/memory": NODE,
  // The library of models is loaded in its thread.
  "stemma/local": NODE,
  "stemma/skills-node": NODE,
  // Its schemas of blocks are those that a user gives.
  "stemma/testing": /^(node:|zod$)/,
  "stemma/copy-node": NODE,
  "stemma/eval": NODE,
  // Bundled, and loaded with the first archive.
  "stemma/formats": /^(node:|yauzl$|fzstd$)/,
  // These run a model or show its chat, and are the only ones that do: the AI SDK is an optional dependency.
  "stemma/ai-sdk": /^ai$/,
  // Redis is loaded with the first call of a storage that is given its URL.
  "stemma/agent": /^(node:|ai$|redis$)/,
  "stemma/langchain": /^@langchain\/core\//,
  "stemma/mcp": /^@modelcontextprotocol\/server$/,
  // Bundled, but for zod; all are loaded with the first request or token.
  "stemma/server": /^(zod|jose|hono(\/.*)?|@hono\/zod-openapi)$/,
  "stemma/worker": /^(zod|hono(\/.*)?|@hono\/zod-openapi)$/,
  // Loaded with the first append to a session.
  "stemma/claude": /^@anthropic-ai\/claude-agent-sdk$/,
  "stemma/langgraph": /^@langchain\/langgraph-checkpoint$/,
  "stemma/opentelemetry": /^@opentelemetry\/api$/,
  "stemma/react": /^(ai|react|@ai-sdk\/react)$/,
};

/** Packages that a user installs for the entry point that is made for them. */
const PEERS = [
  ...["zod", "ai", "@modelcontextprotocol/server", "react", "@ai-sdk/react"],
  ...["@langchain/*", "@openai/*", "@anthropic-ai/*", "@opentelemetry/*"],
];

/** The sources of the entry points, and what was built of them. */
const FILES = ENTRY_POINTS.flatMap(({ source }) => [source, builtFrom(source)]).filter((file) =>
  existsSync(ROOT + file),
);

describe("the built entry points", () => {
  let reached: ReadonlyMap<string, readonly string[]>;
  beforeAll(async () => {
    reached = await importsOf(FILES);
  });

  it.each(ENTRY_POINTS)("$specifier has a source, and reaches what it may and no more", ({ specifier, source }) => {
    expect(FILES).toContain(source);
    // The chunks of the built package bring in no more than the sources do.
    for (const file of [source, builtFrom(source)].filter((each) => FILES.includes(each))) {
      const beyond = reached.get(file)?.filter((name) => !ALLOWED[specifier]?.test(name));
      expect(beyond, file).toEqual([]);
    }
  });
});

/** The table of the page: what it says of a Worker and of a browser, for each entry point. */
const ROWS = readFileSync(`${ROOT}docs/getting-started.md`, "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, specifier = "", , , worker, browser] = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
    return specifier.startsWith("stemma") ? [{ specifier, worker, browser }] : [];
  });

describe("the page of the entry points", () => {
  it("names each one", () => {
    expect(ROWS.map(({ specifier }) => specifier).sort()).toEqual(
      ENTRY_POINTS.map(({ specifier }) => specifier).sort(),
    );
  });

  it.each([
    ["worker", ["workerd", "worker", "browser"]],
    ["browser", ["browser"]],
  ] as const)(
    "says yes for a %s where esbuild bundles it for one without Node's modules",
    async (platform, conditions) => {
      const usable = ROWS.filter((row) => row[platform] === "yes").map(({ specifier }) => specifier);
      expect(usable.length).toBeGreaterThan(4);
      const sources = ENTRY_POINTS.filter(({ specifier }) => usable.includes(specifier)).map(({ source }) => source);
      const files = sources.flatMap((source) => [source, builtFrom(source)]).filter((file) => FILES.includes(file));
      const { errors } = await build({
        absWorkingDir: ROOT,
        entryPoints: files,
        outdir: "out",
        bundle: true,
        write: false,
        format: "esm",
        platform: "browser",
        conditions: [...conditions],
        external: PEERS,
        logLevel: "silent",
      });
      expect(errors).toEqual([]);
    },
    60_000,
  );
});

function builtFrom(source: string): string {
  return source.replace(/\/src\/(.*)\.ts$/, "/dist/$1.js");
}

/** What a bundle of each file still imports. One build makes all of them, with chunks for what they share. */
async function importsOf(files: readonly string[]): Promise<Map<string, string[]>> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...files],
    outdir: "out",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: [...PEERS, "yauzl", "fzstd", "jose", "hono", "@hono/*", "node:*"],
    logLevel: "silent",
  });
  const { outputs } = metafile;
  const reachedFrom = (path: string) => {
    const found = new Set([path]);
    // It goes on with what is added meanwhile.
    for (const each of found) for (const { path: next } of outputs[each]?.imports ?? []) found.add(next);
    return [...found].filter((name) => !(name in outputs));
  };
  return new Map(Object.entries(outputs).map(([path, { entryPoint = path }]) => [entryPoint, reachedFrom(path)]));
}

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../package/manifest.js";

const PACKAGES = `${ROOT}packages`;

/** From the ground up: a wing may import from those named before it. */
const ORDER = [
  "model",
  "store",
  "postgres",
  "telemetry",
  "local",
  "session",
  "formats",
  "chat",
  "mcp",
  "adapters",
  "runner",
  "conformance",
  "eval",
  "studio",
  "server",
  "client",
  "cli",
  // The package that is published: its entry points, made of the others.
  "stemma",
];

const files = ORDER.flatMap((wing) =>
  readdirSync(join(PACKAGES, wing, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => `${wing}/src/${file.replaceAll("\\", "/")}`),
);

describe("a wing", () => {
  it("has a place in the order", () => {
    const folders = readdirSync(PACKAGES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual([...ORDER].sort());
  });

  it("has a README, which names its doors, what it imports and how to run its tests", () => {
    const wrong = ORDER.slice(0, -1).flatMap((wing) => {
      const readme = readFileSync(join(PACKAGES, wing, "README.md"), "utf8");
      const { exports: doors, dependencies = {} } = manifestOf(wing);
      const names = [
        ...Object.keys(doors).map((door) => `\`@stemma/${wing}${door.slice(1)}\``),
        ...Object.keys(dependencies).flatMap((name) => (name.startsWith("@stemma/") ? [`\`${name}\``] : [])),
        "`npx vitest run ",
      ];
      return names.filter((name) => !readme.includes(name)).map((name) => `${wing}: ${name}`);
    });
    expect(wrong).toEqual([]);
    const overview = readFileSync(join(PACKAGES, "README.md"), "utf8");
    expect(overview.match(/(?<=^\| \[?`)\w+/gm)).toEqual(ORDER);
  });

  it("imports another by its name, from below, and says so in its package.json", () => {
    const wrong = files.flatMap((file) => {
      const wing = wingOf(file);
      const { exports: doors = {}, ...manifest } = manifestOf(wing);
      return namesIn(file).flatMap((name) => {
        const [, target = ""] = name.split("/");
        const door = name.split("/").slice(2).join("/");
        if (ORDER.indexOf(target) >= ORDER.indexOf(wing)) return [`${file} imports ${name}, which is not below it`];
        if (!((door ? `./${door}` : ".") in manifestOf(target).exports))
          return [`${file} imports ${name}, which is no door`];
        const known = wing === "stemma" || `@stemma/${target}` in (manifest.dependencies ?? {});
        return known ? [] : [`${file} imports ${name}, which its package.json does not name`];
      });
    });
    expect(wrong).toEqual([]);
  });

  it("reaches into no other wing", () => {
    const reaching = files.flatMap((file) =>
      pathsIn(file)
        .filter((target) => wingOf(target) !== wingOf(file))
        .map((target) => `${file} imports ${target}`),
    );
    expect(reaching).toEqual([]);
  });

  it("names only wings that it imports", () => {
    const unused = ORDER.slice(0, -1).flatMap((wing) => {
      const used = files.filter((file) => wingOf(file) === wing).flatMap(namesIn);
      return Object.keys(manifestOf(wing).dependencies ?? {})
        .filter((name) => name.startsWith("@stemma/") && !used.some((each) => `${each}/`.startsWith(`${name}/`)))
        .map((name) => `${wing}: ${name}`);
    });
    expect(unused).toEqual([]);
  });
});

it("imports form no circle between files", () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "));
    if (way.includes(file) || done.has(file)) return;
    for (const target of pathsIn(file)) if (files.includes(target)) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

const wingOf = (file: string) => file.split("/")[0] as string;

function manifestOf(wing: string): { exports: Record<string, string>; dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(join(PACKAGES, wing, "package.json"), "utf8"));
}

/** The wings that a file imports, by their names. */
function namesIn(file: string): string[] {
  return specifiersIn(file).filter((specifier) => specifier.startsWith("@stemma/"));
}

/** The files that a file imports by their paths. */
function pathsIn(file: string): string[] {
  return specifiersIn(file)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => {
      const name = relative(PACKAGES, join(PACKAGES, dirname(file), specifier)).replaceAll("\\", "/");
      const source = name.replace(/\.js$/, "");
      return files.includes(`${source}.tsx`) ? `${source}.tsx` : `${source}.ts`;
    });
}

function specifiersIn(file: string): string[] {
  const text = readFileSync(join(PACKAGES, file), "utf8");
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*"((?:\.|@stemma\/)[^"]+)"/g)].map((match) => match[1] as string);
}

// Collects in `.pages` what the site is built from: the pages of docs/, those of the project's root, the API reference.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { Application, ReflectionKind } from "typedoc";
import { entryPoints } from "../scripts/entry-points.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = dirname(HERE);
const PAGES = join(HERE, ".pages");

/** Pages of the root, and where the site has them. */
const FROM_ROOT = {
  "README.md": "readme.md",
  "ARCHITECTURE.md": "architecture.md",
  "CONTRIBUTING.md": "contributing.md",
};

export async function collectPages() {
  rmSync(PAGES, { recursive: true, force: true });
  mkdirSync(PAGES);
  cpSync(join(ROOT, "docs"), PAGES, { recursive: true });
  cpSync(join(HERE, "index.md"), join(PAGES, "index.md"));
  cpSync(join(HERE, "public"), join(PAGES, "public"), { recursive: true });
  for (const [file, page] of Object.entries(FROM_ROOT)) cpSync(join(ROOT, file), join(PAGES, page));
  for (const page of readdirSync(PAGES, { recursive: true, encoding: "utf8" })) {
    if (!page.endsWith(".md")) continue;
    const path = join(PAGES, page);
    writeFileSync(path, withSiteLinks(page.replaceAll("\\", "/"), readFileSync(path, "utf8")));
  }
  await writeReference();
}

// On the site the pages of the root stand beside those of docs/; what is no page is left as its name.
function withSiteLinks(page, text) {
  const home = page in swap(FROM_ROOT) ? "" : posix.join("docs", posix.dirname(page));
  return text.replace(/\]\((?!https?:|#|\/)([^)#\s]+)(#[^)\s]*)?\)/g, (whole, target, hash = "") => {
    const file = posix.normalize(posix.join(home, target));
    if (file in FROM_ROOT) return `](/${FROM_ROOT[file]}${hash})`;
    if (file.startsWith("docs/")) return `](/${file.slice("docs/".length)}${hash})`;
    return page === "index.md" ? whole : `](https://github.com/stemma-js/stemma/blob/main/${file}${hash})`;
  });
}

const swap = (record) => Object.fromEntries(Object.entries(record).map(([from, to]) => [to, from]));

async function writeReference() {
  // "stemma" exports again what "stemma/session" and "stemma/utils" do.
  const sources = entryPoints().flatMap(({ specifier, source }) =>
    specifier === null || specifier === "stemma" ? [] : [join(ROOT, source)],
  );
  const app = await Application.bootstrapWithPlugins({
    plugin: ["typedoc-plugin-markdown"],
    outputs: [{ name: "markdown", path: join(PAGES, "reference") }],
    entryPoints: sources,
    tsconfig: join(HERE, "tsconfig.json"),
    readme: "none",
    name: "API reference",
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    disableSources: true,
    hideGenerator: true,
    skipErrorChecking: true,
    logLevel: "Error",
    entryFileName: "index.md",
    useCodeBlocks: true,
    expandObjects: true,
    parametersFormat: "table",
    hidePageHeader: true,
    hideBreadcrumbs: true,
    pageTitleTemplates: { module: ({ rawName }) => `stemma/${rawName}` },
  });
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc found no API.");
  await app.generateOutputs(project);
  writeFileSync(join(PAGES, "reference/typedoc-sidebar.json"), JSON.stringify(sidebarOf(project), null, 2));
}

const FOLDERS = { Class: "classes", Function: "functions" };

// A group for each entry point, with its classes and functions; the types stand on the entry point's own page.
function sidebarOf(project) {
  return (project.children ?? []).map((module) => ({
    text: `stemma/${module.name}`,
    link: `/reference/${module.name}/`,
    collapsed: module.name !== "session",
    items: (module.children ?? []).flatMap(({ name, kind }) => {
      const folder = FOLDERS[ReflectionKind[kind]];
      return folder === undefined ? [] : [{ text: name, link: `/reference/${module.name}/${folder}/${name}` }];
    }),
  }));
}

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));

/** The folder of the package that is published. */
export const PACKAGE = `${PACKAGES}stemma/`;

/** What its package.json says. */
export const manifest = JSON.parse(readFileSync(`${PACKAGE}package.json`, "utf8"));

/**
 * Its entry points, its command included: `./dist/x.js` is built from `packages/stemma/src/x.ts`, the command from the wing of it.
 * @returns {{ specifier: string | null, name: string, source: string }[]} `specifier` is null for a command
 */
export function entryPoints() {
  const published = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === "string" ? [] : [{ specifier: `stemma${subpath.slice(1)}`, file: target.default }],
  );
  const commands = Object.values(manifest.bin).map((file) => ({ specifier: null, file }));
  return [...published, ...commands].map(({ specifier, file }) => {
    const name = file.replace(/^\.\/dist\/|\.js$/g, "");
    const source = specifier === null ? `packages/${name.replace("/", "/src/")}.ts` : `packages/stemma/src/${name}.ts`;
    return { specifier, name, source };
  });
}

/**
 * The name by which each wing and each entry point is imported, with the path of the source file behind it.
 * @returns {Record<string, string>}
 */
export function sourceFiles() {
  const published = entryPoints().flatMap(({ specifier, source }) =>
    specifier === null ? [] : [[specifier, `${PACKAGES}../${source}`]],
  );
  return Object.fromEntries([...wingDoors(), ...published]);
}

/** @returns {[string, string][]} */
export function wingDoors() {
  return readdirSync(PACKAGES, { withFileTypes: true }).flatMap((entry) => {
    const { name: wing } = entry;
    if (wing === "stemma" || !entry.isDirectory()) return [];
    const { name, exports } = JSON.parse(readFileSync(`${PACKAGES}${wing}/package.json`, "utf8"));
    return Object.entries(exports).map(([door, file]) => [name + door.slice(1), `${PACKAGES}${wing}/${file.slice(2)}`]);
  });
}

/** How a test or a benchmark bundles what it runs in a process of its own: with the sources, and without the packages that are installed. */
export const FROM_SOURCES = /** @type {const} */ ({
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  alias: sourceFiles(),
  define: { STEMMA_VERSION: JSON.stringify(manifest.version) },
});

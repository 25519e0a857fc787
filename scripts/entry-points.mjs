/**
 * The entry points that a package.json names, its commands included: `./dist/x.js` is built from `src/x.ts`.
 * @param {{ bin?: Record<string, string>, exports: Record<string, string | { default: string }> }} manifest
 * @returns {{ specifier: string | null, name: string, source: string }[]} `specifier` is null for a command
 */
export function entryPoints(manifest) {
  const published = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === "string" ? [] : [{ specifier: `stemma${subpath.slice(1)}`, file: target.default }],
  );
  const commands = Object.values(manifest.bin ?? {}).map((file) => ({ specifier: null, file }));
  return [...published, ...commands].map(({ specifier, file }) => {
    const name = file.replace(/^\.\/dist\/|\.js$/g, "");
    return { specifier, name, source: `src/${name}.ts` };
  });
}

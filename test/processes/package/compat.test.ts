import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { sourceFiles } from "../../../scripts/entry-points.mjs";
import { ROOT } from "../../package/manifest.js";

const { dependencies } = JSON.parse(readFileSync(`${ROOT}compat/package.json`, "utf8")) as {
  dependencies: Record<string, string>;
};
const ofCompat = Object.keys(dependencies).filter((name) => !dependencies[name]?.startsWith("file:"));

it("npm test imports nothing that only compat/ has", async () => {
  const args = [
    "node_modules/vitest/vitest.mjs",
    "list",
    "--filesOnly",
    "--json",
    "--project",
    "quick",
    "--project",
    "alone",
  ];
  const listed = execFileSync(process.execPath, args, {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const files = (JSON.parse(listed.slice(listed.indexOf("[\n"))) as { file: string }[]).map(({ file }) => file);
  expect(files.length).toBeGreaterThan(100);
  const { metafile } = await build({
    stdin: { contents: files.map((file) => `import ${JSON.stringify(file)};`).join("\n"), resolveDir: ROOT },
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    packages: "external",
    alias: sourceFiles(),
    logLevel: "error",
  });
  // What is loaded later says what is missing by an error of its own.
  const found = Object.entries(metafile.inputs).flatMap(([file, { imports }]) =>
    imports
      .filter(
        ({ path, kind }) => kind === "import-statement" && ofCompat.some((name) => `${path}/`.startsWith(`${name}/`)),
      )
      .map(({ path }) => `${relative(ROOT, file)} imports ${path}`),
  );
  expect(found).toEqual([]);
});

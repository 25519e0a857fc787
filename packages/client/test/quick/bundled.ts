import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { FROM_SOURCES } from "../../../../scripts/entry-points.mjs";

/** What a page loads that has this code: its bytes, compressed, and what it imports. */
export async function bundled(contents: string) {
  const { outputFiles, metafile } = await build({
    ...FROM_SOURCES,
    stdin: { contents, resolveDir: "." },
    platform: "browser",
    conditions: ["browser"],
    target: "es2022",
    minify: true,
    write: false,
    metafile: true,
  });
  const [file] = outputFiles;
  return {
    bytes: gzipSync(file?.contents ?? new Uint8Array(), { level: 9 }).length,
    imports: Object.values(metafile.outputs).flatMap(({ imports }) => imports),
  };
}

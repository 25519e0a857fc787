// `npm run docs`: builds the site and serves it. `-- --build` only builds it, into website/dist.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
process.chdir(HERE);
if (!existsSync(join(HERE, "node_modules/vitepress"))) {
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { stdio: "inherit" });
}
const { collectPages } = await import("./pages.mjs");
const { build, serve } = await import("vitepress");
await collectPages();
await build(HERE);
if (!process.argv.includes("--build")) await serve({ root: HERE, port: Number(process.env.PORT ?? 4173) });

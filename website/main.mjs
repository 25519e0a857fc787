// Builds the docs as a site, and serves it: `npm run docs`.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { serveSite } from "./serve.mjs";

const HELP = `npm run docs [-- options]

Builds the docs as a website in website/dist, which takes a minute, and serves it.

  --build        only builds it
  --port <port>  where it is served (default: 4173)
  --help         shows this`;

const HERE = dirname(fileURLToPath(import.meta.url));

const { build, help, port } = optionsOf();
if (help) console.log(HELP);
else {
  await buildSite();
  if (!build) await serve(Number(port));
}

function optionsOf() {
  try {
    const options = {
      build: { type: "boolean" },
      help: { type: "boolean", short: "h" },
      port: { type: "string", default: "4173" },
    };
    return parseArgs({ options }).values;
  } catch (error) {
    console.error(`${error.message}\n\n${HELP}`);
    process.exit(2);
  }
}

async function buildSite() {
  process.chdir(HERE);
  if (!existsSync(join(HERE, "node_modules/vitepress"))) {
    console.log("Installing what builds the site into website/node_modules (once) …");
    execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { stdio: "inherit" });
  }
  const { collectPages } = await import("./pages.mjs");
  const vitepress = await import("vitepress");
  await collectPages();
  await vitepress.build(HERE);
}

async function serve(port) {
  try {
    await serveSite(join(HERE, "dist"), port);
    console.log(`The docs are at http://localhost:${port}/`);
  } catch (error) {
    console.error(`${error.message}. Another port: npm run docs -- --port ${port + 1}`);
    process.exitCode = 1;
  }
}

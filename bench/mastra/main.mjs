// npm run bench -- mastra [--quick]
//
// Mastra's LibSQL and Postgres stores beside stemma's, at the same work. They need Node 22, which npm brings to this
// folder; there both sides have a SQLite of their own: Mastra's is libSQL, stemma's the one in Node.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startServer } from "../postgres-server.mjs";
import { buildStemma, installPeers } from "../prepare.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));

if (!existsSync(`${HERE}node_modules/.package-lock.json`)) {
  console.log("Installing Mastra and Node 22 into bench/mastra/node_modules …");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: HERE, stdio: "inherit" });
}
installPeers();
await buildStemma();
const server = await startServer();
try {
  const comparison = [`${HERE}compare.mjs`, server.url, ...process.argv.slice(2)];
  const { status } = spawnSync(`${HERE}node_modules/node/bin/node`, comparison, { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  await server.stop();
}

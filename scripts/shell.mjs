import { spawnSync } from "node:child_process";

/**
 * Runs a command and gives what it printed. Throws, with all it printed, when it fails.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, input?: string, env?: Record<string, string> }} [options]
 */
export function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: options.cwd,
    input: options.input ?? "",
    env: { ...process.env, npm_config_loglevel: "error", ...options.env },
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (status === 0) return stdout;
  const outcome = error?.message ?? `exited with ${status}`;
  throw new Error([`${command} ${args.join(" ")}: ${outcome}`, stdout, stderr].join("\n"));
}

/**
 * Installs a Node of another major version from npm into `folder`. Gives the path of its program.
 * @param {number} major
 * @param {string} folder
 */
export function installNode(major, folder) {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  run("npm", ["install", "--prefix", folder, "--no-save", "--no-package-lock", `${name}@${major}`]);
  return `${folder}/node_modules/${name}/bin/node`;
}

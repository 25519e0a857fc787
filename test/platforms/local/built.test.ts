import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { findModels } from "../../local/models.js";

const models = findModels();
const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

// The other tests load the sources, which the bundler may have changed.
it.skipIf(models === null)("the built package finds the library beside it, and ranks", () => {
  const script = `
    const { localModel } = await import(${JSON.stringify(at("packages/stemma/dist/local.js"))});
    const model = await localModel({ model: ${JSON.stringify(`${models}/all-MiniLM-L6-v2`)} });
    const [cat, tax] = await model.reranker()("a sick feline", ["The cat is ill.", "Taxes are due."], {});
    await model.close();
    console.log(cat > tax);`;
  const env = { ...process.env, NODE_PATH: at("compat/node_modules") };
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    env,
  });
  expect([stdout.trim(), stderr]).toEqual(["true", ""]);
});

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { localModel } from "stemma/local";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { FROM_SOURCES } from "../../../scripts/entry-points.mjs";
import { studioDefine } from "../../../scripts/studio-page.mjs";
import { findModels } from "../../local/models.js";

const models = findModels();
const scratch = mkdtempSync(join(tmpdir(), "stemma-local-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const WEIGHTS = "onnx/model_quantized.onnx";
let copies = 0;

function copyOf(name: string): string {
  copies += 1;
  const folder = join(scratch, `${copies}`, name);
  cpSync(join(models as string, name), folder, { recursive: true });
  return folder;
}

describe.skipIf(models === null)("a model's folder", () => {
  it.each([
    ["lacks its weights", (folder: string) => rmSync(join(folder, WEIGHTS)), /model_quantized.onnx is missing/],
    ["lacks its tokenizer", (folder: string) => rmSync(join(folder, "tokenizer.json")), /tokenizer.json is missing/],
    ["has half of its weights", (folder: string) => truncateSync(join(folder, WEIGHTS), 9_000_000), /cannot be loaded/],
    ["has none of its weights", (folder: string) => truncateSync(join(folder, WEIGHTS), 0), /cannot be loaded/],
    ["has half a tokenizer", (folder: string) => truncateSync(join(folder, "tokenizer.json"), 9_000), /tokenizer/],
    [
      "has half a config.json",
      (folder: string) => truncateSync(join(folder, "config.json"), 100),
      /config.json|tokenizer/,
    ],
    ["has the weights of something else", (folder: string) => writeFileSync(join(folder, WEIGHTS), "x"), /be loaded/],
  ])("that %s is refused, with what to do", async (_, damage, message) => {
    const folder = copyOf("all-MiniLM-L6-v2");
    damage(folder);
    const refused = localModel({ model: folder });
    await expect(refused).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE", message: expect.stringMatching(message) });
    await expect(refused).rejects.toThrow("again");
    cpSync(join(models as string, "all-MiniLM-L6-v2"), folder, { recursive: true });
    await (await localModel({ model: folder })).close();
  });

  it("that says to be a cross-encoder and is none is refused", async () => {
    const folder = copyOf("all-MiniLM-L6-v2");
    const config = JSON.parse(readFileSync(join(folder, "config.json"), "utf8"));
    writeFileSync(
      join(folder, "config.json"),
      JSON.stringify({ ...config, architectures: ["BertForSequenceClassification"] }),
    );
    await expect(localModel({ model: folder })).rejects.toMatchObject({
      code: "MODEL_UNAVAILABLE",
      message: expect.stringContaining("no scores"),
    });
  });

  it("may have a space in its name, and may be named from the current folder on", async () => {
    const model = await localModel({ model: copyOf("token-counter") });
    cpSync(join(models as string, "token-counter"), join(scratch, "my models/a counter"), { recursive: true });
    const other = await localModel({ model: join(scratch, "my models/a counter") });
    expect(other.id.replace("a counter", "token-counter")).toBe(model.id);
    await Promise.all([model.close(), other.close()]);
  });

  it("may be replaced while the model runs, which goes on as it was", async () => {
    const folder = copyOf("all-MiniLM-L6-v2");
    const model = await localModel({ model: folder });
    const before = await model.reranker()("cat", ["a kitten", "the rent"]);
    rmSync(folder, { recursive: true });
    cpSync(join(models as string, "token-counter"), folder, { recursive: true });
    const after = await model.reranker()("cat", ["a dog", "the rent", "a kitten"]);
    expect(after).toEqual([expect.any(Number), before[1], before[0]]);
    await model.close();
    const counter = await localModel({ model: folder });
    expect(counter.id).not.toBe(model.id);
    await counter.close();
  });
});

describe.skipIf(models === null)("a model of the hub", () => {
  const { XDG_CACHE_HOME, HF_ENDPOINT } = process.env;
  afterEach(() => {
    Object.assign(process.env, { XDG_CACHE_HOME: XDG_CACHE_HOME ?? "", HF_ENDPOINT: HF_ENDPOINT ?? "" });
  });

  it("is fetched once, and needs no network after that", async () => {
    const asked: string[] = [];
    const server = createServer(({ url = "" }, response) => {
      const [, path = ""] = /^\/owner\/small\/resolve\/main\/(.*)/.exec(url) ?? [];
      asked.push(path);
      try {
        response.end(readFileSync(join(models as string, "token-counter", path)));
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    process.env.HF_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    process.env.XDG_CACHE_HOME = join(scratch, "cache");
    const model = await localModel({ model: "owner/small" });
    expect(await model.reranker()("cat", ["a cat"])).toEqual([3]);
    await model.close();
    expect(asked).toContain(WEIGHTS);
    await expect(localModel({ model: "owner/large" })).rejects.toMatchObject({ code: "MODEL_UNAVAILABLE" });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const again = await localModel({ model: "owner/small" });
    expect(again.id).toBe(model.id);
    await again.close();
    await expect(localModel()).rejects.toThrow(/Without a network, name a folder/);
  });

  it("is not looked for under what can only be a folder", async () => {
    await expect(localModel({ model: "./no/such/folder" })).rejects.toThrow(/There is no folder/);
  });
});

describe("a program", async () => {
  const bundle = async (folder: string, contents: string) => {
    const outfile = join(folder, `program-${process.pid}.mjs`);
    const stdin = { contents, resolveDir: import.meta.dirname, loader: "ts" as const };
    await build({ ...FROM_SOURCES, define: await studioDefine(), stdin, outfile });
    const { status, stdout, stderr } = spawnSync(process.execPath, [outfile], { encoding: "utf8" });
    rmSync(outfile);
    return { status, stdout, stderr };
  };

  it("without the library is told what to install", async () => {
    const { stdout } = await bundle(
      scratch,
      `import { localModel } from "stemma/local";
       try { await localModel() } catch (error) { console.log(error.code, error.message) }`,
    );
    expect(stdout).toBe("DRIVER_MISSING To use a local model, run: npm install @huggingface/transformers@3\n");
  });

  it.skipIf(models === null).each([
    ["ends by itself", "", 0],
    ["ends where it says so, in the middle of a request", "void rerank('cat', many); process.exit(7);", 7],
    ["ends with the error that it throws", "process.on('exit', () => {}); throw new Error('own');", 1],
  ])("with an open model %s", async (_, end, code) => {
    // Beside what finds the library.
    const { status, stdout, stderr } = await bundle(
      join(import.meta.dirname, "../../.cache"),
      `import { localModel } from "stemma/local";
       const model = await localModel({ model: ${JSON.stringify(`${models}/all-MiniLM-L6-v2`)} });
       const rerank = model.reranker();
       const many = Array.from({ length: 3000 }, (_, i) => "a cat " + i);
       console.log((await rerank("cat", ["a cat", "a dog"])).length);
       ${end}`,
    );
    expect({ status, stdout, stderr: code === 1 ? "" : stderr }).toEqual({ status: code, stdout: "2\n", stderr: "" });
  });
});

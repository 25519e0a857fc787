import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { reasonOf, StemmaError } from "@stemma/model";
import { Encoder, type Transformers } from "./encoder.js";
import type { ModelSource } from "./protocol.js";

/** More threads gain little on passages of this length. */
const MAX_CORES = 4;
const SESSION = {
  // Buffers that stay for the next run triple the memory of the process, and save no time.
  enableCpuMemArena: false,
  enableMemPattern: false,
  intraOpNumThreads: Math.min(MAX_CORES, availableParallelism()),
  // Threads that spin while they wait take their core from whatever else the process does.
  extra: { session: { intra_op: { allow_spinning: "0" } } },
};
const DIGEST_LENGTH = 12;

/** Loads a model. Errors: `MODEL_UNAVAILABLE` where its files are missing, damaged or those of something else. */
export async function loadModel(source: ModelSource): Promise<{ encoder: Encoder; digest: string }> {
  const { transformers, model, isFolder, hub, cache, dtype, file } = source;
  const library: Transformers = createRequire(transformers)(transformers);
  const { env, AutoTokenizer, AutoModel, AutoModelForSequenceClassification, Tensor } = library;
  env.allowRemoteModels = !isFolder;
  env.useFSCache = !isFolder;
  env.cacheDir = cache;
  env.remoteHost = hub;
  const folder = isFolder ? model : join(cache, model);
  if (isFolder) assertComplete(folder, source);
  const tokenizer = await AutoTokenizer.from_pretrained(model).catch((cause) => {
    throw isFolder ? damaged(folder, "its tokenizer cannot be read", cause) : unreachable(source, cause);
  });
  try {
    // The hub's file is in the cache by now, or fetched here.
    const config = isFolder ? configOf(folder) : await library.AutoConfig.from_pretrained(model);
    const isCrossEncoder = (config.architectures ?? []).some((name) => name.endsWith("ForSequenceClassification"));
    const from = isCrossEncoder ? AutoModelForSequenceClassification : AutoModel;
    const network = await from.from_pretrained(model, { dtype, session_options: SESSION });
    const parts = { tokenizer, network, Tensor, isCrossEncoder, pooling: source.pooling };
    const encoder = await Encoder.create(parts).catch(async (error) => {
      await network.dispose();
      throw error;
    });
    const digest = createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex");
    return { encoder, digest: digest.slice(0, DIGEST_LENGTH) };
  } catch (cause) {
    if (StemmaError.isInstance(cause)) throw cause;
    throw isFolder ? damaged(folder, `${file} cannot be loaded`, cause) : unreachable(source, cause);
  }
}

function assertComplete(folder: string, { file }: ModelSource): void {
  const missing = ["config.json", "tokenizer.json", "tokenizer_config.json", file].filter(
    (name) => !existsSync(join(folder, name)),
  );
  if (missing.length === 0) return;
  const message = `The folder "${folder}" holds no model that can be loaded: ${missing.join(", ")} is missing. Copy the model's folder from the hub again, with onnx/.`;
  throw new StemmaError("MODEL_UNAVAILABLE", { model: folder, missing }, message);
}

function configOf(folder: string): { architectures?: string[] } {
  try {
    return JSON.parse(readFileSync(join(folder, "config.json"), "utf8"));
  } catch (cause) {
    throw damaged(folder, "config.json cannot be read", cause);
  }
}

function damaged(folder: string, what: string, cause: unknown): StemmaError {
  const message = `The model in "${folder}" cannot be used: ${what} (${reasonOf(cause)}). Copy the model's folder again.`;
  return new StemmaError("MODEL_UNAVAILABLE", { model: folder }, message, { cause });
}

function unreachable({ model, cache }: ModelSource, cause: unknown): StemmaError {
  const message = `The model "${model}" could not be loaded from the hub (${reasonOf(cause)}). Without a network, name a folder that holds it: localModel({ model: "./models/all-MiniLM-L6-v2" }). What was fetched before is in ${cache}.`;
  return new StemmaError("MODEL_UNAVAILABLE", { model }, message, { cause });
}

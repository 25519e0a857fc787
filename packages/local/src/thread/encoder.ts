import { StemmaError } from "@stemma/model";
import { lateInteraction, type TokenStates } from "./late-interaction.js";
import type { Network, Tensor, Tokenizer, Transformers } from "./transformers.js";

/** Tokens of a text that are read: what the model was trained on. */
const MAX_TOKENS = 256;
/** Tokens of a query: a longer one says what it is after by then. */
const MAX_QUERY_TOKENS = 64;
/** No token that is read stands further back in a text; to cut a long one into tokens takes long. */
const CHARACTERS_PER_TOKEN = 8;
/** How many texts one run of the network gets: more take more memory, and no less time. */
const BATCH_SIZE = 8;

interface EncoderParts {
  readonly tokenizer: Tokenizer;
  readonly network: Network;
  readonly Tensor: Transformers["Tensor"];
  readonly isCrossEncoder: boolean;
  readonly pooling: "mean" | "cls";
}

/** A text as tokens. */
export interface Tokens {
  readonly ids: readonly number[];
  readonly types: readonly number[];
}

/** A query, read once for all of its passages. */
export type EncodedQuery = string | TokenStates;

/** A network and its tokenizer: texts become tokens, tokens scores or vectors. */
export class Encoder {
  readonly #special: ReadonlySet<number>;
  readonly #maxTokens: number;

  private constructor(
    private readonly parts: EncoderParts,
    /** How many numbers a vector has; null for a cross-encoder. */
    readonly dimensions: number | null,
  ) {
    const { tokenizer } = parts;
    this.#special = new Set(tokenizer.all_special_ids);
    this.#maxTokens = Math.min(MAX_TOKENS, tokenizer.model_max_length || MAX_TOKENS);
  }

  /** Tries the network on a word. Errors: `MODEL_UNAVAILABLE` for one that gives neither states of tokens nor one score. */
  static async create(parts: EncoderParts): Promise<Encoder> {
    const probe = new Encoder(parts, null);
    const { isCrossEncoder } = parts;
    const output = await probe.#run([probe.tokens("a", isCrossEncoder ? "a" : undefined)]);
    const width = output?.dims.at(-1);
    if (width === undefined || (isCrossEncoder && width !== 1)) {
      const found = isCrossEncoder ? `${width ?? "no"} scores, where a reranker gives one` : "no states of tokens";
      const message = `The model gives ${found}. Name an encoder such as all-MiniLM-L6-v2, or a cross-encoder with one label.`;
      throw new StemmaError("MODEL_UNAVAILABLE", {}, message);
    }
    return new Encoder(parts, isCrossEncoder ? null : width);
  }

  /** The tokens of a text, or of a query's text and a passage that a cross-encoder reads together. */
  tokens(text: string, pair?: string): Tokens {
    const cut = (part: string, tokens: number) => part.slice(0, tokens * CHARACTERS_PER_TOKEN);
    const { input_ids: ids, token_type_ids: types } = this.parts.tokenizer(cut(text, this.#maxTokens), {
      ...(pair === undefined ? {} : { text_pair: cut(pair, this.#maxTokens) }),
      truncation: true,
      max_length: this.#maxTokens,
      return_tensor: false,
    });
    return { ids, types: types ?? ids.map(() => 0) };
  }

  /** The tokens that the network reads to score a passage. */
  passage(query: EncodedQuery, text: string): Tokens {
    return typeof query === "string" ? this.tokens(query, text) : this.tokens(text);
  }

  /** Frees the memory of the network. */
  async dispose(): Promise<void> {
    await this.parts.network.dispose();
  }

  async query(text: string): Promise<EncodedQuery> {
    if (this.parts.isCrossEncoder) return text.slice(0, MAX_QUERY_TOKENS * CHARACTERS_PER_TOKEN);
    const { ids, types } = this.tokens(text);
    const tokens = { ids: ids.slice(0, MAX_QUERY_TOKENS), types: types.slice(0, MAX_QUERY_TOKENS) };
    return this.#statesOf((await this.#run([tokens])) as Tensor, 0, tokens);
  }

  /** Scores passages, which are tokens that `passage` gave. */
  scores(query: EncodedQuery, passages: readonly Tokens[]): Promise<number[]> {
    return this.#each(passages, (output, row, tokens) =>
      typeof query === "string"
        ? (output.data[row] as number)
        : lateInteraction(query, this.#statesOf(output, row, tokens)),
    );
  }

  /** Vectors of length one, or of zeros for a text without words. */
  vectors(texts: readonly Tokens[]): Promise<Float32Array[]> {
    return this.#each(texts, (output, row, { ids }) => {
      const width = this.dimensions as number;
      const start = row * (output.dims[1] as number) * width;
      const read = this.parts.pooling === "cls" ? 1 : ids.length;
      const vector = new Float32Array(width);
      for (let token = 0; token < read; token += 1) {
        for (let i = 0; i < width; i += 1) {
          vector[i] = (vector[i] as number) + (output.data[start + token * width + i] as number);
        }
      }
      const size = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) || 1;
      return vector.map((value) => value / size);
    });
  }

  /** Reads texts of like length together, and gives what is made of each in their order. */
  async #each<Made>(
    texts: readonly Tokens[],
    make: (output: Tensor, row: number, tokens: Tokens) => Made,
  ): Promise<Made[]> {
    const made: Made[] = [];
    const order = texts.map((_, index) => index).sort((a, b) => lengthAt(texts, a) - lengthAt(texts, b));
    for (let from = 0; from < order.length; from += BATCH_SIZE) {
      const batch = order.slice(from, from + BATCH_SIZE);
      const output = (await this.#run(batch.map((index) => texts[index] as Tokens))) as Tensor;
      for (const [row, index] of batch.entries()) made[index] = make(output, row, texts[index] as Tokens);
    }
    return made;
  }

  async #run(texts: readonly Tokens[]): Promise<Tensor | undefined> {
    const { network, Tensor, tokenizer } = this.parts;
    const length = Math.max(...texts.map(({ ids }) => ids.length));
    const tensor = (numbers: (text: Tokens) => readonly number[], padding = 0) => {
      const data = new BigInt64Array(texts.length * length).fill(BigInt(padding));
      for (const [row, text] of texts.entries()) data.set(numbers(text).map(BigInt), row * length);
      return new Tensor("int64", data, [texts.length, length]);
    };
    const { last_hidden_state: states, logits } = await network({
      input_ids: tensor(({ ids }) => ids, tokenizer.pad_token_id),
      attention_mask: tensor(({ ids }) => ids.map(() => 1)),
      token_type_ids: tensor(({ types }) => types),
    });
    return this.parts.isCrossEncoder ? logits : states;
  }

  #statesOf({ data, dims }: Tensor, row: number, { ids }: Tokens): TokenStates {
    const [, length, width] = dims as [number, number, number];
    const rows = ids.flatMap((id, index) => (this.#special.has(id) ? [] : [index]));
    return { states: data.subarray(row * length * width, (row + 1) * length * width), width, rows };
  }
}

const lengthAt = (texts: readonly Tokens[], index: number) => (texts[index] as Tokens).ids.length;

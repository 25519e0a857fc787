import { Recent, StemmaError } from "@stemma/model";
import { lateInteraction, packStates, type TokenStates } from "./late-interaction.js";

/** Tokens of a text that are read: what the model was trained on. */
const MAX_TOKENS = 256;
/** Tokens of a query that a cross-encoder reads, since the passage is to have room beside it. */
const MAX_QUERY_TOKENS = 64;
/** No token that is read stands further back in a text; to cut a long one into tokens takes long. */
const CHARACTERS_PER_TOKEN = 8;
/** How much the states of passages may take that were read lately, in bytes: searches of one store find the same messages. */
const REMEMBERED = 32_000_000;

interface EncoderParts {
  readonly tokenizer: Tokenizer;
  readonly network: Network;
  readonly Tensor: Transformers["Tensor"];
  readonly isCrossEncoder: boolean;
  readonly pooling: "mean" | "cls";
}

interface Tokens {
  readonly ids: readonly number[];
  readonly types: readonly number[];
}

/** A query, read once for all of its passages. */
export type EncodedQuery = string | TokenStates;

/**
 * A network and its tokenizer: texts become tokens, tokens scores or vectors. The network reads one text at a time: several take
 * longer, since what they need is larger than the caches of a core, and in 8 bits the numbers of each would depend on the others.
 */
export class Encoder {
  readonly #special: ReadonlySet<number>;
  readonly #maxTokens: number;
  readonly #passages = new Recent<TokenStates>(REMEMBERED);

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
    const output = await probe.#run(probe.#tokens("a", isCrossEncoder ? "a" : undefined));
    const width = output?.dims.at(-1);
    if (width === undefined || (isCrossEncoder && width !== 1)) {
      const found = isCrossEncoder ? `${width ?? "no"} scores, where a reranker gives one` : "no states of tokens";
      const message = `The model gives ${found}. Name an encoder such as all-MiniLM-L6-v2, or a cross-encoder with one label.`;
      throw new StemmaError("MODEL_UNAVAILABLE", {}, message);
    }
    return new Encoder(parts, isCrossEncoder ? null : width);
  }

  /** The tokens of a text, or of a query's text and a passage that a cross-encoder reads together. */
  #tokens(text: string, pair?: string): Tokens {
    const cut = (part: string, tokens: number) => part.slice(0, tokens * CHARACTERS_PER_TOKEN);
    const { input_ids: ids, token_type_ids: types } = this.parts.tokenizer(cut(text, this.#maxTokens), {
      ...(pair === undefined ? {} : { text_pair: cut(pair, this.#maxTokens) }),
      truncation: true,
      max_length: this.#maxTokens,
      return_tensor: false,
    });
    return { ids, types: types ?? ids.map(() => 0) };
  }

  /** Frees the memory of the network. */
  async dispose(): Promise<void> {
    await this.parts.network.dispose();
  }

  async query(text: string): Promise<EncodedQuery> {
    if (this.parts.isCrossEncoder) return text.slice(0, MAX_QUERY_TOKENS * CHARACTERS_PER_TOKEN);
    return this.#states(this.#tokens(text));
  }

  /** Scores a passage. */
  async score(query: EncodedQuery, passage: string): Promise<number> {
    if (typeof query === "string") {
      const { data } = (await this.#run(this.#tokens(query, passage))) as Tensor;
      return data[0] as number;
    }
    const known = this.#passages.get(passage);
    const states = known ?? (await this.#states(this.#tokens(passage)));
    // Of strings two bytes a character.
    this.#passages.set(passage, states, states.states.length + passage.length * 2);
    return lateInteraction(query, states);
  }

  /** A vector of length one, or of zeros for a text without words. */
  async vector(text: string): Promise<Float32Array> {
    const tokens = this.#tokens(text);
    const { data } = (await this.#run(tokens)) as Tensor;
    const width = this.dimensions as number;
    const read = this.parts.pooling === "cls" ? 1 : tokens.ids.length;
    const vector = new Float32Array(width);
    for (let token = 0; token < read; token += 1) {
      for (let i = 0; i < width; i += 1) vector[i] = (vector[i] as number) + (data[token * width + i] as number);
    }
    const size = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) || 1;
    return vector.map((value) => value / size);
  }

  async #run({ ids, types }: Tokens): Promise<Tensor | undefined> {
    const { network, Tensor, isCrossEncoder } = this.parts;
    const tensor = (numbers: readonly number[]) =>
      new Tensor("int64", BigInt64Array.from(numbers, BigInt), [1, numbers.length]);
    const { last_hidden_state: states, logits } = await network({
      input_ids: tensor(ids),
      attention_mask: tensor(ids.map(() => 1)),
      token_type_ids: tensor(types),
    });
    return isCrossEncoder ? logits : states;
  }

  async #states(tokens: Tokens): Promise<TokenStates> {
    const { data, dims } = (await this.#run(tokens)) as Tensor;
    const rows = tokens.ids.flatMap((id, index) => (this.#special.has(id) ? [] : [index]));
    return packStates(data, dims.at(-1) as number, rows);
  }
}

// What is used of `@huggingface/transformers`, which is loaded only in the thread, and only where it is installed.

interface Tensor {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

interface Tokenizer {
  (
    text: string,
    options: { text_pair?: string; truncation: true; max_length: number; return_tensor: false },
  ): { input_ids: number[]; token_type_ids?: number[] };
  readonly all_special_ids: readonly number[];
  readonly model_max_length: number;
}

interface Network {
  (inputs: Record<string, Tensor>): Promise<{ last_hidden_state?: Tensor; logits?: Tensor }>;
  dispose(): Promise<unknown>;
}

interface NetworkClass {
  from_pretrained(name: string, options: { dtype: string; session_options: object }): Promise<Network>;
}

export interface Transformers {
  readonly env: { allowRemoteModels: boolean; useFSCache: boolean; cacheDir: string; remoteHost: string };
  readonly Tensor: new (type: "int64", data: BigInt64Array, dims: readonly number[]) => Tensor;
  readonly AutoConfig: { from_pretrained(name: string): Promise<{ architectures?: string[] }> };
  readonly AutoTokenizer: { from_pretrained(name: string): Promise<Tokenizer> };
  readonly AutoModel: NetworkClass;
  readonly AutoModelForSequenceClassification: NetworkClass;
}

// What is used of `@huggingface/transformers`, which is loaded only in the thread, and only where it is installed.

export interface Tensor {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

export interface Tokenizer {
  (
    text: string,
    options: { text_pair?: string; truncation: true; max_length: number; return_tensor: false },
  ): { input_ids: number[]; token_type_ids?: number[] };
  readonly all_special_ids: readonly number[];
  readonly model_max_length: number;
}

export interface Network {
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

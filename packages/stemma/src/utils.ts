// Public under the name that programs written for the documented package import: there it takes a list.
export {
  CHARS_PER_TOKEN,
  enforceRowSizeLimit,
  estimateStringTokens,
  estimateTokens as estimateMessageTokens,
  TOKENS_PER_MESSAGE,
  type TruncateOptions,
  truncateOlderMessages,
  WORDS_TOKEN_MULTIPLIER,
} from "@stemma/model";
export * from "./utils/compaction-helpers.js";

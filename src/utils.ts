export { enforceRowSizeLimit } from "./compaction/row-size.js";
export { type TruncateOptions, truncateOlderMessages } from "./compaction/truncate.js";
// Public under the name that programs written for the documented package import: there it takes a list.
export {
  CHARS_PER_TOKEN,
  estimateStringTokens,
  estimateTokens as estimateMessageTokens,
  TOKENS_PER_MESSAGE,
  WORDS_TOKEN_MULTIPLIER,
} from "./model/tokens.js";
export * from "./utils/compaction-helpers.js";

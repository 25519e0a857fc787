/** A query, taken apart: what the user typed holds no operators, only words. */
export interface SearchQuery {
  /** Words to look for, lower case, without stop-words unless there is nothing else; each once. */
  readonly words: readonly string[];
  /** Runs of characters of scripts that are written without spaces, as typed. */
  readonly runs: readonly string[];
  /** Phrases the user put in quotation marks: the words of each, in order. */
  readonly phrases: readonly (readonly string[])[];
}

/** The query of FTS5 for a sequence of terms. All of it is quoted, so that nothing is an operator. */
export const quote = (sequence: readonly string[]): string => `"${sequence.join(" ")}"`;

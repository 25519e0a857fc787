/** Characters of a query that count. */
export const MOST_QUERY = 16_384;

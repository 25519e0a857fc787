// By itself: a page that calls a server loads no more of search.

/** Characters of a query that count. */
export const MOST_QUERY = 16_384;

/** Rows that are read for a phrase. */
export const PHRASES = 10_000;

/** How many times the terms of the array `wanted` stand side by side in a row `d` that holds each of them. */
export const timesOfPhrase = (wanted: string): string => `(SELECT count(*) FROM (
    SELECT FROM unnest(${wanted}) WITH ORDINALITY AS t (term, k) CROSS JOIN LATERAL unnest(array_positions(d.terms, t.term)) AS at
    GROUP BY at - k HAVING count(*) = cardinality(${wanted})) AS runs)`;

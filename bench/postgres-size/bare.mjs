// What a search is compared with: one statement that reads as many candidates by the index as a search scores, and scores them.
import { documentTermsOf, QUERIES } from "./corpus.mjs";

/** So many matches a search scores at first: `FIRST_DEPTH` in src/storage/operations/search/search.ts. */
const CANDIDATES = 250;

/** Such a statement for each query, on a client of its own. */
export async function bareOperations(client) {
  // Without statistics the planner would read the whole table.
  await client.query("SET enable_seqscan = off");
  const operations = {};
  for (const [name, query] of Object.entries(QUERIES)) {
    const terms = documentTermsOf(query);
    const each = Math.ceil(CANDIDATES / terms.length);
    const text = terms
      .map(
        (
          _,
          index,
        ) => `(SELECT d.n, cardinality(array_positions(d.terms, $${index + 1}::text)) * 2.2 / (0.3 + d.length) AS score
           FROM assistant_fts d WHERE d.terms @> ARRAY[$${index + 1}::text] LIMIT ${each})`,
      )
      .join(" UNION ALL ");
    operations[`search: ${name}`] = { run: () => client.query({ text, values: terms }) };
  }
  return operations;
}

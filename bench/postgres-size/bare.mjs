// What a search is compared with: one statement that reads as many candidates by an index as a search scores, and scores them.
import { documentTermsOf, LONG, QUERIES, tenSessions } from "./corpus.mjs";

/** So many matches a search scores at first: `FIRST_DEPTH` in src/storage/operations/search/search.ts. */
const CANDIDATES = 250;

/** Such a statement for each query in each scope, in a store of so many messages, on a client of its own. */
export async function bareOperations(client, messages) {
  // Without statistics the planner would read the whole table.
  await client.query("SET enable_seqscan = off");
  const scopes = {
    search: "",
    "search within a session": `d.session_id = '${LONG}' AND `,
    "search within ten sessions": `d.session_id = ANY ('{${tenSessions(messages).join(",")}}') AND `,
  };
  const operations = {};
  for (const [scope, own] of Object.entries(scopes)) {
    for (const [name, query] of Object.entries(QUERIES)) {
      const terms = documentTermsOf(query);
      const text = bareQuery(terms.length, own);
      operations[`${scope}: ${name}`] = { run: () => client.query({ text, values: terms }) };
    }
  }
  return operations;
}

function bareQuery(terms, own) {
  const each = Math.ceil(CANDIDATES / terms);
  const ofTerm = (_, index) => {
    const term = `$${index + 1}::text`;
    return `(SELECT d.n, cardinality(array_positions(d.terms, ${term})) * 2.2 / (0.3 + d.length) AS score
      FROM assistant_fts d WHERE ${own}d.terms @> ARRAY[${term}] LIMIT ${each})`;
  };
  return Array.from({ length: terms }, ofTerm).join(" UNION ALL ");
}

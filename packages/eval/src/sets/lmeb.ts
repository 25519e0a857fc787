import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { invalid, type SessionMessage } from "@stemma/model";
import { type EvalConversation, said } from "../set.js";
import { readLines } from "./read-json.js";

interface LmebText {
  readonly id?: string | number;
  readonly _id?: string | number;
  readonly title?: string;
  readonly text: string;
}

const CORPUS = "corpus";

/**
 * A task of LMEB, or another in the form of BEIR: a folder with `queries.jsonl`, `corpus.jsonl` and `qrels.tsv` (or
 * `qrels/test.tsv`). Each text of the corpus is a message; they stand in one session, in the order of the file. Every query looks
 * at the whole corpus; queries without a relevant text are left out.
 */
export async function* readLmeb(folder: string): AsyncGenerator<EvalConversation> {
  const qrels = ["qrels.tsv", "qrels/test.tsv"].map((name) => join(folder, name)).find((path) => existsSync(path));
  if (qrels === undefined)
    throw invalid(`The folder "${folder}" has no qrels.tsv or qrels/test.tsv.`, { path: folder });
  const relevant = readQrels(qrels);
  const messages: SessionMessage[] = [];
  for await (const { value } of readLines<LmebText>(join(folder, `${CORPUS}.jsonl`))) {
    const { title = "", text } = value;
    messages.push(said(idOf(value), "user", title === "" ? text : `${title}\n${text}`));
  }
  const questions = [];
  for await (const { value } of readLines<LmebText>(join(folder, "queries.jsonl"))) {
    const evidence = relevant.get(idOf(value)) ?? [];
    if (evidence.length > 0) questions.push({ text: value.text, category: "all", evidence, sessions: [CORPUS] });
  }
  yield { name: CORPUS, sessions: [{ id: CORPUS, messages }], questions };
}

/** The ids of the texts that are relevant to each query. */
function readQrels(path: string): Map<string, string[]> {
  const relevant = new Map<string, string[]>();
  for (const line of readFileSync(path, "utf8").split(/\r?\n/)) {
    // Three columns, or four with the "0" of TREC's form. The head's score is no number.
    const cells = line.split("\t");
    const [query, text] = [cells[0], cells.at(-2)];
    if (query === undefined || text === undefined || !(Number(cells.at(-1)) > 0)) continue;
    relevant.set(query, [...(relevant.get(query) ?? []), text]);
  }
  return relevant;
}

function idOf({ id, _id }: LmebText): string {
  return String(id ?? _id);
}

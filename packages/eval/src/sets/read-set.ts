import { invalid, reasonOf, StemmaError } from "@stemma/model";
import type { EvalConversation, EvalSet, Many } from "../set.js";
import { readBeam } from "./beam.js";
import { readLmeb } from "./lmeb.js";
import { readLocomo } from "./locomo.js";
import { readLongmemeval } from "./longmemeval.js";
import { readMemdaily } from "./memdaily.js";
import { assertThere } from "./read-json.js";
import { readRealtalk } from "./realtalk.js";

interface SetReader {
  readonly name: string;
  readonly title: string;
  /** The place to which its path leads, in words for the user. */
  readonly about: string;
  read(path: string): Many<EvalConversation>;
}

/** The sets that can be read, by the names that the command line has for them. */
export const EVAL_SETS = [
  {
    name: "locomo",
    title: "LoCoMo",
    about: "locomo10.json of github.com/snap-research/locomo",
    read: readLocomo,
  },
  {
    name: "longmemeval",
    title: "LongMemEval",
    about: "a file of github.com/xiaowu0162/LongMemEval: S, M or oracle",
    read: readLongmemeval,
  },
  {
    name: "beam",
    title: "BEAM",
    about: "a folder of chats of github.com/mohammadtavakoli78/BEAM, such as chats/100K",
    read: readBeam,
  },
  {
    name: "realtalk",
    title: "REALTALK",
    about: "the folder data of github.com/danny911kr/REALTALK",
    read: readRealtalk,
  },
  {
    name: "memdaily",
    title: "MemDaily",
    about: "the folder messages_and_QAs of github.com/nuster1128/MemSim",
    read: readMemdaily,
  },
  {
    name: "lmeb",
    title: "LMEB",
    about: "a folder with queries.jsonl, corpus.jsonl and qrels.tsv, as LMEB and BEIR have them",
    read: readLmeb,
  },
] as const satisfies readonly SetReader[];

export type EvalSetName = (typeof EVAL_SETS)[number]["name"];

/**
 * Reads a set of questions from a path, each time that its conversations are asked for. Errors: `INVALID_ARGUMENT` for a name that is
 * none and a path that is not there; while conversations are read, for what is not in the form of the set.
 */
export function readEvalSet(name: EvalSetName, path: string): EvalSet {
  const reader: SetReader | undefined = EVAL_SETS.find((each) => each.name === name);
  if (reader === undefined) {
    throw invalid(`The sets are ${EVAL_SETS.map((each) => each.name).join(", ")}; "${name}" is none of them.`, {
      name,
    });
  }
  assertThere(path);
  return {
    name: reader.title,
    conversations: {
      async *[Symbol.asyncIterator]() {
        try {
          yield* reader.read(path);
        } catch (error) {
          if (StemmaError.isInstance(error)) throw error;
          const message = `"${path}" is not in the form of ${name} (${reader.about}): ${reasonOf(error)}`;
          throw invalid(message, { path }, { cause: error });
        }
      },
    },
  };
}

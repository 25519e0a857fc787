import { join } from "node:path";
import { asked, type EvalConversation, said } from "../set.js";
import { namesIn, readJson } from "./read-json.js";

interface Trajectory {
  readonly tid: number;
  readonly message_list: readonly { readonly mid: number; readonly message: string; readonly time: string }[];
  readonly question_list: readonly MemdailyQuestion[];
}

interface MemdailyQuestion {
  readonly question: string;
  readonly answer?: string;
  readonly target_step_id: readonly number[];
}

/** MemDaily: what a person told in Chinese (https://github.com/nuster1128/MemSim), from its folder `messages_and_QAs`. */
export function readMemdaily(folder: string): EvalConversation[] {
  const names = namesIn(folder, /^\d+_.*\.json$/, "no numbered .json files");
  return names.flatMap((name) => readJson<Trajectory[]>(join(folder, name)).map(trajectoryIn(name)));
}

function trajectoryIn(name: string): (trajectory: Trajectory) => EvalConversation {
  const category = name.replace(/^\d+_|_[a-z]+\.json$/g, "");
  return ({ tid, message_list: list, question_list: asking }) => {
    const messages = list.map(({ mid, message, time }) =>
      said(String(mid), "user", message, { createdAt: dateOf(time) }),
    );
    const sessions = [{ id: "s0", messages }];
    const questions = asking.map(({ question: text, answer, target_step_id: ids }) =>
      asked(sessions, { text, category, answer, evidence: ids.map(String) }),
    );
    return { name: `${name} ${tid}`, sessions, questions: questions.filter(({ evidence }) => evidence.length > 0) };
  };
}

// "2024年04月01日 周一 08:30"
function dateOf(text: string): Date | undefined {
  const found = text.match(/\d+/g)?.map(Number);
  if (found === undefined || found.length < 5) return undefined;
  const [year = 0, month = 1, ...rest] = found;
  return new Date(Date.UTC(year, month - 1, ...rest));
}

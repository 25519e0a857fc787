import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { memory } from "@stemma/store/memory";
import { afterAll, describe, expect, it } from "vitest";
import { conversationsOf, type EvalConversation, type EvalSession, type EvalSet } from "../../src/set.js";
import { readOwnQuestions } from "../../src/sets/own.js";
import { type EvalSetName, readEvalSet } from "../../src/sets/read-set.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-eval-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a file: a text as it is, anything else as JSON. */
function file(path: string, content: unknown): string {
  const full = join(folder, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, typeof content === "string" ? content : JSON.stringify(content));
  return full;
}

const lines = (...values: unknown[]) => values.map((value) => JSON.stringify(value)).join("\n");

async function readAll(set: EvalSet): Promise<(Omit<EvalConversation, "sessions"> & { sessions: EvalSession[] })[]> {
  const all = [];
  for await (const { sessions, ...conversation } of set.conversations) {
    const list = [];
    for await (const session of sessions) list.push(session);
    all.push({ ...conversation, sessions: list });
  }
  return all;
}

const read = (name: EvalSetName, path: string) => readAll(readEvalSet(name, path));
const textsOf = ({ sessions }: { sessions: EvalSession[] }) =>
  sessions.flatMap(({ messages }) => messages.map(({ parts }) => parts[0]?.text));

describe("readEvalSet", () => {
  it("reads LoCoMo: two speakers, dated sessions, and questions nobody answered", async () => {
    const turn = (dia_id: string, speaker: string, text: string) => ({ dia_id, speaker, text });
    const path = file("locomo.json", [
      {
        conversation: {
          speaker_a: "Ada",
          session_1: [turn("D1:1", "Ada", "I sing."), turn("D1:2", "Bo", "Where?")],
          session_1_date_time: "12:30 am on 8 May, 2023",
          session_2: [turn("D2:1", "Ada", "In a choir.")],
          session_2_date_time: "1:56 pm on 9 June, 2023",
        },
        qa: [
          { question: "Where does Ada sing?", answer: "a choir", category: 1, evidence: ["D1:1; D2:01"] },
          { question: "What does Bo paint?", adversarial_answer: "boats", category: 5, evidence: ["D1:2"] },
          { question: "Why?", answer: 7, category: 4, evidence: [] },
        ],
      },
    ]);
    const [conversation] = await read("locomo", path);
    expect(conversation?.sessions.map(({ id }) => id)).toEqual(["s1", "s2"]);
    expect(conversation?.sessions[0]?.messages[0]).toEqual({
      id: "D1:1",
      role: "user",
      parts: [{ type: "text", text: "I sing." }],
      metadata: { name: "Ada" },
      createdAt: new Date("2023-05-08T00:30Z"),
    });
    expect(conversation?.questions).toEqual([
      {
        text: "Where does Ada sing?",
        category: "1",
        answer: "a choir",
        evidence: ["D1:1", "D2:1"],
        sessions: ["s1", "s2"],
      },
      { text: "What does Bo paint?", category: "unanswerable", evidence: [], sessions: [] },
    ]);
  });

  it("reads LongMemEval: a haystack for each question, marked turns or sessions alone, and abstentions", async () => {
    const item = (question_id: string, has_answer: boolean) => ({
      question_id,
      question_type: "single-session-user",
      question: "Which degree do I have?",
      answer: "Physics",
      question_date: "2023/05/30 (Tue) 23:40",
      haystack_dates: ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
      haystack_session_ids: ["sharegpt_1", "answer_2"],
      haystack_sessions: [
        [{ role: "user", content: "Hello" }],
        [
          { role: "user", content: "My degree is in physics.", ...(has_answer ? { has_answer } : {}) },
          { role: "assistant", content: "Nice." },
        ],
      ],
      answer_session_ids: ["answer_2"],
    });
    const path = file("longmemeval_s.json", [item("a", true), item("b", false), item("c_abs", false)]);
    const [marked, unmarked, abstention] = await read("longmemeval", path);
    expect(marked?.questions).toEqual([
      {
        text: "Which degree do I have?",
        category: "single-session-user",
        answer: "Physics",
        askedAt: new Date("2023-05-30T23:40Z"),
        evidence: ["1:0"],
        sessions: ["answer_2"],
      },
    ]);
    expect(marked?.sessions.map(({ id }) => id)).toEqual(["sharegpt_1", "answer_2"]);
    expect(marked?.sessions[1]?.messages[1]).toMatchObject({
      id: "1:1",
      role: "assistant",
      createdAt: new Date("2023-05-21T10:00Z"),
    });
    expect(unmarked?.questions[0]).toMatchObject({ evidence: [], sessions: ["answer_2"] });
    expect(abstention?.questions[0]).toMatchObject({ category: "unanswerable", evidence: [], sessions: [] });
  });

  it("reads BEAM: batches, evidence by name or in lists, and what the generator notes left out", async () => {
    const turns = [
      [
        { id: 0, role: "user", content: "I use Flask. ->-> 1,2" },
        { id: 1, role: "assistant", content: "Good." },
      ],
    ];
    for (const name of ["10", "9"])
      file(`beam/${name}/chat.json`, [{ turns }, { turns: [[{ id: 2, role: "user", content: "Hi" }]] }]);
    for (const name of ["10", "9"]) {
      file(`beam/${name}/probing_questions/probing_questions.json`, {
        abstention: [{ question: "Which font?", ideal_response: "unknown" }],
        contradiction_resolution: [
          { question: "Flask?", ideal_answer: "both", source_chat_ids: { first: [0], second: [2] } },
        ],
        summarization: [{ question: "All?", ideal_summary: "…", source_chat_ids: [] }],
      });
    }
    const conversations = await read("beam", join(folder, "beam"));
    expect(conversations.map(({ name }) => name)).toEqual(["9", "10"]);
    expect(textsOf(conversations[0] as never)).toEqual(["I use Flask.", "Good.", "Hi"]);
    expect(conversations[0]?.questions).toEqual([
      { text: "Which font?", category: "unanswerable", evidence: [], sessions: [] },
      {
        text: "Flask?",
        category: "contradiction_resolution",
        answer: "both",
        evidence: ["0", "2"],
        sessions: ["s0", "s1"],
      },
    ]);
  });

  it("reads REALTALK", async () => {
    file("realtalk/Chat_1_Ada_Bo.json", {
      session_1: [{ clean_text: "I ran.", speaker: "Ada", date_time: "29.12.2023, 22:42:04", dia_id: "D1:1" }],
      qa: [
        { question: "Did Ada run?", category: 2, evidence: ["D1:1"], answer: "yes" },
        { question: "Else?", category: 1, evidence: ["D9:9"] },
      ],
    });
    const [conversation] = await read("realtalk", join(folder, "realtalk"));
    expect(conversation?.sessions[0]?.messages[0]?.createdAt).toEqual(new Date("2023-12-29T22:42:04Z"));
    expect(conversation?.questions).toEqual([
      { text: "Did Ada run?", category: "2", answer: "yes", evidence: ["D1:1"], sessions: ["s1"] },
    ]);
  });

  it("reads MemDaily", async () => {
    const message = { mid: 0, message: "我住在上海。", time: "2024年04月01日 周一 08:30" };
    const question = { question: "我住在哪里？", answer: "上海", target_step_id: [0] };
    file("memdaily/0_simple_roles.json", [{ tid: 3, message_list: [message], question_list: [question] }]);
    const [conversation] = await read("memdaily", join(folder, "memdaily"));
    expect(conversation).toMatchObject({
      name: "0_simple_roles.json 3",
      questions: [{ text: "我住在哪里？", category: "simple", answer: "上海", evidence: ["0"], sessions: ["s0"] }],
    });
    expect(conversation?.sessions[0]?.messages[0]?.createdAt).toEqual(new Date("2024-04-01T08:30Z"));
  });

  it.each([
    ["qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td2\t1\nq1\td1\t0\n"],
    ["qrels/test.tsv", "q1\t0\td2\t1\n"],
  ])("reads queries, corpus and %s", async (name, qrels) => {
    const at = `lmeb-${name.length}`;
    file(`${at}/${name}`, qrels);
    file(`${at}/corpus.jsonl`, lines({ id: "d1", text: "One" }, { _id: "d2", title: "Two", text: "2" }));
    file(`${at}/queries.jsonl`, lines({ id: "q1", text: "two?" }, { id: "q2", text: "none?" }));
    const [corpus] = await read("lmeb", join(folder, at));
    expect(textsOf(corpus as never)).toEqual(["One", "Two\n2"]);
    expect(corpus?.questions).toEqual([{ text: "two?", category: "all", evidence: ["d2"], sessions: ["corpus"] }]);
  });

  it("can be read twice", async () => {
    file("twice/0_simple_roles.json", [{ tid: 1, message_list: [], question_list: [] }]);
    const set = readEvalSet("memdaily", join(folder, "twice"));
    expect((await readAll(set)).length).toBe(1);
    expect((await readAll(set)).length).toBe(1);
  });

  it("refuses what is not there, no set, or in another form", async () => {
    expect(() => readEvalSet("locomo", join(folder, "none"))).toThrow(/There is no file or folder/);
    await expect(readOwnQuestions(join(folder, "none"), memory())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(() => readEvalSet("lococo" as never, folder)).toThrow(/The sets are locomo, .*"lococo" is none of them/);
    await expect(read("locomo", file("text.json", "Hello"))).rejects.toThrow(/not in the form of locomo/);
    await expect(read("locomo", file("object.json", {}))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(read("longmemeval", file("l.json", [{ question: "?" }]))).rejects.toThrow(
      /not in the form of longmemeval/,
    );
    await expect(read("beam", dirname(file("empty/x.txt", "")))).rejects.toThrow(/holds no numbered folders of chats/);
    await expect(read("realtalk", join(folder, "empty"))).rejects.toThrow(/holds no Chat_….json/);
    await expect(read("lmeb", join(folder, "empty"))).rejects.toThrow(/has no qrels.tsv/);
  });

  it("takes halves and the first conversations", async () => {
    const conversation = (name: string) => ({ name, sessions: [], questions: [] });
    const set = { name: "x", conversations: ["a", "b", "c", "d", "e"].map(conversation) };
    const namesOf = async (options: Parameters<typeof conversationsOf>[1]) => {
      const names = [];
      for await (const { name } of conversationsOf(set, options)) names.push(name);
      return names.join("");
    };
    expect(await namesOf({})).toBe("abcde");
    expect(await namesOf({ half: "dev" })).toBe("ace");
    expect(await namesOf({ half: "test" })).toBe("bd");
    expect(await namesOf({ half: "dev", limitConversations: 2 })).toBe("ac");
  });
});

describe("readOwnQuestions", () => {
  const store = memory();
  afterAll(() => store.close());
  const say = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: `Message ${id}` }] });

  it("finds the sessions of messages that are named, and streams the store", async () => {
    await store.session("one").append([say("a"), say("b")]);
    await store.session("two").append([say("b"), say("c")]);
    const path = file(
      "own.jsonl",
      lines(
        { question: "a?", ids: ["a"], category: "k", answer: "A" },
        { question: "b?", ids: ["b"], session: "two" },
        { question: "two?", session: "two" },
        { question: "none?", ids: [] },
      ),
    );
    const set = await readOwnQuestions(path, store);
    const [conversation] = await readAll(set);
    expect(conversation?.questions).toEqual([
      { text: "a?", category: "k", answer: "A", evidence: ["a"], sessions: ["one"] },
      { text: "b?", category: "all", evidence: ["b"], sessions: ["two"] },
      { text: "two?", category: "all", evidence: [], sessions: ["two"] },
      { text: "none?", category: "all", evidence: [], sessions: [] },
    ]);
    expect(
      conversation?.sessions.map(({ id, messages }) => id + messages.map((each) => each.id).join("")).sort(),
    ).toEqual(["oneab", "twobc"]);
    expect(set.store).toBe(store);
  });

  it.each([
    [{ question: "?", ids: ["x"] }, /Line 2 of ".*" names the message "x", which the store does not hold/],
    [{ question: "?", ids: ["b"] }, /names the message "b", which is in 2 sessions: name the session too/],
    [{ question: "?", session: "x" }, /names the session "x", which the store does not hold/],
    [{ question: "?" }, /Line 2 of ".*" is no question: write/],
    [{ question: " ", ids: [] }, /is no question/],
    [{ question: "?", ids: "a" }, /is no question/],
    ["text", /is no question/],
  ])("refuses %j", async (line, message) => {
    const path = file("wrong.jsonl", lines({ question: "a?", ids: ["a"] }, line));
    await expect(readOwnQuestions(path, store)).rejects.toThrow(message);
    await expect(readOwnQuestions(path, store)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("refuses a line that is no JSON, by its number", async () => {
    const path = file("broken.jsonl", '{"question":"a?","ids":["a"]}\n{"question":\n');
    await expect(readOwnQuestions(path, store)).rejects.toThrow(/Line 2 of ".*" cannot be read/);
  });
});

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { sqlite } from "stemma/sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { run, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);

// Neither the models nor the database of whoever runs the tests.
beforeEach(() => {
  for (const name of ["STEMMA_MODEL", "STEMMA_MODEL_BASE_URL", "STEMMA_DB"]) vi.stubEnv(name, "");
});
afterEach(() => vi.unstubAllEnvs());

/** A set in LoCoMo's form, of conversations that each say where a thing is. */
function locomo(name: string, ...things: string[]): string {
  const files = things.map((thing) => ({
    conversation: {
      session_1: [
        { dia_id: "D1:1", speaker: "Ada", text: `My ${thing} is in the cellar.` },
        { dia_id: "D1:2", speaker: "Bo", text: "It rains." },
      ],
      session_1_date_time: "1:56 pm on 8 May, 2023",
      session_2: [{ dia_id: "D2:1", speaker: "Bo", text: "I baked bread." }],
      session_2_date_time: "1:56 pm on 9 May, 2023",
    },
    qa: [
      { question: `Where is the ${thing}?`, answer: "in the cellar", category: 4, evidence: ["D1:1"] },
      { question: "Who baked?", answer: "Bo", category: 1, evidence: ["D2:1"] },
      { question: `Who painted the ${thing}?`, category: 5, evidence: [] },
    ],
  }));
  writeFileSync(at(name), JSON.stringify(files));
  return at(name);
}

describe("stemma eval recall", () => {
  it("prints measures beside bare BM25, by category and without an answer", async () => {
    const { code, out, err } = await run(["eval", "recall", "locomo", locomo("two.json", "bicycle", "piano")]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^LoCoMo · 2 conversations · 4 questions · stemma /);
    expect(out).toMatch(/^MEASURE +STEMMA +BM25 +DIFFERENCE +95 %$/m);
    expect(out).toMatch(/^R@10 +1\.000 +1\.000 +\+0\.000 +\+0\.000 … \+0\.000$/m);
    expect(out).toMatch(/^p95 +[\d.]+ ms +[\d.]+ ms$/m);
    expect(out).toMatch(/^4 +2 +1\.000 \(1\.000\)/m);
    expect(out).toMatch(/^2 questions without an answer: \d+ tokens quoted, with bare BM25 \d+\.$/m);
  });

  it("writes the report as JSON and as a page, and compares with it later", async () => {
    const path = locomo("again.json", "bicycle", "piano", "ladder");
    const first = await run(["eval", "recall", "locomo", path, "-o", at("report.json"), "--html", at("report.html")]);
    expect(first.code).toBe(0);
    const report = JSON.parse(readFileSync(at("report.json"), "utf8"));
    expect(report).toMatchObject({ set: "LoCoMo", conversations: 3, total: { questions: 6 } });
    expect(readFileSync(at("report.html"), "utf8")).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);

    const same = await run(["eval", "recall", "locomo", path, "--against", at("report.json")]);
    expect(same.code).toBe(0);
    expect(same.out).toMatch(/No loss is certain\.\n$/);

    // An earlier run that found more than can be found.
    for (const { stemma } of report.questions) if (stemma.MRR !== null) stemma.MRR = 2;
    writeFileSync(at("better.json"), JSON.stringify(report));
    const worse = await run([
      "eval",
      "recall",
      "locomo",
      path,
      "--against",
      at("better.json"),
      "--html",
      at("worse.html"),
    ]);
    expect(worse.code).toBe(1);
    expect(worse.out).toMatch(/Certainly lost: MRR\.\n$/);
    expect(readFileSync(at("worse.html"), "utf8")).toContain("Certainly lost: MRR.");

    const json = await run(["--json", "eval", "recall", "locomo", path, "--against", at("better.json")]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ set: "LoCoMo", against: { lost: ["MRR"] } });
  });

  it("takes a part of a set, and one store for all", async () => {
    const path = locomo("parts.json", "bicycle", "piano", "ladder");
    const part = async (...options: string[]) =>
      JSON.parse((await run(["--json", "eval", "recall", "locomo", path, ...options])).out);
    expect(await part("--half", "test")).toMatchObject({ conversations: 1, options: { half: "test" } });
    expect(await part("--limit-conversations", "2")).toMatchObject({ conversations: 2 });
    expect(await part("--together")).toMatchObject({ conversations: 3, options: { together: true } });
  });

  it("asks your own questions of your own store, and writes nothing to it", async () => {
    const db = at("own.db");
    const store = sqlite(db);
    const say = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });
    await store.session("a").append([say("a1", "The keys lie under the mat."), say("a2", "Good night.")]);
    await store
      .forUser("bo")
      .session("b")
      .append([say("b1", "The keys are with Bo.")]);
    const before = await Promise.all(["a", "b"].map((id) => store.session(id).change()));
    const lines = [
      { question: "Where are the keys of the mat?", ids: ["a1"] },
      { question: "Who has keys?", session: "b" },
    ];
    writeFileSync(at("own.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
    const { code, out, err } = await run(["--db", db, "--json", "eval", "recall", "own", at("own.jsonl")]);
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out).total).toMatchObject({ questions: 2, stemma: { MRR: 1, "session any@5": 1 } });
    expect(await Promise.all(["a", "b"].map((id) => store.session(id).change()))).toEqual(before);

    const confined = await run(["--db", db, "eval", "recall", "own", at("own.jsonl"), "--user", "bo"]);
    expect(confined.code).toBe(1);
    expect(confined.err).toContain('names the message "a1", which the store does not hold');
    await store.close();
  });

  it.each([
    [["nothing", "x"], 2, /Known are: locomo, longmemeval, beam, realtalk, memdaily, lmeb, own\./],
    [["locomo"], 2, /missing required argument 'path'/],
    [["locomo", "none.json"], 1, /There is no file or folder "none\.json"/],
    [["locomo", "package.json"], 1, /"package\.json" is not in the form of locomo/],
    [["beam", "docs"], 1, /holds no numbered folders of chats/],
    [["locomo", "x", "--half", "left"], 2, /Known are: dev, test/],
    [["locomo", "x", "--limit-conversations", "0"], 2, /whole number above 0/],
    [["locomo", "x", "--db", "y.db"], 2, /--db is for your own questions/],
    [["locomo", "x", "--user", "ada"], 2, /--user is for your own questions/],
    [["locomo", "package.json", "--against", "none.json"], 1, /"none\.json" cannot be compared with: ENOENT/],
    [["locomo", "package.json", "--against", "package.json"], 1, /no report of `stemma eval recall`/],
    [["own", "x.jsonl", "--db", "none.db"], 1, /There is no database none\.db/],
  ])("refuses %j", async (args, code, message) => {
    const ran = await run(["eval", "recall", ...args]);
    expect([ran.code, ran.out]).toEqual([code, ""]);
    expect(ran.err).toMatch(message);
    expect(existsSync("none.db") || existsSync("y.db")).toBe(false);
  });

  it("refuses an empty set", async () => {
    const ran = await run(["--json", "eval", "recall", "locomo", locomo("empty.json")]);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.err)).toMatchObject({
      error: { code: "INVALID_ARGUMENT", message: expect.stringMatching(/holds no question/) },
    });
  });
});

interface ModelRequest {
  readonly model: string;
  readonly messages: { readonly content: string }[];
}

/** A server that speaks OpenAI's chat completions, and says what `answer` gives. */
async function modelServer(answer: (request: ModelRequest) => string | null) {
  const requests: ModelRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as ModelRequest;
    requests.push(body);
    const content = answer(body);
    response.writeHead(content === null ? 400 : 200, { "content-type": "application/json" });
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    const failure = { error: { message: "This model is on holiday.", type: "invalid_request_error" } };
    response.end(
      JSON.stringify(
        content === null ? failure : { id: "1", object: "chat.completion", created: 1, model: body.model, choices },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

describe("stemma eval qa", () => {
  it("lets one model answer and another judge", async () => {
    const path = locomo("qa.json", "bicycle", "piano");
    const reader = await modelServer(({ messages }) =>
      JSON.stringify(messages).includes("Who painted") ? "I do not know." : "In the cellar.",
    );
    const judge = await modelServer(({ messages }) => (JSON.stringify(messages).includes("Who baked") ? "no" : "Yes."));
    const models = ["--model", "small", "--base-url", reader.url, "--judge", "large", "--judge-base-url", judge.url];
    const { code, out, err } = await run(["eval", "qa", "locomo", path, ...models, "-o", at("qa-report.json")]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^CATEGORY +QUESTIONS +CORRECT +UNCLEAR +FAILED +TOKENS$/m);
    expect(out).toMatch(/^1 +2 +0\.000/m);
    expect(out).toMatch(/^unanswerable +2 +1\.000/m);
    expect(out).toMatch(/^all +6 +0\.667 +0 +0 +\d+$/m);
    expect([reader.requests[0]?.model, judge.requests[0]?.model]).toEqual(["small", "large"]);
    expect(JSON.stringify(reader.requests[0])).toContain("> user Ada: My bicycle is in the cellar.");
    expect(JSON.parse(readFileSync(at("qa-report.json"), "utf8")).questions).toHaveLength(6);

    const own = await run([
      "--json",
      "eval",
      "qa",
      "locomo",
      path,
      "--model",
      "small",
      "--base-url",
      judge.url,
      "--limit-conversations",
      "1",
    ]);
    expect(JSON.parse(own.out).total).toMatchObject({ questions: 3, correct: 2 / 3 });
    await Promise.all([reader.close(), judge.close()]);
  });

  it("ends with 1 where a model did not answer a question, and gives up where it never does", async () => {
    const path = locomo("failing.json", "bicycle", "piano");
    let asked = 0;
    const once = await modelServer(() => (++asked === 1 ? null : "yes"));
    const some = await run([
      "eval",
      "qa",
      "locomo",
      path,
      "--model",
      "m",
      "--base-url",
      once.url,
      "--concurrency",
      "1",
    ]);
    expect(some.code).toBe(1);
    expect(some.out).toMatch(/^all +6 +1\.000 +0 +1 /m);
    await once.close();

    const never = await modelServer(() => null);
    const none = await run(["eval", "qa", "locomo", path, "--model", "m", "--base-url", never.url]);
    expect([none.code, none.out]).toEqual([1, ""]);
    expect(none.err).toBe("stemma: The model m did not answer: This model is on holiday.\n");
    await never.close();
  });

  it("needs a model, and a set that tells answers", async () => {
    const path = locomo("model.json", "bicycle");
    const without = await run(["eval", "qa", "locomo", path]);
    expect([without.code, without.err]).toEqual([2, expect.stringContaining("--model, or STEMMA_MODEL")]);
    const unknown = await run(["eval", "qa", "locomo", path, "--model", "qwen3"]);
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining("does not say whose model it is")]);
  });
});

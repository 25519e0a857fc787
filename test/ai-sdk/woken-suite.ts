import { tool, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { sleep } from "../../packages/model/src/lib/queue.js";
import { type ChatPage, chatHandler } from "../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { standingStill } from "../helpers/standing-still.js";
import { endsWithResults, lastUserText, scriptedModel } from "./scripted-model.js";

const question = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

/** A process of a chat server: what it answers says whose it is. `lease` 1 is over at once when it stands still. */
function serve(store: Store, name: string, lease: number) {
  const { model } = scriptedModel((prompt) => {
    const text = lastUserText(prompt);
    if (text === "fails" && name === "first") return { fail: "overloaded", after: "So far." };
    if (endsWithResults(prompt) || text === "plain") return `From ${name}.`;
    return [`Let ${name} see.`, { call: text === "remove" ? "remove" : "count" }];
  }, `${name}-`);
  const works: Promise<unknown>[] = [];
  const tools = {
    count: tool({ inputSchema: z.object({}), execute: async () => `counted by ${name}` }),
    remove: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => `removed by ${name}` }),
  };
  const handler = chatHandler({
    sessions: SessionManager.create(store).withContext("memory"),
    model,
    tools,
    lease,
    cost: () => 1,
    authenticate: () => ({ userId: "ada" }),
  });
  const ask = (path: string, body?: object) =>
    handler(
      new Request(`http://chat.example/api/chat${path}`, body && { method: "POST", body: JSON.stringify(body) }),
      { waitUntil: (work) => works.push(work) },
    );
  return {
    async post(body: object): Promise<string> {
      const response = await ask("", body);
      return `${response.status} ${await response.text()}`;
    },
    page: async (id: string) => (await ask(`/${id}`)).json() as Promise<ChatPage>,
    over: async () => {
      while (works.length > 0) await works.pop();
    },
  };
}

interface Case {
  /** What the chat is asked before. */
  readonly before?: string;
  /** What both processes are asked. */
  readonly body: (page: ChatPage) => object;
}

const approved = ({ messages }: ChatPage): object => {
  const answer = messages.at(-1) as UIMessage;
  const parts = answer.parts.map((part) =>
    part.type === "tool-remove" && part.state === "approval-requested"
      ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
      : part,
  );
  return { messages: [{ ...answer, parts }] };
};

const CASES: Record<string, Case> = {
  "a question": { body: () => ({ message: question("q", "count") }) },
  "a question behind another one": { before: "plain", body: () => ({ message: question("q", "count") }) },
  "an edited question": { before: "plain", body: () => ({ message: question("before", "count") }) },
  "an approval": { before: "remove", body: approved },
  "a question again": {
    before: "count",
    body: ({ messages }) => ({ trigger: "regenerate-message", messageId: messages.at(-1)?.id }),
  },
  "an answer that failed": {
    before: "fails",
    body: ({ messages }) => ({ trigger: "regenerate-message", messageId: messages.at(-1)?.id }),
  },
};

const RUN = { label: "chat", key: "run" };
const WRITES =
  /^writeTogether$|\.(set|delete|create|update|upsert|append|appendSibling|setActiveLeaf|selectBranch|addUsage)$/;

/** Two processes on one database, `open` for each: the first stands still before any of its writes, and the second one takes over. */
export function describeWoken(title: string, open: () => Promise<{ store: Store; close(): Promise<void> }>): void {
  describe(`a process that wakes up on ${title}`, () => {
    it.each(Object.entries(CASES))(
      "leaves what another one answered to %s as it is",
      async (name, { before, body }) => {
        const [one, two] = [await open(), await open()];
        const session = (id: string) => two.store.forUser("ada").session(id);
        const runOf = async (sessionId: string) =>
          (await two.store.records.get({ sessionId, label: RUN.label }, RUN.key))?.version;
        const messagesOf = async (id: string) => {
          const tree = await session(id).tree();
          return Promise.all(tree.map(async (node) => JSON.stringify([node, await session(id).message(node.id)])));
        };
        const faults: string[] = [];
        let told = 0;
        for (let at = 1; ; at += 1) {
          const id = `${name} ${at} ${crypto.randomUUID()}`;
          const still = standingStill(one.store, at, (call) => WRITES.test(call));
          const early = serve(one.store, "first", 10_000);
          const [first, second] = [serve(still.store, "first", 1), serve(two.store, "second", 10_000)];
          if (before !== undefined) await early.post({ id, message: question("before", before) });
          await early.over();
          const given = { id, ...body(await second.page(id)) };
          const unclaimed = await runOf(id);
          const answered = first.post(given);
          const over = answered.then(() => first.over()).then(() => "over");
          if ((await Promise.race([still.stands, over])) === "over") break;
          const isClaimed = (await runOf(id)) !== unclaimed;
          await sleep(3);
          await second.post(given);
          await second.over();
          const stateOf = async () => {
            const { run, chat } = await second.page(id);
            const leaf = (await session(id).leaf())?.id;
            return [...(await messagesOf(id)), JSON.stringify({ run, usage: chat.usage, leaf })];
          };
          const then = isClaimed ? await stateOf() : await messagesOf(id);
          still.wake();
          const text = await answered;
          await over;
          if (/Another process took/.test(text)) told += 1;
          const now = isClaimed ? await stateOf() : await messagesOf(id);
          // Who had not begun begins now: an answer that was asked for again comes beside the other.
          for (const [index, state] of then.entries())
            if (now[index] !== state) faults.push(`${at}: ${state} ${now[index]}`);
          if (isClaimed && now.length !== then.length) faults.push(`${at}: ${now.length} instead of ${then.length}`);
        }
        expect(faults.map((fault) => fault.slice(0, 2000)).slice(0, 2)).toEqual([]);
        expect(told).toBeGreaterThan(1);
        await one.close();
        await two.close();
      },
    );
  });
}

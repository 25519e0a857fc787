import type { SessionMessage } from "@stemma/model";
import { StemmaError, searchableText } from "@stemma/model";
import type { Store } from "@stemma/store";
import { buildTitlePrompt, type TitleFunction, titleIn } from "../learning/learn.js";
import { answerWithin, DEFAULT_COMPACTION_TIMEOUT, Waiters } from "./compaction/time-limit.js";
import type { SessionEvents } from "./events.js";
import type { SessionBackend } from "./own-provider/provider.js";
import { type Lease, takeLease } from "./run-record.js";
/**
 * Names a session that has no name of its own, once, after its first exchange.
 */
export class Titler {
  #isDone = false;
  #work: Promise<void> = Promise.resolve();
  readonly #waiters = new Waiters();

  constructor(private readonly parts: Omit<TitleParts, "waiters">) {}

  /** Notes that messages were written: an answer may end the first exchange. Nobody waits for the name. */
  wrote(messages: readonly SessionMessage[]): void {
    if (this.#isDone || !messages.some(({ role }) => role === "assistant")) return;
    this.#work = this.#work.then(() => this.#name());
  }

  /** Waits for what is under way. Never fails. */
  settled(): Promise<void> {
    return this.#waiters.wait(this.#work);
  }

  async #name(): Promise<void> {
    if (this.#isDone) return;
    try {
      this.#isDone = await nameSession({ ...this.parts, waiters: this.#waiters });
    } catch (error) {
      this.parts.events.emitError(error);
    }
  }
}

/** The parts that naming works on. */
interface TitleParts {
  readonly store: Store;
  readonly backend: SessionBackend;
  readonly events: SessionEvents;
  readonly generate: TitleFunction;
  readonly waiters: Waiters;
}

/** So many of the first messages are named. */
const FIRST = 8;
const MAX_FAILURES = 3;
/** The label of its records, and the name under which its usage is counted. */
const LABEL = "title";
const FAILURES = "failures";

/**
 * Names a session after its first messages, where it has no name and nobody else is about to. True when there is no more to
 * do: it has a name, or the function failed too often. Errors: those of the function and of the store.
 */
async function nameSession(parts: TitleParts): Promise<boolean> {
  const present = await presentName(parts);
  if (present.isNamed) return true;
  if (present.name === null) return false;
  const messages = await firstMessages(parts);
  const hasText = (wanted: string) => messages.some((each) => each.role === wanted && searchableText(each) !== "");
  if (!hasText("user") || !hasText("assistant")) return false;
  const scope = { sessionId: parts.backend.id, label: LABEL };
  const lease = await takeLease(parts.store, scope, parts.waiters);
  if (lease === null) return false;
  try {
    return await generateName(parts, messages, lease);
  } finally {
    await lease.release();
  }
}

async function generateName(parts: TitleParts, messages: readonly SessionMessage[], lease: Lease): Promise<boolean> {
  // Another process may have named it meanwhile.
  const { isNamed, name: present } = await presentName(parts);
  if (isNamed) return true;
  if (present === null) return false;
  const { store, backend, events, generate, waiters } = parts;
  const scope = { sessionId: backend.id, label: LABEL };
  const failures = (await store.records.get(scope, FAILURES))?.value[0] ?? 0;
  if (failures >= MAX_FAILURES) return true;
  try {
    const timeoutMessage = `The title function gave no answer within ${DEFAULT_COMPACTION_TIMEOUT} ms.`;
    const given = (async () => generate(buildTitlePrompt(messages), messages))();
    const answer = await answerWithin(given, DEFAULT_COMPACTION_TIMEOUT, timeoutMessage, waiters);
    const { text, usage } = typeof answer === "object" && answer !== null ? answer : { text: answer, usage: undefined };
    // At once: whatever becomes of the name, the model was paid.
    if (usage !== undefined) {
      const { inputTokens = 0, outputTokens = 0, cost = 0 } = usage;
      await store.sessions.addUsage(backend.id, inputTokens, outputTokens, cost, LABEL);
    }
    const name = titleIn(String(text ?? ""));
    if (name === "") return false;
    const change = { name, expectedName: present };
    await lease.write([{ registered: backend.id, change }]);
    if ((await store.sessions.get(backend.id))?.name === name) events.emit({ type: "title", name });
    return true;
  } catch (error) {
    // Whoever has the right now names it.
    if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return false;
    // Where the session was deleted meanwhile, nothing is kept of it. Whatever becomes of the note, the failure is told.
    const failed = { records: scope, key: FAILURES, value: new Uint8Array([failures + 1]) };
    await lease.write([failed]).catch(() => {});
    throw error;
  }
}

// A session is registered with its id for a name, which is none yet. The name is null where there is no session.
async function presentName({ store, backend }: TitleParts): Promise<{ isNamed: boolean; name: string | null }> {
  const info = await store.sessions.get(backend.id);
  if (info === null) return { isNamed: false, name: null };
  return { isNamed: info.name !== info.id && info.name.trim() !== "", name: info.name };
}

async function firstMessages({ backend }: TitleParts): Promise<SessionMessage[]> {
  const messages: SessionMessage[] = [];
  for await (const message of backend.stream({ summaries: false, onCorrupt: "skip" })) {
    messages.push(message);
    if (messages.length === FIRST) break;
  }
  return messages;
}

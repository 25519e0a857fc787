import { buildTitlePrompt, type TitleFunction, titleIn } from "../learning/title.js";
import type { SessionMessage } from "../model/message.js";
import { searchableText } from "../model/text.js";
import type { Store } from "../storage/contract.js";
import type { SessionEvents } from "./events.js";
import { takeLease } from "./lease.js";
import type { SessionBackend } from "./provider.js";
import { answerWithin, DEFAULT_COMPACTION_TIMEOUT } from "./time-limit.js";

/** So many of the first messages are named. */
const FIRST = 8;
const MAX_FAILURES = 3;
const SPARE_TIME = 60_000;
const LABEL = "title";
const FAILURES = "failures";

/** Names a session that has no name of its own, once, after its first exchange. */
export class Titler {
  #isDone = false;
  #work: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly backend: SessionBackend,
    private readonly events: SessionEvents,
    private readonly generate: TitleFunction,
  ) {}

  /** Notes that messages were written: an answer may end the first exchange. Nobody waits for the name. */
  wrote(messages: readonly SessionMessage[]): void {
    if (this.#isDone || !messages.some(({ role }) => role === "assistant")) return;
    this.#work = this.#work.then(() => this.#name());
  }

  /** Waits for what is under way. Never fails. */
  settled(): Promise<void> {
    return this.#work;
  }

  async #name(): Promise<void> {
    if (this.#isDone) return;
    try {
      if ((await this.#present()) === null) return;
      const messages = await this.#first();
      const hasText = (wanted: string) => messages.some((each) => each.role === wanted && searchableText(each) !== "");
      if (!hasText("user") || !hasText("assistant")) return;
      const scope = { sessionId: this.backend.id, label: LABEL };
      const release = await takeLease(this.store.records, scope, DEFAULT_COMPACTION_TIMEOUT + SPARE_TIME);
      if (release === null) return;
      try {
        await this.#generate(messages);
      } finally {
        await release();
      }
    } catch (error) {
      this.events.emitError(error);
    }
  }

  async #generate(messages: readonly SessionMessage[]): Promise<void> {
    // Another process may have named it meanwhile.
    const present = await this.#present();
    if (present === null) return;
    const { records, sessions } = this.store;
    const scope = { sessionId: this.backend.id, label: LABEL };
    const failures = (await records.get(scope, FAILURES))?.value[0] ?? 0;
    this.#isDone = failures >= MAX_FAILURES;
    if (this.#isDone) return;
    try {
      const late = `The title function gave no answer within ${DEFAULT_COMPACTION_TIMEOUT} ms.`;
      const given = (async () => this.generate(buildTitlePrompt(messages), messages))();
      const answer = await answerWithin(given, DEFAULT_COMPACTION_TIMEOUT, late);
      const name = titleIn(String(answer ?? ""));
      this.#isDone = name !== "";
      if (name === "") return;
      const { name: stored } = await sessions.update(this.backend.id, { name, expectedName: present });
      if (stored === name) this.events.emit({ type: "title", name });
    } catch (error) {
      await records.set(scope, FAILURES, new Uint8Array([failures + 1]));
      throw error;
    }
  }

  // The name that is none yet: the id, as a session is registered by its first message. Null where it has one.
  async #present(): Promise<string | null> {
    const info = await this.store.sessions.get(this.backend.id);
    if (info === null) return null;
    const isNamed = info.name !== info.id && info.name.trim() !== "";
    this.#isDone = isNamed;
    return isNamed ? null : info.name;
  }

  async #first(): Promise<SessionMessage[]> {
    const messages: SessionMessage[] = [];
    for await (const message of this.backend.stream({ summaries: false, onCorrupt: "skip" })) {
      messages.push(message);
      if (messages.length === FIRST) break;
    }
    return messages;
  }
}

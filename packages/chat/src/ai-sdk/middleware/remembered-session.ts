import { defer, givenMessage, perObject, Queue } from "@stemma/model";
import { coreOf, type PrepareTurnOptions, type SessionManager } from "@stemma/session";
import type { KeptWrite } from "@stemma/store";
import { placePrompt, splitPrompt } from "./place-prompt.js";
import { RememberedStep, type Turn } from "./remembered-step.js";
import type { CallParams, WrappedModel } from "./sdk-types.js";
import { turnPrompt } from "./turn-prompt.js";

// What this process remembers, by store: a session may have several middlewares.
const queueOf = perObject((_store: object) => new Queue());

/** One session, as a wrapped model writes it. */
export class RememberedSession {
  /** The turn whose last step called tools; the next step goes on with it. */
  #open: Turn | null = null;

  constructor(
    private readonly sessions: SessionManager,
    private readonly id: string,
    private readonly options: PrepareTurnOptions,
    private readonly report: (error: unknown) => void,
  ) {}

  /**
   * Stores what a call of the model brings, and makes its prompt. Steps of one session in one process come one after the other:
   * the next begins when the one before is stored. Errors: the reason of an abort, and those of the store.
   */
  begin(params: CallParams, model: WrappedModel): Promise<RememberedStep> {
    const { abortSignal } = params;
    const { store } = this.sessions;
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(abortSignal?.reason);
      abortSignal?.addEventListener("abort", leave, { once: true });
      const work = async (): Promise<void> => {
        abortSignal?.throwIfAborted();
        const ended = defer();
        resolve(await this.#step(params, model, ended.resolve));
        await ended.promise;
      };
      queueOf(store.whole ?? store)
        .write(this.id, work)
        .catch(reject)
        .finally(() => abortSignal?.removeEventListener("abort", leave));
    });
  }

  async #step(params: CallParams, model: WrappedModel, release: () => void): Promise<RememberedStep> {
    await this.sessions.create("", { id: this.id });
    const session = this.sessions.getSession(this.id);
    const settled: Promise<unknown>[] = [];
    const write = async (writes: readonly KeptWrite[]): Promise<void> => {
      const written = await coreOf(session).together(writes.map(withGiven));
      settled.push(written.settled);
    };
    const split = splitPrompt(params.prompt);
    const placed = await placePrompt(session, split, write);
    const open = this.#open?.placed.answer.id === placed.answer.id ? this.#open : null;
    open?.forget();
    const prompt = open?.prompt ?? (await turnPrompt(session, placed, split, { model, params, turn: this.options }));
    const tail = await prompt.updates.before(split.tail.length === 0 ? 0 : 1, split.tail);
    const turn: Turn = { placed, prompt, forget: () => {} };
    return new RememberedStep({
      turn,
      params: { ...params, prompt: [...prompt.before, ...((tail ?? split.tail) as typeof split.tail)] },
      sessionId: this.id,
      model: model.modelId,
      write,
      report: this.report,
      ended: async (next) => {
        this.#open = next;
        release();
        // A compaction may ask the same model.
        await Promise.all(settled);
      },
    });
  }
}

function withGiven(write: KeptWrite): KeptWrite {
  if ("append" in write) return { ...write, append: write.append.map(givenMessage) };
  if ("upsert" in write) return { ...write, upsert: givenMessage(write.upsert) };
  return "update" in write ? { ...write, update: givenMessage(write.update) } : write;
}

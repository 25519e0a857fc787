import { type ErrorCode, parseTagged, StemmaError, stringifyAny } from "@stemma/model";
import type { RemoteAnswer, RemoteCall, RemoteFailure, RemoteStreamAnswer } from "@stemma/store";
import { BROKE_OFF, linesOf, lost, refusalOf } from "../answers.js";
import type { MakeRequest, RequestParts } from "../request.js";
import { isOf, piecesOf, type Sender, type TimeLimit } from "../sender.js";
import { Lanes, type Lock, type Sent } from "./lanes.js";

interface Waiting extends Sent {
  readonly n: number;
  /** As it was when the call was made. */
  readonly text: string;
  /** Sends it, where it is sent by itself. Resolves when calls behind it may be sent. */
  readonly open?: (() => Promise<void>) | undefined;
  settle(answer: RemoteAnswer): void;
  reject(error: unknown): void;
}

/** A stream that has begun. */
interface Opened {
  readonly answers: AsyncIterator<RemoteStreamAnswer>;
  readonly leafId: string | undefined;
}

/** The rest of what a call says of itself. */
export type Asked = Omit<RemoteCall, "n">;

const LINES_TYPE = "application/x-ndjson";
/** How often a stream is opened again that gives nothing before it breaks off. */
const MOST_REOPENED = 3;

/** Failures of a store that cannot be used for the moment. */
const UNDECIDED = /^(INTERNAL|STORE_(FAILED|LOCKED|CLOSED))$/;

/** Sends the calls of a store and of its users' stores. */
export class RemoteCalls {
  readonly #client = crypto.getRandomValues(new Uint32Array(4)).join("-");
  readonly #lanes = new Lanes<Waiting>();
  readonly #running = new Set<Promise<unknown>>();
  #calls = 0;
  #isFlushing = false;
  #isClosed = false;

  constructor(private readonly sender: Sender) {}

  /** Makes a call. Errors: those of the method; `CONNECTION_LOST` where no answer came: a write may be stored then. */
  call(asked: Asked, locks: readonly Lock[]): Promise<unknown> {
    return this.#enter(asked, locks, ({ resolve, reject }) => ({
      settle: (answer) => ("error" in answer ? reject(errorOf(answer.error)) : resolve(answer.value)),
    }));
  }

  /** Begins to read a stream, at once. Where it breaks off, it is opened again. */
  stream(asked: Asked, locks: readonly Lock[]): AsyncGenerator<unknown> {
    let text = "";
    const opened = this.#enter<Opened>(asked, locks, ({ resolve }, call) => {
      text = call.text;
      return { open: () => this.#open(text).then(resolve), settle: () => {} };
    });
    // Whoever iterates is told of a failure; perhaps nobody does.
    opened.catch(() => {});
    return this.#valuesOf(opened, () => parseTagged(text) as RemoteCall);
  }

  /** Refuses further calls, and waits for those that were made before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }

  #enter<T = unknown>(
    asked: Asked,
    locks: readonly Lock[],
    answering: (
      made: { readonly resolve: (value: T) => void; readonly reject: Waiting["reject"] },
      call: Pick<Waiting, "text">,
    ) => Pick<Waiting, "open" | "settle">,
  ): Promise<T> {
    const made = new Promise<T>((resolve, reject) => {
      if (this.#isClosed) throw new StemmaError("STORE_CLOSED", {}, "The remote store is closed.");
      const n = this.#calls++;
      const text = stringifyAny({ n, ...asked });
      const { open, settle } = answering({ resolve, reject }, { text });
      this.#lanes.add({ n, text, locks, size: text.length, isAlone: open !== undefined, open, settle, reject });
      this.#flush();
    });
    this.#running.add(made);
    const over = () => this.#running.delete(made);
    made.then(over, over);
    return made;
  }

  /** Sends what may be sent, once all calls of this moment are made. */
  #flush(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    queueMicrotask(() => {
      this.#isFlushing = false;
      for (let batch = this.#lanes.next(); batch.length > 0; batch = this.#lanes.next()) void this.#send(batch);
    });
  }

  #end(call: Waiting): void {
    this.#lanes.end(call);
    this.#flush();
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const open = new Map(batch.map((call) => [call.n, call]));
    try {
      const [first] = batch;
      if (first?.open !== undefined) await first.open();
      else await this.#exchange(open);
    } catch (error) {
      for (const call of open.values()) call.reject(error);
    }
    for (const call of open.values()) this.#end(call);
  }

  /** Sends calls until each has an answer. */
  #exchange(open: Map<number, Waiting>): Promise<void> {
    let sent = 0;
    const [batch] = open.keys();
    const make: MakeRequest = (bearer, signal) => {
      const texts = Array.from(open.values(), ({ text }) => text);
      sent += 1;
      return this.#request(`${sent > 1 ? '"again":true,' : ""}"batch":${batch},"calls":[${texts}]`, bearer, signal);
    };
    return this.sender.send(make, async (response, limit) => {
      for await (const answer of answersOf<RemoteAnswer>(response, limit)) {
        const call = open.get(answer.n);
        if (call === undefined) continue;
        // The server could not look whether it was done the time before.
        if (sent > 1 && "error" in answer && UNDECIDED.test(answer.error.code)) continue;
        open.delete(answer.n);
        call.settle(answer);
        this.#end(call);
      }
      if (open.size > 0) throw lost(BROKE_OFF);
    });
  }

  #open(text: string): Promise<Opened> {
    return this.sender.send(
      (bearer, signal) => this.#request(`"calls":[${text}]`, bearer, signal),
      async (response, limit) => {
        const answers = answersOf<RemoteStreamAnswer>(response, limit);
        const { value: first } = await answers.next();
        if (first === undefined) throw lost(BROKE_OFF);
        if ("error" in first) throw errorOf(first.error);
        return { answers, leafId: (first as { leafId?: string }).leafId };
      },
    );
  }

  async *#valuesOf(opened: Promise<Opened>, callOf: () => RemoteCall): AsyncGenerator<unknown> {
    let { answers, leafId } = await opened;
    let reopened = 0;
    try {
      for (let skip = 0; ; ) {
        const { value: answer } = await answers.next().catch((error: unknown) => {
          if (reopened === MOST_REOPENED || !StemmaError.isInstance(error, "CONNECTION_LOST")) throw error;
          return { value: undefined };
        });
        if (answer === undefined) {
          if (reopened === MOST_REOPENED) throw lost(BROKE_OFF);
          reopened += 1;
          const call = callOf();
          const values = leafId === undefined ? call.values : [{ ...(call.values[0] as object), leafId }];
          ({ answers } = await this.#open(stringifyAny({ ...call, values, skip })));
        } else if ("error" in answer) throw errorOf(answer.error);
        else if ("end" in answer) return;
        else {
          skip += 1;
          reopened = 0;
          yield (answer as { value: unknown }).value;
        }
      }
    } finally {
      await answers.return?.();
    }
  }

  #request(fields: string, bearer: string | undefined, signal: AbortSignal): RequestParts {
    return [
      `${this.sender.baseUrl}/v1/rpc`,
      {
        method: "POST",
        signal,
        headers: {
          "content-type": "application/json",
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        },
        body: `{"client":"${this.#client}",${fields}}`,
      },
    ];
  }
}

/** The lines of an answer. Errors: `REQUEST_REFUSED` for what is none of Stemma, `CONNECTION_LOST` where it breaks off. */
async function* answersOf<Answer>(response: Response, limit: TimeLimit): AsyncGenerator<Answer> {
  if (!isOf(response, LINES_TYPE)) throw refusalOf(response, await limit.within(response.text()));
  // An empty line is a sign of life.
  for await (const line of linesOf(piecesOf(response, limit))) if (line !== "") yield parseTagged(line) as Answer;
}

/** The error of a call: a fault of the server is one of the store that the program has. */
function errorOf({ code, message, details, cause }: RemoteFailure): StemmaError {
  const told = cause === undefined ? {} : { cause: Object.assign(new Error(cause.message), { name: cause.name }) };
  return new StemmaError((code === "INTERNAL" ? "STORE_FAILED" : code) as ErrorCode, details, message, told);
}

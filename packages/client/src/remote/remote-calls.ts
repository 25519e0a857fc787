import { type ErrorCode, parseTagged, StemmaError, stringifyAny } from "@stemma/model";
import type { RemoteAnswer, RemoteCall, RemoteFailure, RemoteStreamAnswer } from "@stemma/store";
import { lost } from "../failures.js";
import { linesOf } from "../lines.js";
import { piecesOf, type Sender } from "../sender.js";
import { Lanes, type Sent } from "./lanes.js";
import type { Lock } from "./remote-locks.js";

interface Waiting extends Sent {
  readonly n: number;
  /** As it was when the call was made. */
  readonly text: string;
  /** Sends it, where it does not stand in a request with others. Resolves when calls behind it may be sent. */
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
    return this.#enter((wait) => ({ ...this.#written(asked, locks), ...wait }));
  }

  /** Begins to read a stream, at once. Where it breaks off, it is opened again. */
  stream(asked: Asked, locks: readonly Lock[]): AsyncGenerator<unknown> {
    const opened = this.#enter<Opened>((wait) => ({
      ...this.#written(asked, locks),
      ...wait,
      isAlone: true,
      open: () => this.#open(asked).then(wait.resolve),
    }));
    // Whoever iterates is told of a failure; perhaps nobody does.
    opened.catch(() => {});
    return this.#valuesOf(opened, asked);
  }

  /** Refuses further calls, and waits for those that were made before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }

  #written(asked: Asked, locks: readonly Lock[]): Pick<Waiting, "n" | "text" | "size" | "locks"> {
    const n = this.#calls++;
    const text = stringifyAny({ n, ...asked });
    return { n, text, size: text.length, locks };
  }

  #enter<T = unknown>(
    waitingOf: (wait: {
      resolve: (value: T) => void;
      settle: Waiting["settle"];
      reject: Waiting["reject"];
      isAlone: boolean;
    }) => Waiting,
  ): Promise<T> {
    const made = new Promise<T>((resolve, reject) => {
      if (this.#isClosed) throw new StemmaError("STORE_CLOSED", {}, "The remote store is closed.");
      const settle = (answer: RemoteAnswer) =>
        "error" in answer ? reject(errorOf(answer.error)) : resolve(answer.value as T);
      this.#lanes.add(waitingOf({ resolve, settle, reject, isAlone: false }));
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
    let again = "";
    const make = (bearer: string | undefined, signal: AbortSignal) => {
      const texts = Array.from(open.values(), ({ text }) => text);
      const request = this.#request(`${again}"calls":[${texts}]`, bearer, signal);
      again = '"again":true,';
      return request;
    };
    return this.sender.send(make, async (response, limit) => {
      for await (const line of linesOf(piecesOf(response, limit))) {
        // A sign of life.
        if (line === "") continue;
        const answer = parseTagged(line) as RemoteAnswer;
        const call = open.get(answer.n);
        if (call === undefined) continue;
        open.delete(answer.n);
        call.settle(answer);
        this.#end(call);
      }
      if (open.size > 0) throw lost("The answer broke off.");
    });
  }

  async #open(asked: Asked): Promise<Opened> {
    const text = stringifyAny({ n: this.#calls++, ...asked });
    return this.sender.send(
      (bearer, signal) => this.#request(`"calls":[${text}]`, bearer, signal),
      async (response, limit) => {
        const answers = answersOf(linesOf(piecesOf(response, limit)));
        const { value: first } = await answers.next();
        if (first === undefined) throw lost("The answer broke off.");
        if ("error" in first) throw errorOf(first.error);
        return { answers, leafId: (first as { leafId?: string }).leafId };
      },
    );
  }

  async *#valuesOf(opened: Promise<Opened>, asked: Asked): AsyncGenerator<unknown> {
    let { answers, leafId } = await opened;
    try {
      for (let skip = 0; ; ) {
        const answer = await answers.next().catch((error: unknown) => {
          if (!StemmaError.isInstance(error, "CONNECTION_LOST")) throw error;
          return { value: undefined };
        });
        if (answer.value === undefined) {
          const values = leafId === undefined ? asked.values : [{ ...(asked.values[0] as object), leafId }];
          ({ answers } = await this.#open({ ...asked, values, skip }));
        } else if ("error" in answer.value) throw errorOf(answer.value.error);
        else if ("end" in answer.value) return;
        else {
          skip += 1;
          yield (answer.value as { value: unknown }).value;
        }
      }
    } finally {
      await answers.return?.();
    }
  }

  #request(fields: string, bearer: string | undefined, signal: AbortSignal): Request {
    return new Request(`${this.sender.baseUrl}/v1/rpc`, {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      },
      body: `{"client":"${this.#client}",${fields}}`,
    });
  }
}

async function* answersOf(lines: AsyncIterable<string>): AsyncGenerator<RemoteStreamAnswer> {
  for await (const line of lines) if (line !== "") yield parseTagged(line) as RemoteStreamAnswer;
}

/** The error of a call: a fault of the server is one of the store that the program has. */
function errorOf({ code, message, details, cause }: RemoteFailure): StemmaError {
  const told = cause === undefined ? {} : { cause: Object.assign(new Error(cause.message), { name: cause.name }) };
  return new StemmaError((code === "INTERNAL" ? "STORE_FAILED" : code) as ErrorCode, details, message, told);
}

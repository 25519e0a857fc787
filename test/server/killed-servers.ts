import { remote } from "../../packages/client/src/remote/remote.js";
import { Spawned } from "../cli/spawned.js";
import type { Crashing } from "./crash-rounds.js";
import { DATABASE, STATEMENTS } from "./killed-headers.js";

const HERE = "http://memory.test";

interface Running {
  readonly url: string;
  readonly process: Spawned;
}

/** Processes of `killed-server.ts`. One serves, and the next stands by until that one was killed. */
export class KilledServers {
  #serving: Promise<Running>;
  #next: Promise<Running>;

  constructor(private readonly program: string) {
    this.#serving = this.#start();
    this.#next = this.#start();
  }

  /** The servers of a file. */
  open(path: string): Crashing {
    let plan: string | undefined;
    const servers = {
      hasCrashed: false,
      store: remote({
        baseUrl: HERE,
        fetch: async (request) => {
          const serving = this.#serving;
          const { url, process } = await serving;
          const { method, headers } = request;
          headers.set(DATABASE, path);
          if (plan !== undefined) headers.set(STATEMENTS, plan);
          const body = await request.text();
          try {
            const response = await fetch(request.url.replace(HERE, url), { method, headers, body });
            return new Response(await response.arrayBuffer(), response);
          } catch (error) {
            if ((await process.ended).signal !== "SIGKILL")
              throw new Error("The server ended otherwise.", { cause: process.err });
            plan = undefined;
            servers.hasCrashed = true;
            if (this.#serving === serving) this.#replace();
            throw error;
          }
        },
      }),
      planCrash: (statements: number) => {
        plan = String(statements);
      },
      close: () => servers.store.close(),
    };
    return servers;
  }

  async stop(): Promise<void> {
    for (const running of [this.#serving, this.#next]) (await running).process.stop("SIGKILL");
  }

  #replace(): void {
    this.#serving = this.#next;
    this.#next = this.#start();
  }

  async #start(): Promise<Running> {
    const process = new Spawned(this.program, [], { ...globalThis.process.env, NODE_NO_WARNINGS: "1" });
    while (process.lines.length === 0) {
      if (process.err !== "") throw new Error(process.err);
      await new Promise((wake) => setTimeout(wake, 10));
    }
    return { url: String(process.lines[0]?.url), process };
  }
}

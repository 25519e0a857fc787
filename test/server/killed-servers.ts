import { remote } from "../../packages/client/src/remote/remote.js";
import { type Served, startServed } from "../cli/served.js";
import type { Place } from "./crash-places.js";
import type { Crashing } from "./crash-rounds.js";
import { STATEMENTS, TENANT } from "./killed-headers.js";
import { answerOf, type Fetch } from "./remote-target.js";

const HERE = "http://memory.test";
/** As many stand by as start while a call is made. */
const STANDING_BY = 2;

/** Processes of `stemma serve`. One serves until it was killed, and the next has had no request. */
export class KilledServers {
  readonly #ready: Promise<Served>[] = [];

  /** `program` is the command; `args` name the stores of the tenants, and the module that kills. */
  constructor(
    private readonly program: string,
    private readonly args: readonly string[],
  ) {
    this.#start();
  }

  /** The servers of a place. */
  open({ tenant }: Place): Crashing {
    let plan: string | undefined;
    const send: Fetch = async (request) => {
      const serving = this.#ready[0] as Promise<Served>;
      const { url, process } = await serving;
      const { method, headers } = request;
      headers.set(TENANT, tenant);
      if (plan !== undefined) headers.set(STATEMENTS, plan);
      const body = method === "GET" ? null : await request.text();
      try {
        const response = await fetch(request.url.replace(HERE, url), { method, headers, body });
        return answerOf(await response.arrayBuffer(), response);
      } catch (error) {
        if ((await process.ended).signal !== "SIGKILL") {
          throw new Error("The server ended otherwise.", { cause: process.err });
        }
        plan = undefined;
        servers.hasCrashed = true;
        if (this.#ready[0] === serving) {
          this.#ready.shift();
          this.#start();
        }
        throw error;
      }
    };
    const servers = {
      hasCrashed: false,
      fetch: send,
      store: remote({ baseUrl: HERE, fetch: send }),
      planCrash: (statements: number) => {
        plan = String(statements);
      },
      close: () => servers.store.close(),
    };
    return servers;
  }

  async stop(): Promise<void> {
    for (const { process } of await Promise.all(this.#ready)) {
      process.stop("SIGKILL");
      await process.ended;
    }
  }

  #start(): void {
    while (this.#ready.length <= STANDING_BY) {
      const options = ["--audit-days", "0", "--rate-limit", "100000000", "--max-body-mb", "64"];
      this.#ready.push(startServed(this.program, [...this.args, ...options]));
    }
  }
}

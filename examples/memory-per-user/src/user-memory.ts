import { DurableObject } from "cloudflare:workers";
import { SessionManager, type SessionMessage, StemmaError } from "stemma";
import { durableObject } from "stemma/durable-object";

const DAY = 24 * 60 * 60 * 1000;
const UPKEEP_EVERY = 7 * DAY;
const RETENTION = { olderThan: 90 * DAY, keepMessages: 10_000 };

/** What the last upkeep did. */
interface Upkeep {
  readonly at: string;
  /** False if the check found damage, or if `error` says why it did not end. */
  readonly ok: boolean;
  readonly deleted?: object;
  readonly problems?: object[];
  readonly error?: string;
}

/** All sessions of one user. */
export class UserMemory extends DurableObject {
  readonly #store = durableObject(this.ctx);
  readonly #sessions = SessionManager.create(this.#store);
  #upkeepIsPlanned = false;

  override async fetch(request: Request): Promise<Response> {
    try {
      return Response.json(await this.#answer(request));
    } catch (error) {
      if (error instanceof StemmaError) return Response.json({ error: error.code }, { status: 400 });
      throw error;
    }
  }

  async #answer(request: Request): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url);
    const [, resource, id] = pathname.split("/").map(decodeURIComponent);
    const cursor = searchParams.get("cursor") ?? undefined;
    switch (`${request.method} ${resource}`) {
      case "POST sessions":
        await this.#planUpkeep();
        return this.#sessions.append(String(id), (await request.json()) as SessionMessage);
      case "GET sessions":
        // At most a megabyte of the newest messages.
        if (id) return this.#sessions.getSession(id).getRecentHistory(1_000_000);
        return this.#sessions.listPage({ limit: 50, cursor });
      case "GET search":
        return this.#sessions.searchPage(searchParams.get("q") ?? "", { cursor });
      case "GET upkeep":
        return (await this.ctx.storage.get<Upkeep>("upkeep")) ?? null;
      default:
        throw new StemmaError("INVALID_ARGUMENT", {}, "There is nothing at this address.");
    }
  }

  async #planUpkeep(): Promise<void> {
    if (this.#upkeepIsPlanned) return;
    this.#upkeepIsPlanned = true;
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now() + UPKEEP_EVERY);
  }

  /** Removes what is too old, and looks for damage in what is left. */
  override async alarm(): Promise<void> {
    await this.ctx.storage.put("upkeep", await this.#upkeep());
    const { sessions } = await this.#sessions.listPage({ limit: 1 });
    // An object without sessions may sleep until it is written to.
    this.#upkeepIsPlanned = sessions.length > 0;
    if (this.#upkeepIsPlanned) await this.ctx.storage.setAlarm(Date.now() + UPKEEP_EVERY);
  }

  async #upkeep(): Promise<Upkeep> {
    const at = new Date().toISOString();
    try {
      const { deleted } = await this.#sessions.retain(RETENTION);
      const report = await this.#store.check?.();
      return { at, ok: report?.ok === true, deleted, problems: report?.problems.slice(0, 20) };
    } catch (error) {
      return { at, ok: false, error: String(error) };
    }
  }
}

import { DurableObject } from "cloudflare:workers";
import { createAnthropic } from "@ai-sdk/anthropic";
import { SessionManager } from "stemma";
import { type ChatHandler, chatHandler } from "stemma/ai-sdk";
import { durableObject } from "stemma/durable-object";

interface Env {
  readonly CHATS: DurableObjectNamespace<Chats>;
  readonly ANTHROPIC_API_KEY: string;
}

/** Who sends the request, by your own means; null answers 401. */
function userOf(_request: Request): string | null {
  return "me";
}

/** All chats of one user. */
export class Chats extends DurableObject<Env> {
  readonly #handler: ChatHandler;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const sessions = SessionManager.create(durableObject(ctx))
      .withContext("memory", { description: "What you know about the user", maxTokens: 1000, scope: "user" })
      .withCachedPrompt();
    this.#handler = chatHandler({
      sessions,
      model: createAnthropic({ apiKey: env.ANTHROPIC_API_KEY })("claude-sonnet-5-5"),
      authenticate: (request) => {
        const userId = userOf(request);
        return userId === null ? null : { userId };
      },
    });
  }

  // An answer goes on when the reader leaves: the object stays alive for it.
  override fetch(request: Request): Promise<Response> {
    return this.#handler(request, { waitUntil: (work) => this.ctx.waitUntil(work) });
  }
}

export default {
  fetch(request, env) {
    const userId = userOf(request);
    if (userId === null) return new Response("Sign in first.", { status: 401 });
    return env.CHATS.getByName(userId).fetch(request);
  },
} satisfies ExportedHandler<Env>;

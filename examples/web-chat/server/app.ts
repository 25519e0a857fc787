import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { secureHeaders } from "hono/secure-headers";
import type { CompactFunction, SessionManager } from "stemma";
import { chatHandler } from "stemma/ai-sdk";
import type { Me } from "../shared/api";
import type { Chats } from "./chats";
import { factsOf, forgetTool } from "./memory";
import type { ChatModel } from "./model";
import { signInRoutes, userOf } from "./users";

/** A chat is learned from when it was not written to for so many milliseconds, after the next answer. */
const LEARN_AFTER = Number(process.env.LEARN_AFTER || 0);

/** The routes of the app: `/api/chat` as `stemma/ai-sdk` serves it, the app's own beside it, and the page. */
export function createApp({ store, manager, compactNow }: Chats, model: ChatModel): Hono {
  const handler = chatHandler({
    sessions: manager,
    model: ({ session, userId }) => model.forChat(session, () => factsOf(store, userId)),
    tools: ({ userId }) => ({ forget_facts: forgetTool(store, userId) }),
    recall: { maxTokens: 500 },
    learn: { idleFor: LEARN_AFTER },
    // After a crash an answer can be continued when its lease has ended.
    lease: 5000,
    authenticate: (request) => {
      const userId = userOf(request);
      return userId === null ? null : { userId };
    },
    onError: (error) => {
      console.error(error);
      return error instanceof Error ? error.message : String(error);
    },
  });

  // A server of its own waits for nothing: the process goes on.
  const chat = (request: Request) => handler(request, { waitUntil: () => {} });

  const app = new Hono();
  app.use(secureHeaders({ contentSecurityPolicy: POLICY }));
  app.all("/api/chat/*", (context) => chat(context.req.raw));
  app.all("/api/chat", (context) => chat(context.req.raw));
  app.get("/api/me", (context) => context.json<Me>({ user: userOf(context.req.raw), model: model.name }));
  app.route("/api", signInRoutes());
  app.route("/api", userRoutes(manager, compactNow));
  app.use("/assets/*", serveStatic({ root: "dist" }));
  app.use("/icon.svg", serveStatic({ root: "dist" }));
  app.get("*", serveStatic({ path: "dist/index.html" }));
  return app;
}

const POLICY = {
  defaultSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  // A picture from elsewhere would tell that server what the model wrote into its address.
  imgSrc: ["'self'", "data:"],
};

/** What the app knows of the signed-in user, beside the chats. */
function userRoutes(manager: SessionManager, compactNow: CompactFunction) {
  const signedIn = createMiddleware<{ Variables: { chats: SessionManager } }>(async (context, next) => {
    const userId = userOf(context.req.raw);
    if (userId === null) return context.json({ error: { message: "Sign in first." } }, 401);
    context.set("chats", manager.forUser(userId));
    await next();
  });
  return new Hono().post("/compact/:id", signedIn, async ({ var: { chats }, req, json, body }) => {
    const id = req.param("id");
    if ((await chats.get(id)) === null) return body(null, 404);
    const session = chats.getSession(id);
    const made = await compactNow(await session.getHistory());
    if (made !== null) await session.addCompaction(made.summary, made.fromMessageId, made.toMessageId);
    return json({ compacted: made !== null });
  });
}

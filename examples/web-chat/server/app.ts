import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { secureHeaders } from "hono/secure-headers";
import type { CompactFunction, SessionManager } from "stemma";
import { chatHandler } from "stemma/ai-sdk";
import type { Me } from "../shared/api";
import type { Chats } from "./chats";
import { forgetFact, restoreMemory } from "./memory";
import type { ChatModel } from "./model";
import { signInRoutes, userOf } from "./users";

/** The routes of the app: `/api/chat` as `stemma/ai-sdk` serves it, the app's own beside it, and the page. */
export function createApp({ manager, compactNow }: Chats, model: ChatModel): Hono {
  const chat = chatHandler({
    sessions: manager,
    model: model.forChat,
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
  return new Hono()
    .post("/memory/forget", signedIn, async ({ var: { chats }, req, body }) => {
      const { fact } = await req.json<{ fact: unknown }>();
      if (typeof fact !== "string") return body(null, 400);
      await forgetFact(chats, fact);
      return body(null, 204);
    })
    .post("/memory/restore", signedIn, async ({ var: { chats }, req, body }) => {
      const { version } = await req.json<{ version: unknown }>();
      if (typeof version !== "number") return body(null, 400);
      await restoreMemory(chats, version);
      return body(null, 204);
    })
    .post("/leave/:id", signedIn, async ({ var: { chats }, req, body }) => {
      const id = req.param("id");
      if ((await chats.get(id)) !== null) await chats.getSession(id).close();
      return body(null, 204);
    })
    .post("/compact/:id", signedIn, async ({ var: { chats }, req, json, body }) => {
      const id = req.param("id");
      if ((await chats.get(id)) === null) return body(null, 404);
      const session = chats.getSession(id);
      const made = await compactNow(await session.getHistory());
      if (made !== null) await session.addCompaction(made.summary, made.fromMessageId, made.toMessageId);
      return json({ compacted: made !== null });
    });
}

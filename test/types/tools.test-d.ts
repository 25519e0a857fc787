// The tools of a session are known by the blocks that it was given. Nothing here runs: TypeScript checks it.
import {
  type ContextProvider,
  type SearchProvider,
  Session,
  SessionManager,
  type SessionTool,
  type SkillProvider,
  type WritableContextProvider,
} from "stemma/session";
import { expectTypeOf } from "vitest";
import { z } from "zod";

declare const host: object;
declare const read: ContextProvider;
declare const written: WritableContextProvider;
declare const searched: SearchProvider;
declare const skills: SkillProvider;
declare function take(session: Session): void;

const none = await Session.create(host).withContext("soul", { provider: read }).tools();
expectTypeOf(none.set_context).toEqualTypeOf<SessionTool | undefined>();

// A block without a provider is stored, and the model may write it.
const stored = await Session.create(host).withContext("memory", { maxTokens: 100 }).tools();
expectTypeOf(stored.set_context).toEqualTypeOf<SessionTool>();

const all = await Session.create(host)
  .withContext("memory", { provider: written })
  .withContext("facts", { provider: searched })
  .withContext("skills", { provider: skills })
  .withExpandableSummaries()
  .withCachedPrompt()
  .compactAfter(1000)
  .forSession("one")
  .tools();
for (const name of ["set_context", "search_context", "load_context", "unload_context", "expand_summary"] as const) {
  expectTypeOf(all[name]).toEqualTypeOf<SessionTool>();
}
expectTypeOf(all.set_context.execute).returns.resolves.toBeString();

// A block of a schema is read with its type.
const typed = Session.create(host)
  .withContext("profile", { schema: z.object({ name: z.string(), age: z.number() }) })
  .withContext("memory")
  .withContext("plan", { schema: z.object({ steps: z.array(z.string()) }) });
expectTypeOf(await typed.readContextValue("profile")).toEqualTypeOf<{ name?: string; age?: number } | null>();
expectTypeOf(await typed.readContextValue("plan")).toEqualTypeOf<{ steps?: string[] } | null>();
expectTypeOf(await typed.readContextValue("memory")).toEqualTypeOf<Record<string, unknown> | null>();
expectTypeOf((await typed.tools()).set_context).toEqualTypeOf<SessionTool>();

// Where any session is wanted, one whose tools are known will do.
take(Session.create(host).withContext("memory"));
expectTypeOf((await SessionManager.create(host).tools()).session_search).toEqualTypeOf<SessionTool>();

// @ts-expect-error no such option
Session.create(host).withContext("memory", { maxToken: 5 });
// @ts-expect-error a provider can be read
Session.create(host).withContext("memory", { provider: { set: async () => {} } });

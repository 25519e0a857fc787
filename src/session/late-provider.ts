import { methodsOf, via } from "../storage/hand-over.js";
import { sharedMethods } from "../storage/late-session.js";
import { LoadedLater } from "../storage/loaded-later.js";
import type { SkillLog } from "../tools/access.js";
import type { SessionBackend, SessionProvider } from "./provider.js";

// One for all sessions: so their calls reach a provider that they share in the order in which they were made.
const code = new LoadedLater(async () => {
  const [{ providerBackend }, { providerSkillLog }] = await Promise.all([
    import("./provider-backend.js"),
    import("./provider-skill-log.js"),
  ]);
  return { providerBackend, providerSkillLog };
});

/** `providerBackend` and its skills, whose code is loaded with the first call: a session of a store never needs it. */
export function lateProvider(
  provider: SessionProvider,
  sessionId: string,
): { readonly backend: SessionBackend; readonly skills: SkillLog } {
  const opened = via(code.call, ({ providerBackend, providerSkillLog }) => {
    const skills = providerSkillLog(provider);
    return { skills, backend: providerBackend(provider, sessionId, skills) };
  });
  const call = via(opened, ({ backend }) => backend);
  const log = via(opened, ({ skills }) => skills);
  return {
    backend: {
      id: sessionId,
      ...sharedMethods(call),
      ...methodsOf(call, "rowStats"),
    },
    skills: methodsOf(log, "load", "loaded", "unload"),
  };
}

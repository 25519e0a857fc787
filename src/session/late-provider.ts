import { LoadedLater, valuesOf, via } from "../storage/loaded-later.js";
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
      message: (...given) => call(given, (backend, kept) => backend.message(...kept)),
      path: (...given) => call(given, (backend, kept) => backend.path(...kept)),
      stream: (...given) => valuesOf(call, given, (backend, kept) => backend.stream(...kept)),
      recent: (...given) => call(given, (backend, kept) => backend.recent(...kept)),
      rowStats: (...given) => call(given, (backend, kept) => backend.rowStats(...kept)),
      leaf: (...given) => call(given, (backend, kept) => backend.leaf(...kept)),
      branches: (...given) => call(given, (backend, kept) => backend.branches(...kept)),
      parent: (...given) => call(given, (backend, kept) => backend.parent(...kept)),
      siblings: (...given) => call(given, (backend, kept) => backend.siblings(...kept)),
      length: (...given) => call(given, (backend, kept) => backend.length(...kept)),
      tokens: (...given) => call(given, (backend, kept) => backend.tokens(...kept)),
      tree: (...given) => call(given, (backend, kept) => backend.tree(...kept)),
      append: (...given) => call(given, (backend, kept) => backend.append(...kept)),
      appendSibling: (...given) => call(given, (backend, kept) => backend.appendSibling(...kept)),
      upsert: (...given) => call(given, (backend, kept) => backend.upsert(...kept)),
      update: (...given) => call(given, (backend, kept) => backend.update(...kept)),
      delete: (...given) => call(given, (backend, kept) => backend.delete(...kept)),
      clear: (...given) => call(given, (backend, kept) => backend.clear(...kept)),
      setActiveLeaf: (...given) => call(given, (backend, kept) => backend.setActiveLeaf(...kept)),
      rewindTo: (...given) => call(given, (backend, kept) => backend.rewindTo(...kept)),
      selectBranch: (...given) => call(given, (backend, kept) => backend.selectBranch(...kept)),
      compactions: (...given) => call(given, (backend, kept) => backend.compactions(...kept)),
      addCompaction: (...given) => call(given, (backend, kept) => backend.addCompaction(...kept)),
      removeCompaction: (...given) => call(given, (backend, kept) => backend.removeCompaction(...kept)),
      originals: (...given) => call(given, (backend, kept) => backend.originals(...kept)),
      search: (...given) => call(given, (backend, kept) => backend.search(...kept)),
    },
    skills: {
      load: (...given) => log(given, (skills, kept) => skills.load(...kept)),
      loaded: (...given) => log(given, (skills, kept) => skills.loaded(...kept)),
      unload: (...given) => log(given, (skills, kept) => skills.unload(...kept)),
    },
  };
}

import type { SessionBackend, SessionProvider } from "./provider.js";
import type { ProviderSkillLog } from "./provider-skill-log.js";

const CALLS = [
  "message",
  "path",
  "recent",
  "rowStats",
  "leaf",
  "branches",
  "parent",
  "siblings",
  "length",
  "tokens",
  "tree",
  "append",
  "appendSibling",
  "upsert",
  "update",
  "delete",
  "clear",
  "setActiveLeaf",
  "rewindTo",
  "selectBranch",
  "compactions",
  "addCompaction",
  "removeCompaction",
  "originals",
  "search",
] as const satisfies readonly (keyof SessionBackend)[];

type Call = (...given: unknown[]) => Promise<unknown>;

/** One for all sessions: so their calls reach a provider that they share in the order in which they were made. */
let code: Promise<typeof import("./provider-backend.js")> | undefined;

/** `providerBackend`, whose code is loaded with the first call: a session of a store never needs it. */
export function loadedBackend(
  provider: SessionProvider,
  sessionId: string,
  skills: Pick<ProviderSkillLog, "emptied" | "clear">,
): SessionBackend {
  let made: SessionBackend | undefined;
  const withBackend = <T>(use: (backend: SessionBackend) => T | Promise<T>): Promise<T> => {
    code ??= import("./provider-backend.js");
    return code.then(({ providerBackend }) => {
      made ??= providerBackend(provider, sessionId, skills);
      return use(made);
    });
  };
  const calls = CALLS.map((name): [string, Call] => [
    name,
    (...given) => withBackend((backend) => (backend[name] as Call)(...given)),
  ]);
  return {
    ...(Object.fromEntries(calls) as unknown as Pick<SessionBackend, (typeof CALLS)[number]>),
    id: sessionId,
    stream(options) {
      // Reads what is there now, and not when it is first asked for a message.
      const stream = withBackend((backend) => backend.stream(options));
      stream.catch(() => {});
      return (async function* () {
        yield* await stream;
      })();
    },
  };
}

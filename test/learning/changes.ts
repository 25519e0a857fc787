import type { LearnEdit, LearnRequest } from "../../packages/stemma/src/session.js";
import { AgentSearchProvider, SessionManager } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";

const NAMES = [
  "Maya",
  "Tom",
  "Ines",
  "Jonas",
  "Aisha",
  "Pedro",
  "Lena",
  "Omar",
  "Nora",
  "Felix",
  "Sofia",
  "Hugo",
  "Greta",
];
const MORE = ["Ravi", "Clara", "Milan", "Yuki", "Diego", "Emma", "Karim", "Olga", "Bruno", "Tessa", "Noah", "Paula"];
const PEOPLE = [...NAMES, ...MORE];

/** What is known of someone, and what is said when it is true no more: the two share hardly a word. */
const CHANGES: readonly (readonly [subject: string, before: string, after: string])[] = [
  ["home", "lives in Berlin.", "has moved to Lisbon."],
  ["work", "is employed by Siemens.", "started a new job at Bosch."],
  ["partner", "is dating Alex.", "got engaged to Kim."],
  ["pet", "has a cat called Tiger.", "adopted a puppy instead, the old one is gone."],
  ["diet", "eats everything.", "turned vegan."],
  ["vehicle", "drives a red Fiat.", "sold it and goes by bike."],
  ["study", "studies physics.", "graduated, no more university."],
  ["sport", "plays tennis on Sundays.", "gave that up for running."],
  ["music", "plays the guitar.", "only sings in a band these days."],
  ["device", "uses an Android phone.", "switched to an iPhone."],
];
/** What stays. */
const OTHERS = [
  "likes the sea",
  "collects stamps",
  "was born in May",
  "reads novels",
  "hates early mornings",
  "paints",
];
const STAYING = [...OTHERS, "has two brothers", "grew up on a farm", "speaks French", "laughs a lot"];

const keyOf = (name: string, subject: string) => `${name.toLowerCase()}-${subject}`;
const SCOPE = { sessionId: "", label: "facts", scope: "user" } as const;

export interface Measured {
  /** The share of changes of which the predecessor was shown. */
  readonly shown: number;
  /** The share of the other entries that were closed. */
  readonly closedWithoutCause: number;
  /** Ended facts that a search or a list gives. */
  readonly endedInResults: number;
  readonly closed: number;
  readonly changes: number;
}

/** Learns changes of 500 facts with a function that would close `named` of what it was shown. */
export async function measureChanges(
  everything: Store,
  named: (request: LearnRequest, predecessor: string) => string[],
): Promise<Measured> {
  const store = everything.forUser("ada");
  for (const name of PEOPLE) {
    const facts = [
      ...CHANGES.map(([subject, before]) => [subject, before]),
      ...STAYING.map((each, n) => [`other${n}`, `${each}.`]),
    ];
    for (const [subject = "", text] of facts) {
      const key = keyOf(name, subject);
      const fields = { validFrom: "2024-01-01", tags: [`subject:${key}`], origin: "learning" as const };
      await store.entries.set(SCOPE, { key, content: `${name} ${text}`, ...fields });
    }
  }
  const changes = PEOPLE.flatMap((name, n) =>
    [CHANGES[n % 10], CHANGES[(n + 3) % 10]].map((change) => ({ name, change: change as (typeof CHANGES)[number] })),
  );
  let current = { key: "", text: "" };
  let shown = 0;
  const manager = SessionManager.create(store)
    .withContext("facts", { provider: new AgentSearchProvider(store, { scope: "user" }) })
    .onLearning(async (request) => {
      if (request.entries.some(({ key }) => key === current.key)) shown += 1;
      const edit: LearnEdit = {
        action: "add",
        label: "facts",
        key: `${current.key} now`,
        content: current.text,
        subject: current.key,
        supersedes: named(request, current.key),
        messageIds: request.messages.map(({ id }) => id),
      };
      return [edit];
    });
  for (const [n, { name, change }] of changes.entries()) {
    const [subject, , after] = change;
    current = { key: keyOf(name, subject), text: `${name} ${after}` };
    const session = manager.getSession(`s${n}`);
    const text = `By the way, I saw ${name} yesterday. ${name} ${after} Can you remind me to call?`;
    await session.appendMessage({
      id: `m${n}`,
      role: "user",
      createdAt: "2026-05-01T00:00:00.000Z",
      parts: [{ type: "text", text }],
    });
    await session.close();
  }
  const all = await store.entries.list(SCOPE, { includeEnded: true, limit: 1000 });
  const ended = all.filter(({ validTo }) => validTo !== null).map(({ key }) => key);
  const changed = new Set(changes.map(({ name, change: [subject] }) => keyOf(name, subject)));
  const unfounded = ended.filter((key) => !changed.has(key)).length;
  const given = (await store.entries.list(SCOPE, { limit: 1000 })).map(({ key }) => key);
  for (const { name, change } of changes) {
    const found = await store.entries.search(SCOPE, `${name} ${change[1]}`, { limit: 20 });
    given.push(...found.map(({ key }) => key));
  }
  return {
    shown: shown / changes.length,
    closedWithoutCause: unfounded / (all.length - changed.size),
    endedInResults: given.filter((key) => ended.includes(key)).length,
    closed: ended.length - unfounded,
    changes: changed.size,
  };
}

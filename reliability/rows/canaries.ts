import { message } from "../../packages/conformance/src/samples.js";
import { postgres } from "../../packages/postgres/src/postgres.js";
import { type Session, SessionManager } from "../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../packages/stemma/src/testing.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { POLICIES } from "../../test/postgres/policies.js";
import type { Row, Scene } from "../tools/row.js";
import { query } from "../tools/stores.js";

const IDS = ["x", "X", "x ", "", "%", "_", "x_", "x:1", "stemma:user:x", "'", "\\", "x\u0301", "xx", "日本"];

/** Stands for one who must not see what others have: a session, a user, a tenant. */
interface Owner {
  readonly manager: SessionManager;
  readonly chat: string;
}

const managerOn = (store: Store) => SessionManager.create(store).withContext("memory").withCachedPrompt();

async function ownersOf({ engine, place, open, postgres: server }: Scene, kind: string): Promise<Owner[]> {
  const where = await place();
  const store = open(where);
  await store.migrate();
  if (kind === "sessions") return IDS.map((chat) => ({ manager: managerOn(store), chat: `s${chat}` }));
  const users = IDS.map((id) => `u${id}`);
  if (kind === "users") return users.map((user) => ({ manager: managerOn(store).forUser(user), chat: `of ${user}` }));
  if (engine !== "Postgres") return [];
  // The policies that the page shows, once every table is there.
  await postgres(where).withEmbedder(hashingEmbedder()).embeddings.backlog();
  await query(server, "DROP ROLE IF EXISTS app").catch(() => []);
  await query(where, "CREATE ROLE app LOGIN").catch(() => []);
  await query(where, POLICIES);
  const asApp = where.replace("postgres@", "app@");
  const tenants = ["acme", "globex", "initech", "umbrella"];
  return tenants.map((tenant) => ({
    manager: managerOn(postgres(`${asApp}?options=-c%20app.tenant%3D${tenant}`)),
    chat: "s",
  }));
}

/** Puts a word of the owner's own wherever a text can stand. */
async function plant({ manager, chat }: Owner, canary: string): Promise<void> {
  const session = manager.getSession(chat);
  await session.appendAll([message(`a${canary}`, `it says ${canary}`), message(`b${canary}`, canary, "assistant")]);
  await session.addCompaction(`about ${canary}`, `a${canary}`, `a${canary}`);
  await session.appendContextBlock("memory", canary);
  await manager.rename(chat, canary);
}

/** All that an owner is shown, whatever it asks for. */
async function seenBy({ manager, chat }: Owner, foreign: readonly string[], isUser: boolean): Promise<string> {
  const session: Session = manager.getSession(chat);
  const tools = await session.tools();
  const seen: unknown[] = [
    await session.getHistory(),
    await session.getTree(),
    await session.getCompactions(),
    await session.refreshSystemPrompt(),
    session.getContextBlocks(),
    // A manager of all sessions lists them all.
    isUser ? await manager.list() : [],
    Object.values(tools).map(({ description }) => description),
  ];
  for (const canary of foreign) {
    // A result's own text; what was asked for may be repeated.
    seen.push((await session.search(canary)).map(({ content }) => content));
    if (isUser) seen.push((await manager.search(canary)).map(({ content }) => content));
    seen.push(await session.getMessage(`a${canary}`));
  }
  return JSON.stringify(seen);
}

export const canaries: Row = {
  number: 25,
  portable: true,
  title: "{size} canaries of sessions, users and tenants, looked for by all the others",
  target: "0 seen",
  sizes: { SQLite: [2_000, 30], Postgres: [2_000, 30], workerd: [2_000, 0] },
  async run(scene) {
    const leaked: string[] = [];
    let planted = 0;
    const kinds = scene.engine === "Postgres" ? ["sessions", "users", "tenants"] : ["sessions", "users"];
    for (const kind of kinds) {
      const owners = await ownersOf(scene, kind);
      const own = owners.map(() => [] as string[]);
      for (let index = 0; index < Math.ceil(scene.size / kinds.length); index += 1) {
        const at = index % owners.length;
        const canary = `canary${kind}${index}x`;
        await plant(owners[at] as Owner, canary);
        own[at]?.push(canary);
        planted += 1;
      }
      for (const [at, owner] of owners.entries()) {
        const foreign = own.flatMap((list, other) => (other === at ? [] : list));
        const tried = foreign.filter((_, index) => index % 7 === at % 7);
        const seen = await seenBy(owner, tried, kind !== "sessions");
        if (!own[at]?.every((canary) => seen.includes(canary)))
          throw new Error(`${kind}: ${owner.chat} does not see its own.`);
        leaked.push(...foreign.filter((canary) => seen.includes(`${canary}`)).map((canary) => `${kind}: ${canary}`));
      }
    }
    return { figure: `${leaked.length} of ${planted} seen`, met: leaked.length === 0, details: leaked.slice(0, 5) };
  },
};

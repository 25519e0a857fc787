import { packageVersion } from "@stemma/model";
import type { SessionInfo, Store } from "@stemma/store";
import type { ChangeView, SessionList, SessionRow, SessionView, StudioInfo } from "../api.js";
import { read, type StudioCall, sessionOf } from "../route.js";

const USUAL_SESSIONS = 50;
const MOST_SESSIONS = 200;
const MOST_CHILDREN = 100;

export const sessionRoutes = [
  read("info", info),
  read("sessions", sessions),
  read("session", session),
  read("change", async (call): Promise<ChangeView> => {
    const { id } = await sessionOf(call);
    return { change: await call.store.session(id).change() };
  }),
];

async function info({ store, canWrite, hasManager }: StudioCall): Promise<StudioInfo> {
  return {
    store: store.name,
    sessions: await store.sessions.count(),
    canWrite,
    canSearch: store.capabilities.search,
    hasManager,
    version: packageVersion,
  };
}

async function sessions({ store, fields }: StudioCall): Promise<SessionList> {
  const order = fields.oneOf("order", ["change", "tokens", "cost", "messages"]);
  const page = await store.sessions.list({
    userId: fields.optionalText("user"),
    idPrefix: fields.optionalText("prefix"),
    nameContains: fields.optionalText("name"),
    orderBy: order,
    cursor: fields.optionalText("cursor"),
    limit: fields.limit(USUAL_SESSIONS, MOST_SESSIONS),
  });
  return {
    sessions: await Promise.all(page.sessions.map((each) => rowOf(store, each, order === "messages"))),
    nextCursor: page.nextCursor,
  };
}

async function session(call: StudioCall): Promise<SessionView> {
  const { store } = call;
  const info = await sessionOf(call);
  const stored = store.session(info.id);
  const [row, leaf, count, compactions, children, skills, change] = await Promise.all([
    rowOf(store, info),
    stored.leaf(),
    stored.count(),
    stored.compactions(),
    store.sessions.list({ parentSessionId: info.id, limit: MOST_CHILDREN }),
    stored.skills(),
    stored.change(),
  ]);
  return {
    session: row,
    leafId: leaf?.id ?? null,
    stored: count,
    compactions,
    children: children.sessions.map(({ id, name }) => ({ id, name })),
    skills: { loaded: skills.loaded.map(nameOf), unloaded: skills.unloaded.map(nameOf) },
    change,
  };
}

async function rowOf(store: Store, info: SessionInfo, onAllBranches = false): Promise<SessionRow> {
  const stored = store.session(info.id);
  const [messages, tokens] = await Promise.all([onAllBranches ? stored.count() : stored.length(), stored.tokens()]);
  return { ...info, messages, tokens };
}

const nameOf = ({ label, key }: { label: string; key: string }) => ({ label, key });

import type { ChatError, ChatFact, ChatFactHistory, ChatFacts, ChatList, ChatMatches } from "stemma/ai-sdk";
import useSWR, { mutate } from "swr";
import type { Me } from "../shared/api";

const CHATS = "/api/chat?limit=200";
const MEMORY = "/api/chat/memory";
const ME = "/api/me";

export const useMe = () => useSWR<Me, Error>(ME);
// A chat has its name some time after its first answer.
export const useChats = () =>
  useSWR<ChatList, Error>(CHATS, {
    refreshInterval: (list) => (list?.chats.some(({ name }) => name === "") ? 2000 : 0),
  });
// Other devices write too.
export const useFacts = () => useSWR<ChatFact[], Error>(MEMORY, readFacts, { refreshInterval: 5000 });
/** The versions of a fact, once they are wanted. */
export const useFactHistory = (fact: ChatFact, isWanted: boolean) =>
  useSWR<ChatFactHistory, Error>(isWanted ? addressOf(fact) : null);
export const useFound = (query: string) =>
  useSWR<ChatMatches, Error>(query === "" ? null : `/api/chat?limit=30&q=${encodeURIComponent(query)}`, {
    keepPreviousData: true,
  });

/** Reads again what a write has changed. */
export const refreshChats = () => mutate(CHATS);
export const refreshMemory = () => mutate((key) => typeof key === "string" && key.startsWith(MEMORY));

export async function signIn(name: string): Promise<void> {
  await send("POST", "/api/sign-in", { name });
  await mutate(() => true, undefined, { revalidate: true });
}

export async function signOut(): Promise<void> {
  await send("POST", "/api/sign-out");
  await mutate(() => true, undefined, { revalidate: true });
}

export async function deleteChat(chatId: string): Promise<void> {
  await send("DELETE", `/api/chat/${encodeURIComponent(chatId)}`);
  await refreshChats();
}

/** All facts with their versions, as a file. */
export const EXPORT = `${MEMORY}/export`;

const addressOf = ({ label, key }: FactId) => `${MEMORY}/fact?${new URLSearchParams({ label, key })}`;

async function readFacts(): Promise<ChatFact[]> {
  const facts: ChatFact[] = [];
  for (let query = "?limit=100"; ; ) {
    const page = await getJson<ChatFacts>(MEMORY + query);
    facts.push(...page.facts);
    if (page.nextCursor === null) return facts;
    query = `?limit=100&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

type FactId = Pick<ChatFact, "label" | "key">;

/** What a person changes of a fact. Times are dates; null takes one away. */
export interface FactChange {
  readonly content: string;
  readonly validFrom?: string | null;
  readonly validTo?: string | null;
}

/** Fails if the fact says something else by now than the person saw. */
export async function changeFact(fact: ChatFact, change: FactChange): Promise<void> {
  await send("PATCH", addressOf(fact), { ...change, expectedContent: fact.content }).finally(refreshMemory);
}

export async function restoreFact(fact: FactId, version: number): Promise<void> {
  await send("PATCH", addressOf(fact), { version }).finally(refreshMemory);
}

export async function forgetFact(fact: FactId): Promise<void> {
  await send("DELETE", addressOf(fact)).finally(refreshMemory);
}

/** Brings back a fact that was forgotten, as it was before. */
export async function undoForgetting(fact: FactId): Promise<void> {
  const { versions } = await getJson<ChatFactHistory>(addressOf(fact));
  const last = versions.find(({ content }) => content !== null);
  if (last !== undefined) await restoreFact(fact, last.version);
}

/** False when there is nothing to summarise yet. */
export async function compact(chatId: string): Promise<boolean> {
  const response = await send("POST", `/api/compact/${encodeURIComponent(chatId)}`);
  return ((await response.json()) as { compacted: boolean }).compacted;
}

export async function getJson<T>(path: string): Promise<T> {
  return (await send("GET", path)).json() as Promise<T>;
}

async function send(method: string, path: string, body?: object): Promise<Response> {
  const response = await fetch(path, {
    method,
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (response.ok) return response;
  const told = (await response.json().catch(() => null)) as ChatError | null;
  throw new Error(told?.error.message ?? `The server answered ${response.status}.`);
}

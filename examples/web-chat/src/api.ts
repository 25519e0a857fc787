import type { ChatError, ChatList, ChatMatches, ChatMemory } from "stemma/ai-sdk";
import useSWR, { mutate } from "swr";
import type { Me } from "../shared/api";

const CHATS = "/api/chat?limit=200";
const MEMORY = "/api/memory";
const memoryOf = (chatId: string) => `/api/chat/${encodeURIComponent(chatId)}/memory`;
const ME = "/api/me";

export const useMe = () => useSWR<Me, Error>(ME);
// A chat has its name some time after its first answer.
export const useChats = () =>
  useSWR<ChatList, Error>(CHATS, {
    refreshInterval: (list) => (list?.chats.some(({ name }) => name === "") ? 2000 : 0),
  });
// The server also learns when nobody writes.
// The memory is the user's: each chat tells it, one that has not begun too.
export const useMemory = (chatId: string) =>
  useSWR<ChatMemory, Error>(memoryOf(chatId), { refreshInterval: 5000, keepPreviousData: true });
export const useFound = (query: string) =>
  useSWR<ChatMatches, Error>(query === "" ? null : `/api/chat?limit=30&q=${encodeURIComponent(query)}`, {
    keepPreviousData: true,
  });

/** Reads again what a write has changed. */
export const refreshChats = () => mutate(CHATS);
export const refreshMemory = () => mutate((key) => typeof key === "string" && /^\/api\/chat\/[^/]+\/memory$/.test(key));

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

/** Has the server learn from a chat that is left, so that the next one knows what was said. */
export async function leaveChat(chatId: string): Promise<void> {
  await send("POST", `/api/leave/${encodeURIComponent(chatId)}`);
  await refreshMemory();
}

export async function forgetFact(fact: string): Promise<void> {
  await send("POST", `${MEMORY}/forget`, { fact });
  await refreshMemory();
}

export async function restoreMemory(version: number): Promise<void> {
  await send("POST", `${MEMORY}/restore`, { version });
  await refreshMemory();
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

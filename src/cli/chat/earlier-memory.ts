import { AgentContextProvider } from "../../context/providers/agent-context.js";
import type { Store } from "../../storage/contract.js";

/** Until chats belonged to users, one memory block served all of them: the local user, who has none yet, takes it over. */
export async function takeOverMemory(store: Store, userId: string): Promise<void> {
  const own = new AgentContextProvider(store, "memory", { scope: "user" }).forUser(userId);
  if ((await own.get()) !== null) return;
  const earlier = await new AgentContextProvider(store, "memory", { shared: true }).get();
  if (earlier) await own.set(earlier);
}

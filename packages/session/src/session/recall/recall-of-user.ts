import { StemmaError } from "@stemma/model";
import type { Store } from "@stemma/store";
import type { RecallOptions } from "./recall-options.js";

/**
 * The store and the user whose memory may be recalled: nobody recalls what is another's. `store` is null where the session is kept by
 * a provider of the host's. Errors: `STORE_UNSUPPORTED`, `SESSION_OWNED`, `USER_REQUIRED`.
 */
export function userOfRecall(
  store: Store | null,
  { userId }: RecallOptions,
  details: { readonly sessionId?: string } = {},
): { readonly store: Store; readonly userId: string } {
  if (store === null) {
    const message = "A SessionProvider of your own has no other chats to recall: keep the session in a store.";
    throw new StemmaError("STORE_UNSUPPORTED", details, message);
  }
  const own = store.userId;
  if (own !== undefined && userId !== undefined && userId !== own) {
    const message = "This is confined to another user: recall() quotes the memory of its own user only.";
    throw new StemmaError("SESSION_OWNED", details, message);
  }
  const user = userId ?? own;
  if (user !== undefined) return { store, userId: user };
  const message = "Whose memory? Pass { userId } to recall, or use forUser().";
  throw new StemmaError("USER_REQUIRED", details, message);
}

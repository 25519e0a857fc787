import { invalid } from "@stemma/model";
import type { WrappedModel } from "./sdk-types.js";

type Urls = WrappedModel["supportedUrls"];

/** The `supportedUrls` of models that remember: every model wrapped around one has the same object. */
const remembering = new WeakSet<object>();

/** The URLs of a model that is to remember. The AI SDK asks for them when it wraps one. Throws if it remembers already. */
export function markedUrls({ supportedUrls }: WrappedModel): Awaited<Urls> {
  if (remembering.has(supportedUrls))
    throw invalid("This model has a stemmaMiddleware() already: wrap it once, for one session.");
  const copy = "then" in supportedUrls ? Promise.resolve(supportedUrls) : { ...supportedUrls };
  remembering.add(copy);
  return copy as Awaited<Urls>;
}

/** Throws if a model has a `stemmaMiddleware()`, under whatever others: what `caller` stores would be stored twice. */
export function assertForgetful(model: unknown, caller: string): void {
  const { supportedUrls } = (typeof model === "object" && model !== null ? model : {}) as Partial<WrappedModel>;
  if (typeof supportedUrls === "object" && remembering.has(supportedUrls))
    throw invalid(`${caller} remembers by itself: give it the model without stemmaMiddleware().`);
}

import { isJsonObject } from "../../model/json-object.js";

/** The method with which a client of 2026-07-28 asks to be told of changes. */
export const LISTEN = "subscriptions/listen";

/** The addresses of the resources that a message asks to be told of; none for any other message. */
export function listenedUris(message: unknown): string[] {
  if (!isJsonObject(message) || message.method !== LISTEN) return [];
  const { params } = message;
  const notifications = isJsonObject(params) ? params.notifications : undefined;
  const uris = isJsonObject(notifications) ? notifications.resourceSubscriptions : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}

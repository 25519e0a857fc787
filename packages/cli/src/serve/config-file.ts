import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ChatHandlerOptions } from "@stemma/chat";
import { invalid, isJsonObject, reasonOf, StemmaError } from "@stemma/model";
import type { ServerHandler, ServerOptions } from "@stemma/server";

/** Parts that a module of --config may give beside settings: those that are no text. */
export interface ConfigParts {
  /** The model and the other options of chats. */
  readonly chat?: ServedChat;
  /** Gives each manager its blocks, its compaction and what it learns with. */
  readonly sessions?: ServerOptions["sessions"];
  /** Lets requests in by a session of your own; null leaves them to keys and tokens. */
  readonly authenticate?: (request: Request) => unknown;
  readonly handlers?: Readonly<Record<string, ServerHandler>>;
}

const PARTS = ["chat", "sessions", "authenticate", "handlers"] as const;

export interface ConfigFile {
  readonly settings: unknown;
  readonly parts: ConfigParts;
}

/**
 * Reads the file of --config: JSON, or a module whose default export has settings and parts. Errors: `INVALID_ARGUMENT` for a file
 * that cannot be read.
 */
export async function readConfig(path: string): Promise<ConfigFile> {
  const value = await (/\.json$/i.test(path) ? readJson(path) : readModule(path));
  if (!isJsonObject(value)) return { settings: value, parts: {} };
  const isPart = ([name]: [string, unknown]) => (PARTS as readonly string[]).includes(name);
  const entries = Object.entries(value);
  return {
    settings: Object.fromEntries(entries.filter((entry) => !isPart(entry))),
    parts: Object.fromEntries(entries.filter(isPart)),
  };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function readModule(path: string): Promise<unknown> {
  try {
    const { default: value } = await import(pathToFileURL(resolve(path)).href);
    return value;
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): Error {
  return invalid(`The file of --config cannot be read: ${reasonOf(error)}`, { path }, { cause: error });
}

/** The options of `chatHandler` but those that the server gives. */
export type ServedChat = Omit<ChatHandlerOptions, "sessions" | "authenticate" | "basePath" | "onError">;

/** Chats for `useChat`, at `/api/chat`: those of the user that a principal is. */
export function createChats(chat: ServedChat, onError: (error: unknown, requestId: string) => void): ServerHandler {
  return async (request, { principal, sessions, requestId }) => {
    const { userId } = principal;
    if (userId === undefined) throw new StemmaError("FORBIDDEN", {}, "Chats are a user's: use a user's key or token.");
    const { chatHandler } = await import("@stemma/chat");
    const handler = chatHandler({
      ...chat,
      sessions,
      authenticate: () => ({ userId }),
      basePath: "/api/chat",
      onError: (error) => onError(error, requestId),
    });
    return handler(request);
  };
}

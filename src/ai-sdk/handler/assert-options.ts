import { invalid, kindOf } from "../../errors.js";
import { assertKnownOptions, type OptionNames } from "../../known-options.js";
import { SessionManager } from "../../manager/session-manager.js";
import { isJsonObject } from "../../model/json-object.js";
import { assertFunction, assertFunctions, assertText, assertTexts } from "../../session/arguments.js";
import { hasMethod, otherCopy } from "../../session/assert-session.js";
import { kindOfHost } from "../../storage/store-of.js";
import { assertLimits } from "../receive/options.js";
import type { ChatHandlerOptions } from "./options.js";

const NAMES: OptionNames<ChatHandlerOptions> = {
  sessions: true,
  model: true,
  tools: true,
  authenticate: true,
  basePath: true,
  whenBusy: true,
  settings: true,
  stopWhen: true,
  origins: true,
  maxBodyBytes: true,
  lease: true,
  cacheTtl: true,
  recall: true,
  cost: true,
  messageMetadata: true,
  onError: true,
};

/** Throws `INVALID_ARGUMENT` for options with which no handler could answer. */
export function assertChatHandlerOptions(options: ChatHandlerOptions): void {
  assertKnownOptions(options, "chatHandler()", NAMES);
  const { sessions, model, stopWhen, authenticate, basePath, origins } = options;
  assertManager(sessions);
  if (!isModel(model)) {
    throw invalid("model must be a model of the AI SDK, the name of one, or a function that gives one.");
  }
  for (const name of ["tools", "settings"] as const) {
    const value = options[name];
    if (value === undefined || typeof value === "function" || isJsonObject(value)) continue;
    throw invalid(`${name} must be an object, or a function that gives one; got ${kindOf(value)}.`);
  }
  assertFunction(authenticate, "authenticate");
  if (basePath !== undefined) assertBasePath(basePath);
  if (stopWhen !== undefined) for (const each of [stopWhen].flat()) assertFunction(each, "stopWhen");
  if (origins !== undefined) assertOrigins(origins);
  assertLimits(options, "chatHandler()");
  assertFunctions(options, ["cost", "messageMetadata", "onError"]);
}

function assertManager(sessions: unknown): void {
  if (sessions instanceof SessionManager) return;
  if (hasMethod(sessions, "getSession")) throw otherCopy("chatHandler()", "SessionManager");
  const got = kindOfHost(sessions);
  throw invalid(`sessions must be a SessionManager, as SessionManager.create(store) gives it; got ${got}.`);
}

function isModel(model: unknown): boolean {
  if (typeof model === "string") return model !== "";
  return typeof model === "function" || (isJsonObject(model) && "specificationVersion" in model);
}

// What no path of a URL begins with would make every request a 404.
function assertBasePath(basePath: unknown): void {
  assertText(basePath, "basePath");
  const base = basePath.replace(/\/+$/, "");
  const url = `http://host${base}`;
  if (base === "" || (URL.canParse(url) && new URL(url).pathname === base)) return;
  throw invalid("basePath must be a path as in URLs: it begins with /, as /api/chat.", { basePath });
}

// Compared with what browsers send, which is in lower case and ends with the host or its port.
function assertOrigins(origins: unknown): void {
  assertTexts(origins, "origins must be an array of texts, as https://app.example.com.");
  const wrong = (origins as string[]).find(
    (origin) => origin !== "null" && !/^[a-z][a-z\d+.-]*:\/\/[^/?#\sA-Z*]+$/.test(origin),
  );
  if (wrong === undefined) return;
  throw invalid("An origin is what browsers send: https://app.example.com, without a path or a / at its end.", {
    origin: wrong,
  });
}

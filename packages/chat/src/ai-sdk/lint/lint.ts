import {
  atOnce,
  contentForParts,
  inPieces,
  mapped,
  type Pieces,
  type SessionMessage,
  type SessionMessagePart,
  sendable,
  sendableMessage,
} from "@stemma/model";
import { mendFiles } from "./files.js";
import type { LintFinding, Report } from "./findings.js";
import { draftOf, messageOf, type Slot } from "./findings.js";
import { type ProviderName, rulesOf } from "./known-providers.js";
import { looseResults } from "./outputs.js";
import { mendParts, type PartsContext } from "./parts.js";
import { mendTurns, ROLES } from "./turns.js";
/** What you pass to `convertToModelMessages` for the same messages. */
export interface RepairOptions {
  /** The request's tools. Their names stay as they are; an approved call of a tool that is not among them cannot run. */
  readonly tools?: object | undefined;
  /** Makes a data part visible to the model. Without it no data part is. */
  // biome-ignore lint/suspicious/noExplicitAny: the part that a user's own function takes.
  readonly convertDataPart?: ((part: any) => unknown) | undefined;
}

/**
 * What the provider would refuse of these UI messages, in the order of the messages; empty when it takes them as they are.
 * `provider` is a model of the AI SDK, or a name: "anthropic", "openai", "openai.chat", "google"; any other has the rules of
 * OpenAI-compatible servers. `repair` mends all that is found. Errors: `INVALID_MESSAGE` for a message without parts; what
 * `convertDataPart` throws.
 */
export function lint(
  messages: readonly SessionMessage[],
  provider: ProviderName,
  options: RepairOptions = {},
): LintFinding[] {
  return atOnce(mend(messages, provider, options)).findings;
}

/**
 * The messages as the provider takes them. Nothing given is changed: what needs no repair is returned as the same object, all
 * of them as the same array. What can be told in another way is kept; what cannot, is left out. The same messages are always
 * repaired alike, so a provider's cache of the prefix holds. Keep storing the originals. Errors as for `lint`.
 */
export function repair<M extends SessionMessage>(
  messages: M[],
  provider: ProviderName,
  options: RepairOptions = {},
): M[] {
  return atOnce(mend(messages, provider, options)).messages as M[];
}

/** The same, which lets the event loop turn meanwhile. */
export async function repairInPieces<M extends SessionMessage>(
  messages: M[],
  provider: ProviderName,
  options: RepairOptions,
): Promise<M[]> {
  return (await inPieces(mend(messages, provider, options))).messages as M[];
}

interface Mended {
  readonly messages: readonly SessionMessage[];
  readonly findings: LintFinding[];
}

function* mend(messages: readonly SessionMessage[], provider: ProviderName, options: RepairOptions): Pieces<Mended> {
  const strange = messages.find(({ parts }) => !Array.isArray(parts));
  if (strange !== undefined) throw contentForParts(strange);
  const findings: LintFinding[] = [];
  const report: Report = (rule, { messageId, index }, message) => {
    findings.push({ rule, messageId, ...(index === null ? {} : { partIndex: index }), message });
  };
  const read = yield* mapped(messages, (message) => mendTexts(message, report));
  const context = { ...contextOf(provider, options), results: yield* looseResults(read), report };
  const last = read.findLastIndex(({ role }) => ROLES.has(role));
  const drafts = yield* mapped(read, (message, index) =>
    ROLES.has(message.role) ? mendParts(draftOf(message), index === last, context) : draftOf(message),
  );
  const turns = yield* mendTurns(mendFiles(drafts, context), context);
  const mended = yield* mapped(turns, (draft) => messageOf(draft));
  const same = mended.length === messages.length && mended.every((message, index) => message === messages[index]);
  const places = new Map(messages.map(({ id }, index) => [id, index]));
  findings.sort((a, b) => (places.get(a.messageId) ?? 0) - (places.get(b.messageId) ?? 0));
  return { messages: same ? messages : mended, findings };
}

function contextOf(provider: ProviderName, options: RepairOptions) {
  const { tools, convertDataPart } = options;
  const given = tools as
    | Readonly<Record<string, { execute?: unknown; toModelOutput?: unknown } | undefined>>
    | undefined;
  return {
    rules: rulesOf(provider),
    knownTools: new Set(Object.keys(tools ?? {})),
    canRun: (name: string) => given === undefined || given[name]?.execute !== undefined,
    showsMedia: (name: string) => given?.[name]?.toModelOutput !== undefined,
    taken: { calls: new Set<string>(), approvals: new Set<string>(), copies: new Map<string, number>() },
    items: new Map<string, readonly Slot[]>(),
    isShownData: (part: SessionMessagePart) => convertDataPart?.(part) != null,
  } satisfies Omit<PartsContext, "results" | "report"> & { isShownData: unknown };
}

/** The message without halves of surrogate pairs and NUL, in whatever depth of its parts. */
function mendTexts(message: SessionMessage, report: Report): SessionMessage {
  const mended = sendableMessage(message);
  if (mended === message) return message;
  const why = "holds half of a surrogate pair or NUL, which is no text. U+FFFD stands for each.";
  const { id: messageId, parts } = message;
  const broken = parts.flatMap((part, index) => (sendable(part) === part ? [] : [index]));
  for (const index of broken) report("malformed-text", { messageId, index }, `A part ${why}`);
  if (broken.length === 0) report("malformed-text", { messageId, index: null }, `The message ${why}`);
  return mended;
}

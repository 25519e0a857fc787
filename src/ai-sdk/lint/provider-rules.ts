import type { SessionMessagePart } from "../../model/message.js";
import { isSettled, type ToolCallPart } from "../../model/tool-calls.js";

/** What a provider takes, beside what none takes. */
export interface ProviderRules {
  /** How a finding calls the provider. */
  readonly name: string;
  /** True for a reasoning part that can be sent back. */
  readonly takesReasoning: (part: SessionMessagePart) => boolean;
  /** True when reasoning must be followed by what it led to. */
  readonly reasoningLeads: boolean;
  /** True for a settled call that this provider ran itself and takes back as such. */
  readonly ranItself: (part: ToolCallPart, knownTools: ReadonlySet<string>) => boolean;
  /** The provider's own id of a part, which may occur once; null when it has none. */
  readonly itemId: (part: SessionMessagePart) => string | null;
  readonly maxIdLength: number;
  /** The media types of a user's files. */
  readonly files: RegExp;
  /** True when an answer may hold files that the model made. */
  readonly answersFiles: boolean;
  /** True when system messages stand before all others. */
  readonly systemFirst: boolean;
  /** True when the first message is the user's, and the last one the user's or a tool's. */
  readonly userFirstAndLast: boolean;
  /** The roles of which two messages may not follow each other. */
  readonly alternating: readonly string[];
}

type Metadata = Readonly<Record<string, unknown>>;
export type Field = "providerMetadata" | "callProviderMetadata" | "resultProviderMetadata";

/** What the providers of these names, the first that did, told of a part. */
export function metadataOf(part: SessionMessagePart, field: Field, ...providers: string[]): Metadata {
  const metadata = part[field] as Readonly<Record<string, Metadata | null | undefined>> | null | undefined;
  for (const provider of providers) {
    const found = metadata?.[provider];
    if (typeof found === "object" && found !== null) return found;
  }
  return {};
}

export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** True for a call that the provider ran itself, and whose result can be sent back as the provider's own. */
export function isOwnCall(part: ToolCallPart, rules: ProviderRules, knownTools: ReadonlySet<string>): boolean {
  return part.providerExecuted === true && isSettled(part) && rules.ranItself(part, knownTools);
}

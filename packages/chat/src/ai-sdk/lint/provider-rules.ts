import type { SessionMessagePart } from "@stemma/model";
import { isSettled, type ToolCallPart } from "@stemma/model";

/** The demands of a provider, beside those that all have. */
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
  /** True for an item's id that the provider takes, of a part of this type. */
  readonly takesItemId: (id: string, type: string) => boolean;
  readonly callIds: CallIds;
  readonly toolNames: RegExp;
  /** True when the result of a tool may be an empty text. */
  readonly takesEmptyOutput: boolean;
  readonly limits: ProviderLimits;
  /** The media types of a user's files. */
  readonly files: RegExp;
  /** True when an answer may hold files that the model made. */
  readonly answersFiles: boolean;
  /** The whole name of a file, without its ending, where the provider is told the name and may refuse it; null where it takes any. */
  readonly fileNames: RegExp | null;
  /** True when a text must stand beside a file that is no image. */
  readonly textBesideFiles: boolean;
  /** True when an answer must follow the results of tools before the user says more. */
  readonly answersResults: boolean;
  /** True when system messages stand before all others. */
  readonly systemFirst: boolean;
  /** True when the first message is the user's, and the last one the user's or a tool's. */
  readonly userFirstAndLast: boolean;
  /** The roles of which two messages may not follow each other. */
  readonly alternating: readonly string[];
}

export interface CallIds {
  readonly pattern: RegExp;
  /** An id that fits, always the same for the same one; `copy` counts from 1, and another copy gives another id. */
  readonly make: (id: string, copy: number) => string;
}

/** Limits of one request; Infinity where nothing is documented. */
export interface ProviderLimits {
  /** Characters of one text. */
  readonly text: number;
  /** Estimated tokens of one tool's result: half of the smallest window of the provider's models. */
  readonly output: number;
  /** Images, in the whole request. */
  readonly images: number;
  /** Files of the user that are no images, in the whole request. */
  readonly documents: number;
  /** Characters of base64 of one image. */
  readonly imageSize: number;
  /** Characters of base64 of one other file. */
  readonly documentSize: number;
  /** Characters of base64 of all files together. */
  readonly filesSize: number;
}

type Metadata = Readonly<Record<string, unknown>>;
export type Field = "providerMetadata" | "callProviderMetadata" | "resultProviderMetadata";

/** The metadata that the providers of these names, the first that did, told of a part. */
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

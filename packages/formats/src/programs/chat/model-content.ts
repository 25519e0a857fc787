import type { SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject } from "@stemma/model";

type Part = SessionMessagePart & JsonObject;

/** A part of the content of an AI SDK model message, of version 4 to 6, as a part of a UI message; null for one that is not known. */
export function partOfModelContent(block: JsonObject): Part | null {
  const { type, text, toolCallId, toolName } = block;
  const metadata = isJsonObject(block.providerOptions) ? { providerMetadata: block.providerOptions } : {};
  switch (type) {
    case "reasoning":
      return typeof text === "string" ? { type: "reasoning", text, ...metadata } : null;
    case "redacted-reasoning":
      return { type: "reasoning", text: "", providerMetadata: { anthropic: { redactedData: block.data } } };
    case "image":
    case "file":
      return fileOf(block);
    case "tool-call":
      if (typeof toolCallId !== "string" || typeof toolName !== "string") return null;
      return {
        type: "dynamic-tool",
        toolName,
        toolCallId,
        state: "input-available",
        input: block.input ?? block.args,
        ...(block.providerExecuted === true ? { providerExecuted: true } : {}),
        ...(isJsonObject(block.providerOptions) ? { callProviderMetadata: block.providerOptions } : {}),
      };
    default:
      return null;
  }
}

/** The result of a call in a `tool-result`, as fields of a tool part. */
export function outputOfModelResult({ type, output, result, error, isError }: JsonObject): JsonObject {
  if (type === "tool-error") return { state: "output-error", errorText: textOf(error) };
  if (output === undefined || !isJsonObject(output) || typeof output.type !== "string") {
    const given = output ?? result ?? null;
    return isError === true ? failed(given) : { state: "output-available", output: given };
  }
  const { value, reason } = output;
  if (output.type === "error-text" || output.type === "error-json") return failed(value);
  if (output.type === "execution-denied") return failed(reason ?? "The execution was denied.");
  return { state: "output-available", output: value ?? null };
}

/** A file from its data: base64, a data URL, or the URL of it. Null for bytes in another form. */
export function fileOf(block: JsonObject): Part | null {
  const data = block.image ?? block.data ?? block.url;
  if (typeof data !== "string") return null;
  const named = block.mediaType ?? block.mimeType ?? block.contentType;
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(data);
  const mediaType =
    typeof named === "string"
      ? named
      : (/^data:([^;,]+)/.exec(data)?.[1] ?? (block.type === "image" ? "image/*" : "application/octet-stream"));
  const name = block.filename ?? block.name;
  return {
    type: "file",
    mediaType,
    url: isUrl ? data : `data:${mediaType === "image/*" ? "image/png" : mediaType};base64,${data}`,
    ...(typeof name === "string" ? { filename: name } : {}),
  };
}

function failed(value: unknown): JsonObject {
  return { state: "output-error", errorText: textOf(value) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

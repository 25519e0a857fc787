import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import type { SessionMessagePart } from "../../model/message.js";
import { isGeminiPart } from "../chat/dialect.js";
import { keptPart } from "../unread.js";

/** The content of a message as a list of Gemini's parts: it may be one of them, or a text. */
export function partList(content: unknown): readonly unknown[] {
  if (content === undefined || content === null || content === "") return [];
  return Array.isArray(content) ? content : [content];
}

/** A part of Gemini's as one of ours; `callId` is for a call that has no id. */
export function partOfGemini(part: unknown, callId: string): SessionMessagePart {
  if (typeof part === "string") return { type: "text", text: part };
  if (!isJsonObject(part)) return keptPart(part);
  const { text, thought, thoughtSignature, functionCall, inlineData, fileData, executableCode: code } = part;
  const signed = typeof thoughtSignature === "string" ? { google: { thoughtSignature } } : null;
  if (typeof text === "string") {
    const read = { type: thought === true ? "reasoning" : "text", text };
    return signed === null ? read : { ...read, providerMetadata: signed };
  }
  if (isJsonObject(functionCall) && typeof functionCall.name === "string") {
    const { id, name, args } = functionCall;
    const toolCallId = typeof id === "string" && id !== "" ? id : callId;
    const call = { type: "dynamic-tool", toolName: name, toolCallId, state: "input-available", input: args ?? {} };
    return signed === null ? call : { ...call, callProviderMetadata: signed };
  }
  if (isJsonObject(inlineData) && typeof inlineData.data === "string") {
    const mediaType = String(inlineData.mimeType ?? "application/octet-stream");
    return { type: "file", mediaType, url: `data:${mediaType};base64,${inlineData.data}` };
  }
  if (isJsonObject(fileData) && typeof fileData.fileUri === "string")
    return { type: "file", mediaType: String(fileData.mimeType ?? "application/octet-stream"), url: fileData.fileUri };
  if (isJsonObject(code) && typeof code.code === "string") return { type: "text", text: code.code };
  const result = part.codeExecutionResult;
  if (isJsonObject(result) && typeof result.output === "string") return { type: "text", text: result.output };
  return keptPart(part);
}

/** What a tool gave, as fields of its part: the response of a `functionResponse`, else what there is. */
export function outputOfResponse(response: unknown): JsonObject {
  if (!isJsonObject(response)) return { state: "output-available", output: response ?? null };
  const { output, error } = response;
  if (error !== undefined && output === undefined)
    return { state: "output-error", errorText: typeof error === "string" ? error : JSON.stringify(error) };
  return { state: "output-available", output: output ?? response };
}

/** The `functionResponse` that a part is; null for any other. */
export function responseOf(part: unknown): JsonObject | null {
  return isGeminiPart(part) && isJsonObject(part.functionResponse) ? part.functionResponse : null;
}

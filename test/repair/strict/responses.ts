// After platform.openai.com/docs (Responses, function calling, reasoning) and the errors that the API answers with.
import { must } from "./refuse.js";

type Item = Record<string, unknown> & { type?: string; role?: string; id?: string; call_id?: string };

/** Items that a test says were cut off, and therefore not stored, have this in their ids. */
const LOST = "lost";

export function checkResponses(body: Record<string, unknown>): void {
  const input = body.input as Item[];
  must(input.length > 0, "input: at least one item is required");
  const items = new Set<string>();
  const calls = new Map<string, boolean>();
  input.forEach((item, index) => {
    const id = item.id ?? null;
    if (id !== null) {
      must(!items.has(id), `Duplicate item found with id ${id}.`);
      items.add(id);
      must(id.length <= 64, `Invalid 'input[${index}].id': string too long.`);
    }
    if (item.type === "item_reference") {
      must(
        /^(msg|rs|fc|ws|fs|ci|ig|mcp|mcpr)_/.test(id ?? "") && !id?.includes(LOST),
        `Item with id '${id}' not found.`,
      );
    }
    if (item.type === "reasoning" || id?.startsWith("rs_")) checkFollowed(item, input[index + 1]);
    if (item.role === "user" || item.role === "assistant") {
      must((item.content as string | object[]).length > 0, "content: must not be empty");
    }
    if (item.type === "function_call") checkCall(item, calls);
    if (item.type === "function_call_output") {
      must(calls.get(String(item.call_id)) === false, `No tool call found for function call output ${item.call_id}.`);
      calls.set(String(item.call_id), true);
      must(typeof item.output === "string" || Array.isArray(item.output), "output: invalid type");
    }
  });
  for (const [id, answered] of calls) must(answered, `No tool output found for function call ${id}.`);
}

function checkFollowed(item: Item, next: Item | undefined): void {
  const follows = next !== undefined && next.role !== "user" && next.role !== "system" && next.role !== "developer";
  const followed = follows && next?.type !== "function_call_output";
  must(followed, `Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
}

function checkCall({ call_id, name, arguments: input }: Item, calls: Map<string, boolean>): void {
  must(typeof call_id === "string" && call_id !== "" && call_id.length <= 64, "call_id: string too long");
  must(!calls.has(call_id), `Duplicate call_id ${call_id}.`);
  calls.set(call_id, false);
  must(/^[a-zA-Z0-9_-]{1,64}$/.test(String(name)), "name: string does not match pattern");
  must(typeof input === "string", "arguments: expected a string");
}

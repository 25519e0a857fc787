import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import { storableText } from "../../model/storable-text.js";

/** The texts, numbers and truth values at the paths of a value, a line each. "$" is all of them. */
export function searchableText(value: JsonObject, paths: readonly string[]): string {
  return storableText(paths.flatMap((path) => textsAt(value, stepsOf(path))).join("\n"));
}

/** `chapters[*].{title,text}` in its steps: names, `[index]`, `[*]`, `*` and `{several,paths}`. */
function stepsOf(path: string): string[] {
  return path.match(/\[[^\]]{0,1000}\]|\{[^}]{0,1000}\}|[^.[{]+/g) ?? [];
}

function textsAt(value: unknown, [step, ...rest]: readonly string[]): string[] {
  if (step === undefined) return leavesOf(value);
  if (step === "$") return textsAt(value, rest);
  if (step.startsWith("{")) {
    const paths = step.slice(1, -1).split(",");
    return paths.flatMap((path) => textsAt(value, [...stepsOf(path.trim()), ...rest]));
  }
  return childrenAt(value, step).flatMap((child) => textsAt(child, rest));
}

function childrenAt(value: unknown, step: string): unknown[] {
  if (step.startsWith("[")) {
    if (!Array.isArray(value)) return [];
    const index = step.slice(1, -1);
    return index === "*" ? value : [value.at(Number.parseInt(index, 10))];
  }
  if (typeof value !== "object" || value === null) return [];
  if (step === "*") return Object.values(value);
  return isJsonObject(value) && Object.hasOwn(value, step) ? [value[step]] : [];
}

function leavesOf(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leavesOf);
  return value === null || value === undefined ? [] : [String(value)];
}

import { isJsonObject, type JsonObject } from "../../../model/json-object.js";
import { sameJson } from "../../../model/same-json.js";
import { findJson, type JsonNode } from "./jsonc.js";

/**
 * The text of a JSON file in which the object `group` has a member `name` with these fields. Everything else stays as it is,
 * comments and other fields of the member too. Null for a text that cannot be changed that way.
 */
export function withMember(text: string, group: string, name: string, fields: JsonObject): string | null {
  const style = styleOf(text);
  if (text.replace("\ufeff", "").trim() === "")
    return `${render({ [group]: { [name]: fields } }, "", style)}${style.line}`;
  const root = findJson(text);
  if (root?.members === undefined) return null;
  const outer = root.members.findLast((member) => member.name === group)?.node;
  if (outer === undefined) return withNewMember(text, root, group, { [name]: fields }, style);
  if (outer.members === undefined) return null;
  const present = outer.members.findLast((member) => member.name === name);
  if (present === undefined) return withNewMember(text, outer, name, fields, style);
  const { node, start } = present;
  const value = isJsonObject(node.value) ? { ...node.value, ...fields } : fields;
  if (sameJson(value, node.value)) return text;
  return text.slice(0, node.start) + render(value, indentAt(text, start) ?? "", style) + text.slice(node.end);
}

interface Style {
  readonly unit: string;
  readonly line: string;
}

// As the file has it: what is added looks like the rest.
function styleOf(text: string): Style {
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  return { unit, line: text.includes("\r\n") ? "\r\n" : "\n" };
}

function render(value: unknown, indent: string, { unit, line }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", `${line}${indent}`);
}

function withNewMember(text: string, object: JsonNode, name: string, value: unknown, style: Style): string {
  const last = object.members?.at(-1);
  const own = last === undefined ? undefined : indentAt(text, last.start);
  if (last !== undefined && own === undefined) {
    // All on one line.
    return insert(text, last.node.end, `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  }
  const outer = lineIndent(text, object.start);
  const indent = own ?? outer + style.unit;
  const member = `${style.line}${indent}${JSON.stringify(name)}: ${render(value, indent, style)}`;
  if (last !== undefined) return insert(text, last.node.end, `,${member}`);
  const rest = text.slice(object.start + 1, object.end - 1);
  return insert(
    text,
    object.start + 1,
    rest.trim() === "" && !rest.includes("\n") ? `${member}${style.line}${outer}` : member,
  );
}

function insert(text: string, at: number, added: string): string {
  return text.slice(0, at) + added + text.slice(at);
}

/** What stands before a place on its line; undefined unless that is blank. */
function indentAt(text: string, at: number): string | undefined {
  const before = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return text.lastIndexOf("\n", at - 1) >= 0 && before.trim() === "" ? before : undefined;
}

function lineIndent(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1))?.[0] ?? "";
}

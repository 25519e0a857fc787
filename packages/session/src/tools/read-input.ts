import { findJson, isJsonObject, type JsonObject, quote } from "@stemma/model";
import type { FieldSchema, ObjectSchema, Reading, ValueOf } from "./input-schema.js";

/**
 * Reads what a model sent for a tool. Models write out what they leave out, and numbers as text, so this is read as it is
 * meant: null, "" and "null" of an optional argument are absence; a number, true, false, a list or an object in a text is
 * that; a number where a text is wanted is its text; one of a few names may be in any case. Arguments that the schema does
 * not name are ignored.
 */
export function readInput<const S extends ObjectSchema>(schema: S, given: unknown): Reading<ValueOf<S>> {
  const problems: string[] = [];
  const value = readField(schema, isAbsent(given) ? {} : given, "", problems);
  return problems.length === 0 ? { value: value as ValueOf<S> } : { problem: `${problems.join("; ")}.` };
}

function readField(schema: FieldSchema, given: unknown, path: string, problems: string[]): unknown {
  const value = named(schema, convert(schema.type, given));
  if (!fits(schema, value)) {
    problems.push(`${path || "the input"} must be ${wanted(schema)}, not ${shown(given)}`);
  } else if (schema.type === "array") {
    return (value as unknown[]).map((item, index) => readField(schema.items, item, `${path}[${index}]`, problems));
  } else if (schema.type === "object") {
    return readObject(schema, value as JsonObject, path, problems);
  }
  return value;
}

function readObject(schema: ObjectSchema, given: JsonObject, path: string, problems: string[]): JsonObject {
  const read: JsonObject = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    const value = given[name];
    const at = path === "" ? name : `${path}.${name}`;
    if (!schema.required?.includes(name)) {
      if (!isAbsent(value)) read[name] = readField(field, value, at, problems);
    } else if (value === undefined || value === null) {
      const what = field.description === undefined ? "" : ` (${field.description.replace(/\.$/, "")})`;
      problems.push(`${at} is missing: send ${wanted(field)}${what}`);
    } else {
      read[name] = readField(field, value, at, problems);
    }
  }
  return read;
}

/** What models send for an argument that they leave out. */
function isAbsent(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "string" && ["", "null"].includes(value.trim());
}

/** A value in the type that is wanted, where it is written in another one. */
export function convert(type: FieldSchema["type"], value: unknown): unknown {
  if (type === "string") return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  if (typeof value !== "string") return value;
  return type === "boolean" ? findJson(value.toLowerCase()) : findJson(value);
}

/** The member of an `enum` that a text names. */
function named(schema: FieldSchema, value: unknown): unknown {
  if (schema.type !== "string" || schema.enum === undefined || typeof value !== "string") return value;
  const name = value.trim().toLowerCase();
  return schema.enum.find((member) => member === value || member.toLowerCase() === name) ?? value;
}

function fits(schema: FieldSchema, value: unknown): boolean {
  switch (schema.type) {
    case "string": {
      const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
      if (typeof value !== "string" || value.length < minLength || value.length > maxLength) return false;
      return schema.enum === undefined || schema.enum.includes(value);
    }
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return Array.isArray(value) && value.length <= (schema.maxItems ?? Number.POSITIVE_INFINITY);
    case "object":
      return isJsonObject(value);
    default: {
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
      if (!(schema.type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value))) return false;
      return (value as number) >= minimum && (value as number) <= maximum;
    }
  }
}

/** What is to be sent, in words. */
function wanted(schema: FieldSchema): string {
  switch (schema.type) {
    case "string": {
      if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
      const { minLength = 0, maxLength } = schema;
      if (maxLength !== undefined) return `a text of ${minLength} to ${maxLength} characters`;
      return minLength === 0 ? "a text" : "a text that is not empty";
    }
    case "boolean":
      return "true or false";
    case "array":
      return `a list${schema.maxItems === undefined ? "" : ` of up to ${schema.maxItems}`}`;
    case "object":
      return `an object with ${(schema.required ?? Object.keys(schema.properties)).join(", ")}`;
    default: {
      const least = schema.minimum === undefined ? "" : ` from ${schema.minimum} on`;
      const range = schema.maximum === undefined ? least : ` from ${schema.minimum ?? 0} to ${schema.maximum}`;
      return `a ${schema.type === "integer" ? "whole " : ""}number${range}`;
    }
  }
}

function shown(value: unknown): string {
  if (typeof value === "string" && value.length > 200) return `one of ${value.length} characters`;
  return typeof value === "string" ? quote(value) : quote(JSON.stringify(value) ?? typeof value);
}

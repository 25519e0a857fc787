// Writes the types of `packages/client` from the document of the REST API: `node scripts/client-types.mjs`. A test holds that they are
// what the document gives.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENT = `${ROOT}packages/server/openapi.json`;

/** Where the types stand. */
export const CLIENT_TYPES = `${ROOT}packages/client/src/api.ts`;

const BEGINNING = `// Made from packages/server/openapi.json by scripts/client-types.mjs. Do not change it by hand.
import type { HistoryMessage } from "@stemma/model";
`;

/** Schemas whose types are there already. */
const KNOWN = { Message: "HistoryMessage" };

/** The types as a source file. */
export function clientTypes() {
  const { paths, components } = JSON.parse(readFileSync(DOCUMENT, "utf8"));
  // Of a refusal an error is made.
  const { Problem: _, ...named } = components.schemas;
  const schemas = Object.entries(named).map(([name, schema]) => {
    const about = name in KNOWN ? "A message of a conversation." : `\`${name}\` of the REST API.`;
    return `/** ${about} */\nexport type ${name} = ${KNOWN[name] ?? typeOf(schema, "")};\n`;
  });
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => routeOf(`${method.toUpperCase()} ${path}`, operation)),
  );
  const about = "/** The routes of the REST API: what each takes, and what it answers. */";
  return formatted(
    `${BEGINNING}\n${schemas.join("\n")}\n${about}\nexport interface Routes {\n${routes.join("\n")}\n}\n`,
  );
}

function routeOf(name, { summary, parameters = [], requestBody, responses }) {
  const query = parameters.filter((parameter) => parameter.in === "query");
  const fields = {
    ...(query.length > 0 && { query: objectOf(query.map(queryField), "readonly ") }),
    ...(requestBody !== undefined && { body: bodyOf(requestBody) }),
    answer: unionOf(
      Object.entries(responses)
        .filter(([status]) => status.startsWith("2"))
        .map(([, each]) => answerOf(each)),
    ),
  };
  const lines = Object.entries(fields).map(([field, type]) => `${field}: ${type};`);
  return `/** ${summary}. */\n"${name}": {\n${lines.join("\n")}\n};`;
}

/** A flag stands in a query as a word. */
function queryField({ name, required = false, description, schema }) {
  const isFlag = String(schema.enum) === "true,false";
  return { name, required, schema: isFlag ? { type: "boolean" } : schema, description };
}

function bodyOf(body) {
  const schema = body.content["application/json"]?.schema;
  return schema === undefined ? "string | Blob | ReadableStream<Uint8Array>" : typeOf(schema, "readonly ");
}

function answerOf({ content }) {
  if (content === undefined) return "undefined";
  const schema = content["application/json"]?.schema;
  return schema === undefined || Object.keys(schema).length === 0 ? "string" : typeOf(schema, "");
}

/** The type of a schema. `mode` is "readonly " for what is only given. */
function typeOf(schema, mode) {
  const { $ref, allOf, anyOf, oneOf, enum: values, type, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) return $ref.replace("#/components/schemas/", "");
  if (allOf !== undefined) return joined(allOf, mode);
  if (anyOf ?? oneOf) return unionOf((anyOf ?? oneOf).map((each) => typeOf(each, mode)));
  if ("const" in schema) return JSON.stringify(schema.const);
  if (values !== undefined) return unionOf(values.map((value) => JSON.stringify(value)));
  if (Array.isArray(type)) return unionOf(type.map((each) => typeOf({ ...schema, type: each }, mode)));
  if (type === "null") return "null";
  if (type === "array") return `${mode}(${typeOf(items, mode)})[]`;
  if (properties !== undefined) {
    const required = schema.required ?? [];
    const fields = Object.entries(properties).map(([name, each]) => ({
      name,
      schema: each,
      description: each.description,
      required: required.includes(name),
    }));
    return objectOf(fields, mode);
  }
  if (type === "object") return additionalProperties === false ? "Record<string, never>" : `Record<string, unknown>`;
  return { integer: "number", number: "number", string: "string", boolean: "boolean" }[type] ?? "unknown";
}

// A schema that may be null is written as one of it and of any object or null.
function joined(parts, mode) {
  const isNullable = parts.some(({ type }) => String(type) === "object,null");
  const types = parts.filter(({ type }) => String(type) !== "object,null").map((part) => typeOf(part, mode));
  return isNullable ? `(${types.join(" & ")}) | null` : types.join(" & ");
}

function objectOf(fields, mode) {
  const lines = fields.map(({ name, schema, required, description }) => {
    // A docstring that begins with "What" leans on the name before it.
    const about = description === undefined ? "" : `/** ${description.replace(/^What /, "All that ")} */\n`;
    const type = typeOf(schema, mode);
    return `${about}${mode}${name}${required ? "" : "?"}: ${type}${required ? "" : " | undefined"};`;
  });
  // In one line where it has room and nothing is said of it.
  const between = fields.some(({ description }) => description !== undefined) ? "\n" : " ";
  return lines.length === 0 ? "Record<string, never>" : ["{", ...lines, "}"].join(between);
}

const unionOf = (types) => [...new Set(types)].join(" | ");

/** As Biome has it, which a commit would do otherwise. */
function formatted(text) {
  const biome = `${ROOT}node_modules/@biomejs/biome/bin/biome`;
  const { stdout, stderr, status } = spawnSync(process.execPath, [biome, "format", "--stdin-file-path", "api.ts"], {
    cwd: ROOT,
    input: text,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(CLIENT_TYPES, clientTypes());

// Makes packages/postgres/src/sql/functions.ts of the functions of the database beside it: `node scripts/sql.mjs`. A test of that wing fails
// where it is older than they are. Not every bundler, and not every runtime that reads the sources, takes a file of SQL for a text.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("../packages/postgres/src/sql/", import.meta.url);

/** The names of the functions' files without their ends, and the definition in each, without the comment above it. */
export function functionsOfPostgres() {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(".sql"));
  return Object.fromEntries(
    files.sort().map((file) => {
      const text = readFileSync(new URL(file, FOLDER), "utf8");
      return [file.slice(0, -".sql".length), text.slice(text.indexOf("CREATE ")).trimEnd().replace(/;$/, "")];
    }),
  );
}

/** A constant for each function: `append-all.sql` is `APPEND_ALL`. */
export function moduleOfFunctions() {
  const lines = Object.entries(functionsOfPostgres()).map(([name, definition]) => {
    const text = JSON.stringify(definition)
      .slice(1, -1)
      .replaceAll('\\"', '"')
      .replaceAll("`", "\\`")
      .replaceAll("${", "\\${");
    return `export const ${name.toUpperCase().replaceAll("-", "_")} = \`${text}\`;\n`;
  });
  return `// Made by scripts/sql.mjs of the files beside it.\n${lines.join("")}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("functions.ts", FOLDER), moduleOfFunctions());
}

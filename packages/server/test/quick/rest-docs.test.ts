import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { HOST, serveRest } from "./rest-helpers.js";

const PAGE = readFileSync(new URL("../../../../docs/server.md", import.meta.url), "utf8");

/** The arguments of a command, as a shell reads them. */
function argumentsOf(command: string, variables: Readonly<Record<string, string>>): string[] {
  const words = command.replaceAll("\\\n", " ").matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g);
  return [...words].map(([, plain, quoted, bare]) =>
    plain === undefined
      ? (quoted ?? bare ?? "").replace(/\$(\w+)/g, (_, name: string) => variables[name] ?? "")
      : plain,
  );
}

it("docs/server.md shows commands of curl that answer what it says", async () => {
  const { send, keyOf } = await serveRest();
  const variables = { STEMMA: "", KEY: await keyOf({ userId: "ada" }) };
  const [, block = ""] = /## REST[\s\S]*?```sh\n([\s\S]*?)```/.exec(PAGE) ?? [];
  const commands = [...block.matchAll(/^curl ([\s\S]*?)\n# (.*)$/gm)];
  expect(commands).toHaveLength(3);
  for (const [, command = "", answer] of commands) {
    const [path = "", ...options] = argumentsOf(command, variables);
    const headers = new Headers();
    let body: string | undefined;
    let method: string | undefined;
    for (let at = 0; at < options.length; at += 2) {
      const value = options[at + 1] ?? "";
      if (options[at] === "-H") headers.set(value.slice(0, value.indexOf(":")), value.slice(value.indexOf(":") + 2));
      if (options[at] === "-d") body = value;
      if (options[at] === "-X") method = value;
    }
    const key = headers.get("authorization")?.slice("Bearer ".length) ?? "";
    const sent = body === undefined ? {} : { body };
    const response = await send(method ?? (body === undefined ? "GET" : "POST"), path, { key, headers, ...sent });
    expect([HOST + path, await response.text()]).toEqual([HOST + path, answer]);
  }
});

import { invalid } from "@stemma/model";
import { type ApiKeyInfo, ApiKeys } from "@stemma/server";
import { type Command, Option } from "commander";
import { withStore, writeJson } from "../context.js";
import type { Io } from "../io.js";
import { nonEmpty, positiveNumber, quota } from "../options.js";
import { oneLine } from "../text.js";

interface NewKeyOptions {
  readonly access: ApiKeyInfo["access"];
  readonly tenant?: string;
  readonly user?: string;
  readonly project?: string;
  readonly memoryKey?: readonly string[];
  readonly readOnly?: boolean;
  readonly days?: number;
  readonly quota?: ApiKeyInfo["quota"];
}

const DAY = 86_400_000;

/** Adds `stemma key`: the API keys by which a server lets programs in. */
export function registerKey(program: Command, io: Io): void {
  const key = program.command("key").description("API keys for programs that reach this store through a server.");
  registerCreate(key, io);
  registerList(key, io);
  registerRevoke(key, io);
}

// As JSON: the fields of the key, and `key` itself.
function registerCreate(key: Command, io: Io): void {
  key
    .command("create")
    .description("Make a key, and print it. It is shown this once: the store keeps its digest.")
    .argument("<name>", "what it is for", nonEmpty)
    .addOption(
      new Option("--access <kind>", "memory, admin (checks and backups too) or mint (tokens for users, nothing else)")
        .choices(["memory", "admin", "mint"])
        .default("memory"),
    )
    .option("--tenant <name>", "only the store of this tenant, see `stemma serve --tenants`", nonEmpty)
    .option("-u, --user <id>", "only this user's sessions and memory", nonEmpty)
    .option("--project <name>", "only sessions whose metadata names this project, and its memory", nonEmpty)
    .option("--memory-key <key...>", "of the memory under keys, only this; several may follow")
    .option("--read-only", "nothing that writes")
    .option("--quota <limits>", "the most it may use: writesPerDay=1000,bytesPerDay=5000000, say", quota)
    .option("--days <number>", "ends after so many days; default: never", positiveNumber)
    .action(async (name: string, options: NewKeyOptions, command: Command) => {
      const { access, tenant, user, project, memoryKey, readOnly, days, quota } = options;
      await withStore(command, io, "make", async ({ store, json }) => {
        const expiresAt = days === undefined ? undefined : Date.now() + days * DAY;
        const reach = {
          access,
          ...(tenant !== undefined && { tenant }),
          ...(user !== undefined && { userId: user }),
          ...(project !== undefined && { project }),
          ...(memoryKey !== undefined && { keys: memoryKey }),
          ...(readOnly === true && { readOnly }),
          ...(quota !== undefined && { quota }),
        };
        const made = await new ApiKeys(store).create({ name, expiresAt, ...reach });
        if (json) return writeJson(io, { ...made.info, key: made.key });
        await io.write(`${made.key}\n`);
      });
    });
}

// As JSON: the fields of a key in each line.
function registerList(key: Command, io: Io): void {
  key
    .command("list")
    .description("List the keys, without their secrets.")
    .option("--tenant <name>", "those of this tenant", nonEmpty)
    .action(async ({ tenant }: { tenant?: string }, command: Command) => {
      await withStore(command, io, "fail", async ({ store, json }) => {
        for (const info of await new ApiKeys(store).list({ tenant })) {
          await (json ? writeJson(io, info) : io.write(`${lineOf(info)}\n`));
        }
      });
    });
}

function lineOf(info: ApiKeyInfo): string {
  const { id, name, access, tenant, userId, project, keys = [], readOnly, quota = {}, expiresAt } = info;
  const reach = [
    access,
    ...(tenant === undefined ? [] : [`tenant ${tenant}`]),
    ...(userId === undefined ? [] : [`user ${userId}`]),
    ...(project === undefined ? [] : [`project ${project}`]),
    ...keys.map((each) => `key ${each}`),
    ...(readOnly === true ? ["read only"] : []),
    ...Object.entries(quota).map((limit) => limit.join(" ")),
    ...(expiresAt === undefined ? [] : [`until ${new Date(expiresAt).toISOString().slice(0, 10)}`]),
  ];
  return `${id}  ${oneLine(name)}  (${oneLine(reach.join(", "))})`;
}

// As JSON: `{ revoked: id }`.
function registerRevoke(key: Command, io: Io): void {
  key
    .command("revoke")
    .description("End a key. Servers that run refuse it within 30 seconds.")
    .argument("<id>", "its id, as list shows it")
    .action(async (id: string, _options: object, command: Command) => {
      await withStore(command, io, "fail", async ({ store, json }) => {
        if (!(await new ApiKeys(store).revoke(id))) throw invalid(`There is no key "${id}".`, { id });
        await (json ? writeJson(io, { revoked: id }) : io.write(`Revoked ${oneLine(id)}.\n`));
      });
    });
}

import { invalid } from "@stemma/model";
import type { TenantInfo, Tenants } from "@stemma/server";
import type { Command } from "commander";
import { type CommandContext, withStore, writeJson } from "../context.js";
import { confirm, type Io } from "../io.js";
import type { DatabaseOptions } from "../open-database.js";
import { nonEmpty } from "../options.js";
import { readSettings, settingOptions } from "../serve/settings.js";
import { columns } from "../text.js";

/** Adds `stemma tenants`: the tenants of a server whose own database is that of `--db`. */
export function registerTenants(program: Command, io: Io): void {
  const tenants = program.command("tenants").description("The tenants of `stemma serve --tenants`.");
  registerList(tenants, io);
  registerErase(tenants, io);
}

// As JSON: a `TenantInfo` in each line.
function registerList(parent: Command, io: Io): void {
  placed(parent.command("list"))
    .description("List the tenants that have keys, a file or a schema.")
    .action(async (_options: object, command: Command) => {
      await withTenants(command, io, async (tenants, { json }) => {
        const found = await tenants.list();
        if (json) for (const info of found) await writeJson(io, info);
        else if (found.length > 0) await io.write(columns([["TENANT", "KEYS", "STATE"], ...found.map(rowOf)]));
      });
    });
}

function rowOf({ tenant, keys, isStored, erasure }: TenantInfo): string[] {
  return [tenant, String(keys), erasure ?? (isStored ? "stored" : "not stored yet")];
}

// As JSON: `{ tenant }` and an `ErasedTenant`.
function registerErase(parent: Command, io: Io): void {
  placed(parent.command("erase"))
    .description("Erase a tenant while servers run: its file or schema, and its keys. Takes some six seconds.")
    .argument("<name>", "the tenant", nonEmpty)
    .option("-y, --yes", "do not ask; needed where nobody can answer")
    .action(async (tenant: string, { yes }: { yes?: boolean }, command: Command) => {
      await withTenants(command, io, async (tenants, { json }) => {
        if (!(await tenants.list()).some((known) => known.tenant === tenant)) {
          throw invalid(`There is no tenant ${tenant}: \`stemma tenants list\` shows those that there are.`);
        }
        if (!yes && !(await confirm(io, `Erase all that the tenant ${tenant} has stored?`))) {
          throw invalid("Nothing was erased. Answer y, or pass --yes.");
        }
        const erased = await tenants.erase(tenant);
        if (json) return writeJson(io, { tenant, ...erased });
        const what = erased.wasStored ? "is erased" : "had nothing stored";
        await io.write(`${tenant} ${what}; keys revoked: ${erased.keys}.\n`);
      });
    });
}

function placed(command: Command): Command {
  const [place] = settingOptions().filter((option) => option.attributeName() === "tenants");
  return place === undefined ? command : command.addOption(place);
}

async function withTenants(
  command: Command,
  io: Io,
  work: (tenants: Tenants, context: CommandContext) => Promise<void>,
): Promise<void> {
  const given = command.optsWithGlobals<DatabaseOptions & { tenants?: string }>();
  const settings = readSettings({ tenants: given.tenants }, process.env, undefined);
  if (settings.tenants === undefined) {
    command.error("error: say where the tenants are, with --tenants or STEMMA_TENANTS");
  }
  await withStore(command, io, "fail", async (context) => {
    const { openTenants } = await import("../serve/open-tenants.js");
    const { tenants, close } = openTenants(settings, given, (store) => store, { control: context.store });
    try {
      await work(tenants, context);
    } finally {
      await close();
    }
  });
}

import type { Command } from "commander";
import { writeJson } from "../context.js";
import { type Io, stoppable } from "../io.js";
import {
  assertOurs,
  type DatabaseOptions,
  databaseName,
  isThere,
  type LocalOptions,
  localOption,
  localSearch,
  openDatabase,
  openLocal,
} from "../open-database.js";
import { nonEmpty } from "../options.js";
import type { OpenTenants } from "../serve/open-tenants.js";
import { readSettings, settingOptions, shownSettings } from "../serve/settings.js";

interface ServeOptions extends DatabaseOptions, LocalOptions {
  readonly json?: boolean;
  readonly config?: string;
  readonly printConfig?: boolean;
}

/** Adds `stemma serve`, which runs until it is stopped. Its log is JSON where nobody reads along, or with `--json`. */
export function registerServe(program: Command, io: Io): void {
  const command = program
    .command("serve")
    .description("Serve the store to programs in any language, with its studio, MCP and chats, behind keys.")
    .option("-c, --config <path>", "settings as JSON, or a module that gives a model and blocks, too", nonEmpty)
    .option("--print-config", "print the settings without secrets, and end")
    .addOption(localOption());
  for (const option of settingOptions()) command.addOption(option);
  command.action(async (_options: unknown, self: Command) => {
    const { config, printConfig, ...given } = self.optsWithGlobals<ServeOptions>();
    const { readConfig } = await import("../serve/config-file.js");
    const file = config === undefined ? { settings: undefined, parts: {} } : await readConfig(config);
    const settings = readSettings(flagsOf(self, given), process.env, file.settings);
    if (printConfig) return writeJson(io, shownSettings(settings));
    const { NoKeysError, serve } = await import("../serve/serve.js");
    const { ServerLog } = await import("../serve/log.js");
    const { db, schema } = settings;
    const database: ServeOptions = {
      ...given,
      ...(db !== undefined && { db }),
      ...(schema !== undefined && { schema }),
    };
    if (isThere(database)) assertOurs(database);
    const { openTenants } = await import("../serve/open-tenants.js");
    const hasTenants = settings.tenants !== undefined;
    const isJson = given.json === true || !io.isTerminal.output;
    const log = new ServerLog(io, isJson);
    // What is searched is the tenants'.
    const store = hasTenants ? openDatabase(database) : await openLocal(database);
    let tenants: OpenTenants | undefined;
    try {
      if (hasTenants) {
        const onError = (error: unknown) => log.fault(error, null);
        const search = await localSearch(given.local);
        tenants = openTenants(settings, database, search, { control: store, onError });
      }
      await stoppable(async (signal) => {
        const served = await serve(store, settings, file.parts, log, tenants?.tenants);
        log.step("listening", { url: served.url, database: databaseName(database) });
        io.writeError(greeting(served, databaseName(database), settings));
        await new Promise<void>((stop) => signal.addEventListener("abort", () => stop()));
        log.step("draining");
        await served.drain();
        log.step("stopped");
      });
    } catch (error) {
      if (error instanceof NoKeysError) self.error(error.message, { exitCode: 2 });
      throw error;
    } finally {
      await tenants?.close();
      await store.close();
    }
  });
}

// Those alone that were given on the command line: others may come from a variable or the file.
function flagsOf(command: Command, options: object): Record<string, unknown> {
  const isGiven = ([name]: [string, unknown]) => command.getOptionValueSourceWithGlobals(name) === "cli";
  return Object.fromEntries(Object.entries(options).filter(isGiven));
}

function greeting(
  { url, key }: { url: string; key: string | null },
  database: string,
  { studio: hasStudio, tenants }: { readonly studio: boolean; readonly tenants?: string },
): string {
  const studio = hasStudio ? `Studio: ${url}/studio\n` : "";
  const what = tenants === undefined ? "keys that last" : "keys that last, and with --tenant those of a tenant";
  const advice = `This key is an administrator's, for this process; \`stemma key create\` makes ${what}.\n`;
  return `${database}\n${url}\n${studio}${key === null ? "" : `Authorization: Bearer ${key}\n${advice}`}Ctrl-C ends it.\n`;
}

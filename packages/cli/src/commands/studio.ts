import { type Command, Option } from "commander";
import { withStore, writeJson } from "../context.js";
import { reportError } from "../errors.js";
import type { Io } from "../io.js";
import { untilStopped } from "../io.js";
import { type DatabaseOptions, databaseName } from "../open-database.js";
import { nonEmpty, portNumber } from "../options.js";

const PORT = 4984;

interface StudioCommandOptions {
  port: number;
  write?: boolean;
  open: boolean;
  host?: string;
  token?: string;
}

/** Adds `stemma studio`, which runs until it is stopped. As JSON: `{ url, port }`. */
export function registerStudio(program: Command, io: Io): void {
  program
    .command("studio")
    .description("Open a page on this machine that shows what is stored.")
    .option("-p, --port <number>", "0 takes a free one", portNumber, PORT)
    .option("-w, --write", "let the page change what is stored")
    .option("--no-open", "only print the address")
    .option(
      "--host <address>",
      "where to listen; others than this machine need a --token; default: 127.0.0.1",
      nonEmpty,
    )
    .addOption(
      new Option("--token <secret>", "what opens the page, instead of a random token for one use").env(
        "STEMMA_STUDIO_TOKEN",
      ),
    )
    .action(async (options: StudioCommandOptions, command: Command) => {
      const database = command.optsWithGlobals<DatabaseOptions>();
      await withStore(command, io, "fail", async ({ store, json }) => {
        // Tells at once of a database that cannot be opened.
        await store.sessions.count();
        const { serveStudio } = await import("../studio/serve-studio.js");
        const { openBrowser } = await import("../studio/serve-studio.js");
        const { port, write = false, host, token } = options;
        const onError = (error: unknown) => reportError(io, error);
        const studio = await serveStudio(store, { port, write, host, token, onError });
        const stopped = untilStopped();
        const url = studio.link();
        if (json) await writeJson(io, { url, port: studio.port });
        else await io.write(`${databaseName(database)}${write ? "" : ", read only"}\n${url}\nCtrl-C ends it.\n`);
        if (options.open && !json && io.isTerminal.output) openBrowser(studio.link());
        await stopped;
        await studio.close();
      });
    });
}

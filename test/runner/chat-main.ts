// The command line, as src/cli/main.ts starts it.
import { registerChat } from "../../src/cli/chat/command.js";
import { processIo } from "../../src/cli/io.js";
import { runCli } from "../../src/cli/run.js";

const code = await runCli(process.argv.slice(2), processIo(), { version: "0.0.0", before: [registerChat] });
if (code !== 0) process.exitCode = code;

// The command line, as src/cli/main.ts starts it.
import { registerChat } from "../../packages/cli/src/chat/command.js";
import { processIo } from "../../packages/cli/src/io.js";
import { runCli } from "../../packages/cli/src/run.js";

const code = await runCli(process.argv.slice(2), processIo(), { version: "0.0.0", before: [registerChat] });
if (code !== 0) process.exitCode = code;

#!/usr/bin/env node
import { packageVersion } from "@stemma/model";
import { registerChat } from "./chat/command.js";
import { processIo } from "./io.js";
import { runCli } from "./run.js";

const code = await runCli(process.argv.slice(2), processIo(), { version: packageVersion, before: [registerChat] });
// A command that went on after a failure has set it already.
if (code !== 0) process.exitCode = code;

#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { registerChat } from "./chat/command.js";
import { processIo } from "./io.js";
import { runCli } from "./run.js";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const code = await runCli(process.argv.slice(2), processIo(), { version, before: [registerChat] });
// A command that went on after a failure has set it already.
if (code !== 0) process.exitCode = code;

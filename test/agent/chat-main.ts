import { Command } from "commander";
import { registerChat } from "../../src/cli/chat/command.js";

const program = new Command("stemma");
registerChat(program);
await program.parseAsync();

// An agent on your own machine: it reads the folder it is started in, and asks before it writes or runs anything.
// Its conversations are files in .sessions. Goes on with the last one.
//
//   STEMMA_MODEL=claude-sonnet-5-5 ANTHROPIC_API_KEY=… node local-agent.mjs
import { createInterface } from "node:readline/promises";
import { builtinTools, createSession, FileSessionStorage, resumeSession } from "stemma/agent";

const sessionStorage = new FileSessionStorage(".sessions");
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const lines = terminal[Symbol.asyncIterator]();

async function ask(question) {
  process.stdout.write(question);
  const { value = "", done } = await lines.next();
  return done ? null : value;
}

const options = {
  model: process.env.STEMMA_MODEL,
  baseURL: process.env.STEMMA_MODEL_BASE_URL,
  sessionStorage,
  systemPrompt: `You help with the files in ${process.cwd()}. Look before you answer.`,
  tools: builtinTools,
  approve: async ({ toolName, input }) => {
    const answer = await ask(`\n${toolName} ${JSON.stringify(input)} — allow? [y/N] `);
    return answer === "y" || "The user said no.";
  },
};

const [latest] = await sessionStorage.list();
const session = latest === undefined ? await createSession(options) : await resumeSession(latest, options);
if (latest !== undefined) console.log(`(going on with ${latest}: ${session.getMessages().length} messages)`);

for (let line = await ask("> "); line !== null; line = await ask("> ")) {
  if (line.trim() === "") continue;
  await session.send(line);
  for await (const event of session.receive()) {
    if (event.type === "text") process.stdout.write(event.text);
    if (event.type === "tool_use") console.log(`· ${event.name} ${JSON.stringify(event.input)}`);
    if (event.type === "error") console.error(event.error.message);
  }
  console.log();
}
await session.close();
terminal.close();

// A storage of your own: four methods, here on a single JSON file. It carries branches and summaries as well.
// Asks one question, then another way, and shows both branches:
//
//   STEMMA_MODEL=… node custom-storage.mjs
import { readFile, rename, writeFile } from "node:fs/promises";
import { createSession, resumeSession } from "stemma/agent";

class OneFileStorage {
  constructor(path) {
    this.path = path;
  }

  async save(state) {
    await this.#write({ ...(await this.#read()), [state.id]: state });
  }

  async load(sessionId) {
    return (await this.#read())[sessionId];
  }

  async delete(sessionId) {
    const { [sessionId]: _, ...rest } = await this.#read();
    await this.#write(rest);
  }

  async list() {
    return Object.keys(await this.#read());
  }

  async #read() {
    return JSON.parse(await readFile(this.path, "utf8").catch(() => "{}"));
  }

  async #write(states) {
    await writeFile(`${this.path}.new`, JSON.stringify(states, null, 2));
    await rename(`${this.path}.new`, this.path);
  }
}

const options = {
  model: process.env.STEMMA_MODEL,
  baseURL: process.env.STEMMA_MODEL_BASE_URL,
  sessionStorage: new OneFileStorage("sessions.json"),
};

async function answer(session) {
  let text = "";
  for await (const event of session.receive()) if (event.type === "text") text += event.text;
  return text;
}

const session = await createSession(options);
await session.send("Name a colour.");
console.log("First answer:", await answer(session));

// Back to the question, for a second answer beside the first.
const [question] = await session.session.getHistory();
await session.session.setActiveLeaf(question.id);
console.log("Second answer:", await answer(session));
await session.close();

const resumed = await resumeSession(session.id, options);
const answers = await resumed.session.getBranches(question.id);
console.log(
  "Branches:",
  answers.map(({ parts }) => parts.map(({ text }) => text).join("")),
);

import { isJsonObject, type JsonObject, Recent } from "@stemma/model";
import { isUuid } from "../../identity.js";
import { parseEntry, readLines } from "../../json-items.js";
import {
  type FileInfo,
  findText,
  type ImportFormat,
  type Item,
  type ParsedSession,
  type Position,
  type Skipped,
} from "../../stemma/session-file.js";
import { ClaudeCodeSession } from "./claude-code-session.js";

/** Lines of sub-agents whose chain is known. */
const CHAINED = 10_000;

/** Types of lines that a file may begin with, beside those that belong to the conversation. */
const OTHERS = [
  "summary",
  "file-history-snapshot",
  "queue-operation",
  "custom-title",
  "ai-title",
  "last-prompt",
  "mode",
];

/**
 * Transcripts of Claude Code. What a file holds of a sub-agent is a session of its own, below that of the file. The id of a
 * session is that of its file, or where the file is named otherwise, the one in its lines.
 */
export const claudeCode: ImportFormat = {
  name: "claude-code",
  about: "Claude Code transcripts (JSONL): an entry per line, with uuid and parentUuid",
  recognises: (first) =>
    isJsonObject(first) &&
    typeof first.type === "string" &&
    (isEntry(first) || isStreamed(first) || OTHERS.includes(first.type)),
  read: readTranscript,
};

function isEntry({ uuid, sessionId, message, ...line }: JsonObject): boolean {
  return typeof uuid === "string" && typeof sessionId === "string" && ("parentUuid" in line || isJsonObject(message));
}

/** True for a line as Claude Code prints it with `--output-format stream-json`: the lines have no parents. */
function isStreamed({ type, session_id }: JsonObject): boolean {
  return typeof session_id === "string" && (type === "system" || type === "user" || type === "assistant");
}

async function* readTranscript(items: AsyncIterable<Item>, file: FileInfo): AsyncGenerator<ParsedSession> {
  const chains = new Recent<string>(CHAINED);
  const early: Skipped[] = [];
  let main: ClaudeCodeSession | null = null;
  let agents: AgentSessions | null = null;
  const skip = (at: Position, why: string): void => {
    if (main === null) early.push({ ...at, why });
    else main.builder.skip(at, why);
  };
  for await (const { line, at, length } of readLines(items, parseEntry, skip)) {
    if (main === null) {
      main = openMain(line, file);
      for (const { why, ...place } of early) main.builder.skip(place, why);
    }
    const isOfAgent = line.isSidechain === true || typeof line.parent_tool_use_id === "string";
    if (isOfAgent && !main.isAgent) {
      agents ??= new AgentSessions(main);
      yield* agents.add(agentOf(line, chains), line, at, length);
      continue;
    }
    main.add(line, at, length);
    if (main.builder.isFull) yield main.piece(false);
  }
  if (main !== null) yield main.piece(true);
  if (agents !== null) yield* agents.end();
}

function openMain(first: JsonObject, { stem }: FileInfo): ClaudeCodeSession {
  const said = findText(first.sessionId) ?? findText(first.session_id) ?? null;
  if (stem.startsWith("agent-") && said !== null) return new ClaudeCodeSession(`${said}/${stem}`, said);
  return new ClaudeCodeSession(isUuid(stem) ? stem : (said ?? stem));
}

// Older versions wrote a sub-agent's lines between those of its session: by its id, or as a chain that begins anew.
function agentOf(line: JsonObject, chains: Recent<string>): string {
  const { uuid, parentUuid } = line;
  const agentId = findText(line.agentId) ?? findText(line.parent_tool_use_id);
  const chain = agentId === undefined ? (chains.get(String(parentUuid)) ?? `sidechain-${uuid}`) : `agent-${agentId}`;
  chains.set(String(uuid), chain);
  return chain;
}

/** Characters of sub-agents' messages that are in memory at once. */
const HELD = 2_000_000;

interface Agent {
  readonly session: ClaudeCodeSession;
  weight: number;
}

/** The sub-agents of a transcript, line by line. Of many, those that said nothing for the longest time leave the memory. */
class AgentSessions {
  /** The one that spoke last is the last. */
  readonly #open = new Map<string, Agent>();
  readonly #resting = new Map<string, Agent>();
  #held = 0;

  constructor(private readonly caller: ClaudeCodeSession) {}

  /** Reads a line of a sub-agent. Gives the pieces that are to be given away. */
  *add(name: string, line: JsonObject, at: Position, length: number): Generator<ParsedSession> {
    const id = `${this.caller.id}/${name}`;
    const agent = this.#agent(id);
    this.#resting.delete(id);
    this.#open.delete(id);
    this.#open.set(id, agent);
    agent.session.add(line, at, length);
    if (agent.session.builder.isFull) yield agent.session.piece(false);
    this.#count(agent);
    for (const [oldest, resting] of this.#open) {
      if (this.#held <= HELD) return;
      yield resting.session.piece(false);
      resting.session.forget();
      this.#count(resting);
      this.#open.delete(oldest);
      this.#resting.set(oldest, resting);
    }
  }

  *end(): Generator<ParsedSession> {
    for (const { session } of [...this.#resting.values(), ...this.#open.values()]) yield session.piece(true);
  }

  #agent(id: string): Agent {
    const known = this.#open.get(id) ?? this.#resting.get(id);
    return known ?? { session: new ClaudeCodeSession(id, this.caller.id), weight: 0 };
  }

  #count(agent: Agent): void {
    const { weight } = agent.session.builder;
    this.#held += weight - agent.weight;
    agent.weight = weight;
  }
}

import type { JsonObject } from "../../model/json-object.js";
import type { ParsedSession, Position } from "../session-file.js";
import { ClaudeCodeSession } from "./claude-code-session.js";

/** Characters of sub-agents' messages that are in memory at once. */
const HELD = 2_000_000;

interface Agent {
  readonly session: ClaudeCodeSession;
  /** What is counted of it. */
  weight: number;
}

/** The sub-agents of a transcript, line by line. Of many, those that said nothing for the longest time leave the memory. */
export class AgentSessions {
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

  /** The last piece of each. */
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

import { existsSync } from "node:fs";
import { type AgentSession, createSession, resolveModel, resumeSession } from "../../agent.js";
import { type CompactFunction, createCompactFunction } from "../../compaction/compact.js";
import type { ContextConfig } from "../../context/block.js";
import { AgentContextProvider } from "../../context/providers/agent-context.js";
import { searchableHistory } from "../../manager/searchable-history.js";
import { SessionManager } from "../../manager/session-manager.js";
import type { ModelObject } from "../../runner/models/model.js";
import { FileSkillProvider } from "../../skills-node.js";
import type { SessionInfo, Store } from "../../storage/contract.js";
import { createSummarizer, type Summarizer } from "../summarizer.js";
import type { ChatOptions } from "./chat-options.js";
import { offlineResponder } from "./offline.js";

/** Marks the sessions that the chat goes on with by itself. */
const SOURCE = "chat";
const COMPACT_AFTER = 100_000;

const SOUL = `You are a helpful assistant in a terminal. Answer briefly, in plain text.
Keep what you learn about the user and their work in the MEMORY block, with set_context, as short lines; correct what has changed.
Search past conversations before you say that you do not know something.`;

/** The session that the chat is in, and how it comes to others. */
export class Conversation {
  readonly manager: SessionManager;
  private open: AgentSession | null = null;

  private constructor(
    readonly store: Store,
    readonly model: ModelObject,
    readonly modelName: string | null,
    private readonly summarizer: Summarizer,
    private readonly skills: string | null,
  ) {
    this.manager = SessionManager.create(store);
  }

  /** Errors: `MODEL_UNAVAILABLE`. */
  static async start(store: Store, options: ChatOptions): Promise<Conversation> {
    const { STEMMA_MODEL, STEMMA_BASE_URL, STEMMA_SKILLS } = process.env;
    const name = options.model ?? (STEMMA_MODEL || null);
    const baseURL = options.baseUrl ?? (STEMMA_BASE_URL || undefined);
    const summarizer = await createSummarizer(options);
    const model = name === null ? offlineResponder() : await resolveModel(name, { baseURL });
    const skills = options.skills ?? (STEMMA_SKILLS || (existsSync("skills") ? "skills" : null));
    return new Conversation(store, model, name, summarizer, skills);
  }

  /** The session that the chat is in. */
  get session(): AgentSession {
    if (this.open === null) throw new TypeError("The conversation has not begun.");
    return this.open;
  }

  /** Goes on with the session of this id, made if it is not there; without an id with the latest chat, else a new one. */
  async enter(id: string | undefined): Promise<void> {
    const target = id ?? (await this.latest())?.id;
    if (target === undefined) return this.begin();
    if ((await this.manager.get(target)) === null) return this.begin(target);
    await this.switchTo(await resumeSession(target, await this.settings()));
    // The blocks may have been written by another session since this one's prompt was frozen.
    await this.session.session.refreshSystemPrompt();
  }

  /** A new session. */
  async begin(id?: string, name?: string): Promise<void> {
    const options = await this.settings();
    await this.switchTo(await createSession({ ...options, source: SOURCE, id, name }));
  }

  /** A copy of the present session, to go on with. */
  async fork(name?: string): Promise<void> {
    const { id } = this.session;
    const options = await this.settings();
    await this.switchTo(
      await createSession({ ...options, source: SOURCE, fork: id, name: name ?? `${await this.name()} (fork)` }),
    );
  }

  async name(): Promise<string> {
    return (await this.manager.get(this.session.id))?.name ?? this.session.id;
  }

  /** Lays a summary over all but the first and the last few messages. Null when there is too little to summarise. */
  async compact(): Promise<{ before: number; after: number; by: string } | null> {
    const { session } = this.session;
    const history = await session.getHistory();
    const compact = this.compactFunction({ protectHead: 1, tailTokenBudget: 500, minTailMessages: 4 });
    const result = await compact(history);
    if (result === null) return null;
    await session.addCompaction(result.summary, result.fromMessageId, result.toMessageId);
    return { before: history.length, after: (await session.getHistory()).length, by: this.summarizer.name };
  }

  async close(): Promise<void> {
    await this.open?.close();
    await this.store.close();
  }

  private async switchTo(session: AgentSession): Promise<void> {
    await this.open?.close();
    this.open = session;
  }

  private async latest(): Promise<SessionInfo | null> {
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<SessionManager["listPage"]>> = await this.manager.listPage({ cursor });
      const found = page.sessions.find(({ source, end_reason }) => source === SOURCE && end_reason === null);
      if (found !== undefined) return found;
      cursor = page.nextCursor;
    } while (cursor !== null);
    return null;
  }

  private async settings() {
    return {
      model: this.model,
      sessionStorage: this.store,
      tools: await this.manager.tools(),
      context: this.blocks(),
      compactAfter: COMPACT_AFTER,
      onCompaction: this.compactFunction({}),
      expandableSummaries: true,
    };
  }

  private blocks(): ContextConfig[] {
    const soul: ContextConfig = { label: "soul", description: "Who you are", provider: { get: () => SOUL } };
    const memory: ContextConfig = {
      label: "memory",
      description: "What you know about the user, in all conversations",
      maxTokens: 2000,
      provider: new AgentContextProvider(this.store, "memory", { shared: true }),
      whenChanged: "remind",
    };
    const history: ContextConfig = {
      label: "history",
      description: "Past conversations",
      provider: searchableHistory(this.store),
    };
    const blocks = [soul, memory, history];
    if (this.skills === null) return blocks;
    const skills = new FileSkillProvider(this.skills);
    return [...blocks, { label: "skills", description: "Instructions to load when they are needed", provider: skills }];
  }

  private compactFunction(limits: {
    protectHead?: number;
    tailTokenBudget?: number;
    minTailMessages?: number;
  }): CompactFunction {
    return createCompactFunction({ ...limits, summarize: (prompt) => this.summarizer.summarize(prompt) });
  }
}

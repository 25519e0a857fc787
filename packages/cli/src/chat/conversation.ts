import { type CompactFunction, type CompactOptions, createCompactFunction, StemmaError } from "@stemma/model";
import { type AgentSession, createSession, type ModelObject, resolveModel, resumeSession } from "@stemma/runner";
import { AgentContextProvider, type ContextConfig, SessionManager, searchableHistory } from "@stemma/session";
import { FileSkillProvider } from "@stemma/session/skills-node";
import type { SessionInfo, Store } from "@stemma/store";
import { localUser } from "../context.js";
import { findSession } from "../find.js";
import type { DatabaseOptions, LocalOptions } from "../open-database.js";
import { createSummarizer, type Summarizer } from "../summarizer.js";
import { offlineResponder } from "./offline/responder.js";
import { offlineLearning } from "./offline/summary.js";

/** Marks the sessions that the chat goes on with by itself. */
const SOURCE = "chat";
const COMPACT_AFTER = 100_000;

type Limits = Pick<CompactOptions, "protectHead" | "tailTokenBudget" | "minTailMessages">;

/** Limits of `/compact`, which covers more than an automatic compaction. */
const BY_HAND: Limits = { protectHead: 1, tailTokenBudget: 500, minTailMessages: 4 };

/** The session that the chat is in, and how it comes to others. All of them are of one user. */
export class Conversation {
  readonly manager: SessionManager;
  /** The store, confined to the user. */
  readonly store: Store;
  private open: AgentSession | null = null;
  private limits: Limits = {};
  private failure: unknown = null;

  private constructor(
    private readonly everything: Store,
    readonly userId: string,
    readonly model: ModelObject,
    readonly modelName: string | null,
    private readonly summarizer: Summarizer,
    private readonly skills: string | null,
  ) {
    this.store = everything.forUser(userId);
    this.manager = SessionManager.create(this.store);
  }

  /** Errors: `MODEL_UNAVAILABLE`. */
  static async start(store: Store, options: ChatOptions): Promise<Conversation> {
    const { STEMMA_MODEL, STEMMA_MODEL_BASE_URL } = process.env;
    const name = options.model ?? (STEMMA_MODEL || null);
    const baseURL = options.baseUrl ?? (STEMMA_MODEL_BASE_URL || undefined);
    const summarizer = await createSummarizer(options);
    const model = name === null ? offlineResponder() : await resolveModel(name, { baseURL });
    const userId = options.user ?? localUser();
    if (options.user === undefined) await takeOverMemory(store, userId);
    return new Conversation(store, userId, model, name, summarizer, options.skills ?? null);
  }

  get session(): AgentSession {
    if (this.open === null) throw new TypeError("The conversation has not begun.");
    return this.open;
  }

  /**
   * Goes on with the session that `session` names (its id, the beginning of it, or its name), or starts one under that id;
   * without it with the latest chat, else with a new one. Resolves to whether the session is new.
   * Errors: `INVALID_ARGUMENT` where several are meant, `SESSION_OWNED`, `SESSION_EXISTS` where `new` asks for one that is there.
   */
  async enter({ session, new: isNew = false }: { session?: string; new?: boolean } = {}): Promise<boolean> {
    if (isNew) {
      await this.begin(session);
      return true;
    }
    const found = session === undefined ? await this.latest() : await this.find(session);
    if (found !== null) await this.resume(found);
    return found === null && this.beginOrResume(session);
  }

  // Another chat may have begun the session since it was looked for.
  private async beginOrResume(id: string | undefined): Promise<boolean> {
    try {
      await this.begin(id);
      return true;
    } catch (error) {
      const begun = StemmaError.isInstance(error, "SESSION_EXISTS") && id !== undefined ? await this.find(id) : null;
      if (begun === null) throw error;
      await this.resume(begun);
      return false;
    }
  }

  /** Goes on with a session. Errors: `SESSION_OWNED`. */
  async resume({ id, name }: SessionInfo): Promise<void> {
    // One of nobody becomes the user's.
    await this.store.sessions.create({ id, name });
    await this.switchTo(await resumeSession(id, await this.settings()));
    // The blocks may have been written by another session since this one's prompt was frozen.
    await this.session.session.refreshSystemPrompt();
  }

  async begin(id?: string, name?: string): Promise<void> {
    const options = await this.settings();
    await this.switchTo(await createSession({ ...options, source: SOURCE, id, name }));
  }

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

  /**
   * Lays a summary over all but the first and the last few messages. Null when nothing was stored (see `Session.compact`);
   * throws what the summariser failed with.
   */
  async compact(): Promise<{ before: number; after: number; by: string } | null> {
    const { session } = this.session;
    const before = (await session.getHistory()).length;
    this.failure = null;
    this.limits = BY_HAND;
    const result = await session.compact().finally(() => {
      this.limits = {};
    });
    if (result !== null) return { before, after: (await session.getHistory()).length, by: this.summarizer.name };
    if (this.failure !== null) throw this.failure;
    return null;
  }

  async close(): Promise<void> {
    await this.open?.close();
    await this.everything.close();
  }

  private async switchTo(session: AgentSession): Promise<void> {
    await this.open?.close();
    this.open = session;
  }

  // A session of nobody counts: chats had no users once.
  private async find(text: string): Promise<SessionInfo | null> {
    const all = SessionManager.create(this.everything);
    const isMeant = ({ id, user_id }: SessionInfo) => user_id === null || user_id === this.userId || id === text;
    return findSession(all, text, isMeant).catch((error: unknown) => {
      if (StemmaError.isInstance(error, "SESSION_NOT_FOUND")) return null;
      throw error;
    });
  }

  private async latest(): Promise<SessionInfo | null> {
    const isChat = ({ source, end_reason }: SessionInfo) => source === SOURCE && end_reason === null;
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<SessionManager["listPage"]>> = await this.manager.listPage({ cursor });
      const found = page.sessions.find(isChat);
      if (found !== undefined) return found;
      cursor = page.nextCursor;
    } while (cursor !== null);
    const { sessions } = await SessionManager.create(this.everything).listPage();
    return sessions.find((session) => session.user_id === null && isChat(session)) ?? null;
  }

  private async settings() {
    return {
      model: this.model,
      sessionStorage: this.store,
      tools: await this.manager.tools(),
      context: chatBlocks(this.store, this.skills),
      compactAfter: COMPACT_AFTER,
      onCompaction: this.compactFunction(),
      onCompactionError: (error: unknown) => {
        this.failure = error;
      },
      expandableSummaries: true,
      // A model writes the memory block itself.
      onLearning: this.modelName === null ? offlineLearning : undefined,
    };
  }

  private compactFunction(): CompactFunction {
    const summarize = (prompt: string) => this.summarizer.summarize(prompt);
    return (messages, context) => createCompactFunction({ ...this.limits, summarize })(messages, context);
  }
}

/** Until chats belonged to users, one memory block served all of them: the local user, who has none yet, takes it over. */
async function takeOverMemory(store: Store, userId: string): Promise<void> {
  const own = new AgentContextProvider(store, "memory", { scope: "user" }).forUser(userId);
  if ((await own.get()) !== null) return;
  const earlier = await new AgentContextProvider(store, "memory", { shared: true }).get();
  if (earlier) await own.set(earlier);
}

export interface ChatOptions extends DatabaseOptions, LocalOptions {
  model?: string;
  baseUrl?: string;
  session?: string;
  new?: boolean;
  user?: string;
  /** A folder. */
  skills?: string | undefined;
}

const SOUL = `You are a helpful assistant in a terminal. Answer briefly, in plain text or simple Markdown.
Keep what you learn about the user and their work in the MEMORY block, with set_context, as short lines; correct what has changed.
Search past conversations before you say that you do not know something.`;

/** Tells what is wrong with the skills of a folder. */
export async function checkSkills(folder: string, tell: (problem: string) => void): Promise<void> {
  await new FileSkillProvider(folder, { onProblem: ({ path, message }) => tell(`${path}: ${message}`) }).get();
}

/**
 * Makes the blocks of a conversation in the chat. `skills` is a folder of skills, or null; problems of skills are not reported,
 * since each conversation has blocks of its own.
 */
function chatBlocks(store: Store, skills: string | null): ContextConfig[] {
  const soul: ContextConfig = { label: "soul", description: "Who you are", provider: { get: () => SOUL } };
  const memory: ContextConfig = {
    label: "memory",
    description: "What you know about the user, in all conversations",
    maxTokens: 2000,
    scope: "user",
    whenChanged: "remind",
  };
  const history: ContextConfig = {
    label: "history",
    description: "Past conversations",
    provider: searchableHistory(store),
  };
  const blocks = [soul, memory, history];
  if (skills === null) return blocks;
  const provider = new FileSkillProvider(skills, { onProblem: () => {} });
  return [...blocks, { label: "skills", description: "Instructions to load when they are needed", provider }];
}

import { foldLabel } from "./block-text.js";
import type { SessionMessage, SessionMessagePart } from "./message.js";
import { readToolPart, type ToolPart, withToolOutput } from "./tool-parts.js";
export const LOAD_TOOL = "load_context";

/** The state after a change, `newest` being the session's newest message number; null when there was nothing to unload. */
export function applySkillChange(state: SkillState, change: SkillChange, newest: number): SkillState | null {
  const { label, key } = change;
  if (change.type === "load") return recordLoad(state, label, key, change.toolCallId);
  const calls = change.toolCallIds ?? [];
  const loaded = calls.reduce((before, id) => recordLoad(before, label, key, id ?? undefined), state);
  return recordUnload(loaded, label, key, newest);
}

/** The state after a document was loaded, by the tool call with this id when there was one. */
export function recordLoad(state: SkillState, label: string, key: string, toolCallId?: string): SkillState {
  const before = find(state.loaded, label, key)?.toolCallIds ?? [];
  const toolCallIds = toolCallId === undefined || before.includes(toolCallId) ? before : [...before, toolCallId];
  return { ...state, loaded: [...without(state.loaded, label, key), { label, key, toolCallIds }] };
}

/**
 * The state after a document was unloaded, `through` being the session's newest message number; null when it was not
 * loaded. Its tool calls stay known: the messages that hold their results may not be stored yet.
 */
export function recordUnload(state: SkillState, label: string, key: string, through: number): SkillState | null {
  const loaded = find(state.loaded, label, key);
  if (!loaded) return null;
  const earlier = find(state.unloaded, label, key)?.toolCallIds ?? [];
  const toolCallIds = [...new Set([...earlier, ...loaded.toolCallIds])];
  return {
    loaded: without(state.loaded, label, key),
    unloaded: [...without(state.unloaded, label, key), { label, key, toolCallIds, through }],
  };
}

/**
 * The message as the model sees it: the results of `load_context` calls whose document was unloaded are a short note.
 * `position` is the message's number; null where messages have none, and then only tool call ids tell. The message given
 * is not changed; it is returned itself when nothing is hidden.
 */
export function hideUnloaded(message: SessionMessage, position: number | null, state: SkillState): SessionMessage {
  if (state.unloaded.length === 0) return message;
  const parts = message.parts.map((part) => hidePart(part, position, state));
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
}

function hidePart(part: SessionMessagePart, position: number | null, state: SkillState): SessionMessagePart {
  const tool = readToolPart(part);
  if (tool === null || tool.output === undefined) return part;
  const skill = unloadedBy(tool, position, state);
  if (skill === null || isNote(tool.output)) return part;
  const note = `[Unloaded: ${skill.label}/${skill.key}. Call load_context to load it again.]`;
  return withToolOutput(part, inShapeOf(tool.output, note));
}

function unloadedBy(tool: ToolPart, position: number | null, state: SkillState): LoadedSkill | null {
  const { toolCallId, toolName } = tool;
  // Some results do not name their tool; then only the call's id tells.
  if (toolName !== null && toolName !== LOAD_TOOL) return null;
  const called = (skill: LoadedSkill) => toolCallId !== null && skill.toolCallIds.includes(toolCallId);
  // Loaded again after the unload, perhaps within the same message.
  if (state.loaded.some(called)) return null;
  const byCall = state.unloaded.find(called);
  if (byCall) return byCall;
  const named = skillOf(tool.input);
  if (toolName === null || position === null || named === null) return null;
  const skill = find(state.unloaded, named.label, named.key);
  return skill && position <= skill.through ? skill : null;
}

export function skillOf(input: unknown): { label: string; key: string } | null {
  if (typeof input !== "object" || input === null) return null;
  const { label, block, key } = input as Record<string, unknown>;
  const name = label ?? block;
  return typeof name === "string" && typeof key === "string" ? { label: name, key } : null;
}

// Ours, or that of `agents`, which wrote it into the stored message.
export function isNote(output: unknown): boolean {
  const text = textIn(output);
  if (text.startsWith("[Unloaded: ")) return text.endsWith(". Call load_context to load it again.]");
  return text.startsWith("[skill unloaded: ") && text.endsWith("]");
}

export function textIn(output: unknown): string {
  if (typeof output === "string") return output;
  if (Array.isArray(output)) return output.length === 1 ? textIn(output[0]) : "";
  if (typeof output !== "object" || output === null) return "";
  const { value, text } = output as Record<string, unknown>;
  return textIn(value ?? text);
}

// An output is text, or one of the AI SDK's typed forms around it.
function inShapeOf(output: unknown, note: string): unknown {
  if (Array.isArray(output)) return [{ type: "text", text: note }];
  if (typeof output !== "object" || output === null || !("value" in output)) return note;
  return { ...output, value: inShapeOf(output.value, note) };
}

function find<Skill extends LoadedSkill>(skills: readonly Skill[], label: string, key: string): Skill | null {
  return skills.find((skill) => isSame(skill, label, key)) ?? null;
}

function without<Skill extends LoadedSkill>(skills: readonly Skill[], label: string, key: string): Skill[] {
  return skills.filter((skill) => !isSame(skill, label, key));
}

// Labels are unique without regard to case; keys are exact.
export function isSame(skill: { readonly label: string; readonly key: string }, label: string, key: string): boolean {
  return skill.key === key && foldLabel(skill.label) === foldLabel(label);
}

/**
 * Which skills the model loaded and unloaded in a session. An unload empties the results of earlier `load_context`
 * calls in what the model sees: those of the named tool calls, and those stored no later than `through`.
 */
export interface SkillState {
  readonly loaded: readonly LoadedSkill[];
  readonly unloaded: readonly UnloadedSkill[];
}

interface LoadedSkill {
  readonly label: string;
  readonly key: string;
  /** Ids of the tool calls that loaded it; empty when the host called the tool without one. */
  readonly toolCallIds: readonly string[];
}

interface UnloadedSkill extends LoadedSkill {
  /** The newest message number of the session when it was unloaded. */
  readonly through: number;
}

export const NO_SKILLS: SkillState = { loaded: [], unloaded: [] };

/** A note of a session on its skills. `toolCallIds` of an unload are loads that nobody noted; null for one without a call. */
export type SkillChange =
  | { readonly type: "load"; readonly label: string; readonly key: string; readonly toolCallId?: string | undefined }
  | {
      readonly type: "unload";
      readonly label: string;
      readonly key: string;
      readonly toolCallIds?: readonly (string | null)[] | undefined;
    };

/** Looks through messages, newest first, for the calls that loaded a document. */
export interface LoadFinder {
  look(message: SessionMessage): void;
  /** The loads, the latest first; the id of each call, null for one without. */
  readonly loads: readonly {
    readonly label: string;
    readonly key: string;
    readonly calls: readonly (string | null)[];
  }[];
  /** The ids of the calls whose document is still to be read. */
  callsOf(label: string, key: string): readonly (string | null)[];
}

/** Tells what is loaded where nobody recorded it, as in the messages of an upgraded database. */
export function createLoadFinder(): LoadFinder {
  const loads: { label: string; key: string; calls: (string | null)[] }[] = [];
  // Results of calls that stand in a part before them.
  const results = new Map<string, string>();
  const look = ({ parts }: SessionMessage): void => {
    for (const part of parts.toReversed()) {
      const tool = readToolPart(part);
      if (tool === null || (tool.toolName ?? LOAD_TOOL) !== LOAD_TOOL) continue;
      const { toolCallId: id, input, output } = tool;
      const text = output === undefined || isNote(output) ? null : textIn(output);
      const named = skillOf(input);
      if (named === null) {
        if (text !== null && id !== null) results.set(id, text);
        continue;
      }
      const result = text ?? (id === null ? undefined : results.get(id));
      if (result === undefined || result === `Not found: ${named.key}`) continue;
      const load = loads.find((each) => isSame(each, named.label, named.key));
      if (load === undefined) loads.push({ ...named, calls: [id] });
      else load.calls.push(id);
    }
  };
  return {
    look,
    loads,
    callsOf: (label, key) => loads.find((each) => isSame(each, label, key))?.calls ?? [],
  };
}

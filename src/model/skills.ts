/**
 * Which skills the model loaded and unloaded in a session. An unload empties the results of earlier `load_context`
 * calls in what the model sees: those of the named tool calls, and those stored no later than `through`.
 */
export interface SkillState {
  readonly loaded: readonly LoadedSkill[];
  readonly unloaded: readonly UnloadedSkill[];
}

export interface LoadedSkill {
  readonly label: string;
  readonly key: string;
  /** Ids of the tool calls that loaded it; empty when the host called the tool without one. */
  readonly toolCallIds: readonly string[];
}

export interface UnloadedSkill extends LoadedSkill {
  /** The newest message number of the session when it was unloaded. */
  readonly through: number;
}

export const NO_SKILLS: SkillState = { loaded: [], unloaded: [] };

/** What a session notes of its skills. `toolCallIds` of an unload are loads that nobody noted; null for one without a call. */
export type SkillChange =
  | { readonly type: "load"; readonly label: string; readonly key: string; readonly toolCallId?: string | undefined }
  | {
      readonly type: "unload";
      readonly label: string;
      readonly key: string;
      readonly toolCallIds?: readonly (string | null)[] | undefined;
    };

import type { BaseMessage } from "@langchain/core/messages";
import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { StemmaError } from "../../errors.js";
import type { Store } from "../../storage/contract.js";
import { isLangChainMessage } from "../mirror/message.js";
import { type MirroredMessages, type MirrorPlan, planMirror } from "../mirror/mirror.js";
import type { CheckpointReader } from "./checkpoint-reader.js";
import type { EncodedChannels } from "./encode-channels.js";
import type { Place } from "./keys.js";
import { countOf } from "./segments.js";
import type { StoredCheckpoint } from "./stored-checkpoint.js";
import { segmentsOf } from "./values.js";

/** What is put, and the checkpoint that it follows. */
export interface Put {
  readonly place: Place;
  readonly parent: StoredCheckpoint | null;
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
}

/** How an attempt to put looks at the session. */
export interface View {
  /** The message is there with which the parent's messages end. */
  readonly hasLeaf: boolean;
  /** Messages are looked up before they are written: one of them is in the session already. */
  readonly looksUp: boolean;
}

/** The view of the first attempt. */
export const FIRST_VIEW: View = { hasLeaf: true, looksUp: false };

/** Plans how the messages of a checkpoint's channel come into the session. */
export class ChannelMirror {
  constructor(
    private readonly store: Store,
    private readonly reader: CheckpointReader,
    private readonly channel: string | false,
  ) {}

  /** What is written into the session with a checkpoint; null where nothing of it is mirrored. */
  async plan(put: Put, encoded: EncodedChannels, view: View): Promise<MirrorPlan | null> {
    const { channel } = this;
    const { place, parent, checkpoint, metadata } = put;
    // Where the parent's messages end; undefined where they are not in the session, or not any more.
    const leaf = view.hasLeaf ? parent?.leaf : undefined;
    if (channel === false || place.namespace !== "") return null;
    const messages = checkpoint.channel_values[channel];
    // A channel without a value yet, or one of which only changes are stored.
    if (messages === undefined) return leaf === undefined ? null : { leaf, writes: [] };
    if (!isMessages(messages)) return null;
    const before = leaf === undefined ? null : this.#mirrored(put, encoded, leaf, channel);
    const session = this.store.session(place.threadId);
    const isKept = versionOf(parent, channel) === (checkpoint.channel_versions[channel] ?? null);
    if (before !== null && isKept) {
      const moves = metadata.source === "update" || metadata.source === "fork";
      return { leaf: before.leaf, writes: moves ? [{ session: session.id, activeLeaf: before.leaf }] : [] };
    }
    if (before === null && messages.length === 0) return { leaf: null, writes: [] };
    return planMirror(session, messages, before, { createdAt: checkpoint.ts, looksUp: view.looksUp });
  }

  #mirrored(put: Put, encoded: EncodedChannels, leaf: string | null, channel: string): MirroredMessages {
    const { place, parent } = put;
    const refs = (parent?.channels ?? []).filter(([name]) => name === channel);
    const shared = encoded.shared.get(channel);
    const { segments, skip } = segmentsOf(refs[0]?.[2] ?? null);
    const length = countOf(segments) - skip;
    return {
      leaf,
      count: shared?.count ?? 0,
      isBeginning: refs.length === 0 || (length > 0 && shared !== undefined && shared.start + shared.count === length),
      load: async () => {
        const values = await this.reader.values(place, { channels: refs, frames: parent?.frames ?? [] });
        const messages = values?.get(channel) ?? [];
        return isMessages(messages) ? messages : [];
      },
    };
  }
}

/** The view of the next attempt, after what another program wrote or deleted meanwhile, or what the view left out. Throws any other error. */
export function betterView(view: View, error: unknown): View {
  if (!StemmaError.isInstance(error)) throw error;
  switch (error.code) {
    case "RECORD_CONFLICT":
      return view;
    case "MESSAGE_EXISTS":
      return { ...view, looksUp: true };
    case "PARENT_NOT_FOUND":
    case "MESSAGE_NOT_FOUND":
      return { hasLeaf: false, looksUp: true };
    default:
      throw error;
  }
}

function isMessages(value: unknown): value is BaseMessage[] {
  return Array.isArray(value) && value.every(isLangChainMessage);
}

function versionOf(stored: StoredCheckpoint | null, channel: string): number | string | null {
  return stored?.channels.find(([name]) => name === channel)?.[1] ?? null;
}

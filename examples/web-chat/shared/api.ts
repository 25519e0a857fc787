/** Who is signed in, and which model answers: null stands for the offline responder. */
export interface Me {
  readonly user: string | null;
  readonly model: string | null;
}

/** Where a fact comes from. */
export interface Origin {
  /** ISO time. */
  readonly writtenAt: string;
  readonly author: "model" | "program" | "learning" | "import";
  /** The message that it was learned from; null when there is none, or its chat was deleted. */
  readonly message: {
    readonly chatId: string;
    readonly chatName: string;
    readonly messageId: string;
    readonly text: string;
  } | null;
}

/** A line of the memory block. */
export interface Fact {
  readonly text: string;
  /** Null when it is older than the versions that are kept. */
  readonly origin: Origin | null;
}

/** The memory block as it was after one write. */
export interface Version {
  readonly version: number;
  readonly writtenAt: string;
  readonly author: Origin["author"] | null;
  readonly facts: readonly string[];
}

export interface Memory {
  readonly facts: readonly Fact[];
  /** The newest first; the present one is among them. */
  readonly versions: readonly Version[];
}

export interface FoundMessage {
  readonly chatId: string;
  readonly chatName: string;
  readonly messageId: string;
  readonly role: string;
  /** What matched stands between « and ». */
  readonly snippet: string;
  readonly createdAt: string;
}

import type { UIMessage } from "ai";
import { coreOf, type Session } from "../../session/session.js";

/** Stores the states of one answer, in their order. */
export class StepWriter {
  /** All writes, what they started included. */
  settled: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly session: Session,
    private readonly parentId: string | null,
  ) {}

  /** Resolves once the message is stored. A compaction that the write starts goes on behind it. */
  write(message: UIMessage): Promise<void> {
    const stored = new Promise<void>((resolve, reject) => {
      const unsubscribe = coreOf(this.session).events.watch((event) => {
        if (event.type === "messages" && event.ids.includes(message.id)) resolve();
      });
      const written = this.session.upsertMessage(message, this.parentId);
      const ended = written.then(() => resolve(), reject).finally(unsubscribe);
      this.settled = Promise.allSettled([this.settled, ended]);
    });
    return stored;
  }
}

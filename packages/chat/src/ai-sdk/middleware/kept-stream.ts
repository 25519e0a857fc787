import type { RememberedStep } from "./remembered-step.js";
import type { StreamPart } from "./sdk-types.js";

/**
 * Passes each chunk on at once, and has the step stored before its end is told. The stream is read at the model's pace: a reader
 * that waits holds up no other call of the session. One that leaves ends the answer, as an abort does.
 */
export function keptStream(stream: ReadableStream<StreamPart>, step: RememberedStep): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  const { abortSignal } = step.params;
  const stop = (): void => void step.end("aborted");
  let isLeft = false;
  const read = async (controller: ReadableStreamDefaultController<StreamPart>): Promise<void> => {
    let hasFailed = false;
    const pass = (chunk: StreamPart): void => {
      if (!isLeft) controller.enqueue(chunk);
    };
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const chunk = next.value;
      hasFailed ||= chunk.type === "error";
      step.add(chunk);
      if (chunk.type === "finish") {
        const failure = await step.end(hasFailed ? "error" : null);
        if (failure !== null) pass({ type: "error", error: failure });
      }
      pass(chunk);
    }
    // One without its end broke off.
    await step.end("error");
    if (!isLeft) controller.close();
  };
  return new ReadableStream<StreamPart>({
    start(controller) {
      if (abortSignal?.aborted) stop();
      abortSignal?.addEventListener("abort", stop, { once: true });
      const reading = read(controller).catch(async (error) => {
        await step.end(step.isAborted ? "aborted" : "error");
        if (!isLeft) controller.error(error);
      });
      void reading.finally(() => abortSignal?.removeEventListener("abort", stop));
    },
    async cancel(reason) {
      isLeft = true;
      await Promise.all([step.end("aborted"), reader.cancel(reason)]);
    },
  });
}

/**
 * The bytes of a stream, read as they are asked for. `ended` is called once they are read to the end, fail or are given up. When
 * `signal` is aborted, they are at their end.
 */
export function untilEnd(
  body: ReadableStream<Uint8Array>,
  ended: () => void,
  signal?: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  signal?.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
        } catch (error) {
          ended();
          throw error;
        }
        ended();
        controller.close();
      },
      cancel: async (reason) => {
        ended();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

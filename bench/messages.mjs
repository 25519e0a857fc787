// Conversations of mixed size, the same for every candidate: text, tool calls with structured outputs, some large.

/** Numbers from 0 to 1, the same for a seed. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SYLLABLES = "ka to mi ra sen dor el vin qua tor ma lo shi ber nu gan pre sto cle far".split(" ");

/** `count` messages; deterministic for a seed. */
export function makeMessages(count, { seed = 1, prefix = "m" } = {}) {
  const next = random(seed);
  const vocabulary = Array.from({ length: 4000 }, () =>
    Array.from({ length: 1 + Math.floor(next() * 3) }, () => SYLLABLES[Math.floor(next() * SYLLABLES.length)]).join(""),
  );
  const words = (n) =>
    Array.from({ length: n }, () => vocabulary[Math.floor(next() ** 3 * vocabulary.length)]).join(" ");
  return Array.from({ length: count }, (_, index) => {
    const id = `${prefix}${index}`;
    if (index % 2 === 0)
      return { id, role: "user", parts: [{ type: "text", text: words(8 + Math.floor(next() * 40)) }] };
    const parts = [{ type: "text", text: words(20 + Math.floor(next() * 120)) }];
    if (index % 3 === 0) {
      parts.unshift({
        type: "tool-lookup",
        toolCallId: `call-${id}`,
        state: "output-available",
        input: { query: words(4), page: index },
        output: { rows: Array.from({ length: 5 }, (_, row) => ({ id: row, name: words(3), score: next() })), total: 5 },
      });
    }
    if (index % 97 === 0) parts[parts.length - 1].text += ` ${words(3000)}`;
    return { id, role: "assistant", parts };
  });
}

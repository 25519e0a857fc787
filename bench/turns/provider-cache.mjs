// What a provider's cache of prompt prefixes makes of a request, as Anthropic documents its own: a request names up to four
// breakpoints; what was sent up to one of them is kept for a while. A later request reads the longest kept prefix that it
// finds at a breakpoint or up to 20 pieces before one.
import { createHash } from "node:crypto";

const LOOK_BACK = 20;
const READ = 0.1;

/** `ttl` in milliseconds, `write` what a token costs that is kept, in tokens; a shorter prefix than `minimum` is not kept. */
export function createProviderCache({ ttl, write, minimum = 1024 }) {
  /** When a prefix goes, by its hash. */
  const kept = new Map();

  /** The cost of a request in tokens. `pieces` are its parts in order, each with `text`, `tokens`, and whether it is a breakpoint. */
  return function send(pieces, now) {
    const hash = createHash("sha256");
    let tokens = 0;
    const prefixes = pieces.map((piece) => {
      hash.update(`\0${piece.text}`);
      tokens += piece.tokens;
      return { key: hash.copy().digest("hex"), tokens };
    });
    let read = 0;
    let written = 0;
    for (const [index, { isBreakpoint }] of pieces.entries()) {
      if (!isBreakpoint || prefixes[index].tokens < minimum) continue;
      written = prefixes[index].tokens;
      for (let back = index; back >= Math.max(0, index - LOOK_BACK); back -= 1) {
        const { key, tokens: size } = prefixes[back];
        if ((kept.get(key) ?? 0) < now) continue;
        kept.set(key, now + ttl);
        read = Math.max(read, size);
        break;
      }
      kept.set(prefixes[index].key, now + ttl);
    }
    const stored = Math.max(0, written - read);
    return { cost: read * READ + stored * write + (tokens - Math.max(written, read)), tokens, read };
  };
}

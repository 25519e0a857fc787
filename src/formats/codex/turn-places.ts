import type { Place, SessionBuilder } from "../session-builder.js";
import type { Position } from "../session-file.js";

/** Turns that a rollback can lead back to. */
const TURNS = 10_000;

/** The places above the turns of a path, of a long one those of the last turns. */
export class TurnPlaces {
  #places: Place[] = [];

  constructor(private readonly builder: SessionBuilder) {}

  begin(place: Place): void {
    this.#places.push(place);
    if (this.#places.length >= 2 * TURNS) this.#places = this.#places.slice(TURNS);
  }

  /** The place above the last `turns` turns, or `here`, the present one, where none is known. Null for what is no number of turns. */
  rollBack(turns: unknown, at: Position, here: Place): Place | null {
    if (!Number.isSafeInteger(turns) || Number(turns) < 1) return null;
    const kept = this.#places.length - Number(turns);
    const [first] = this.#places;
    if (kept < 0 && first !== undefined && first.id !== null)
      this.builder.skip(at, `it rolls back more than ${TURNS} turns; what follows is attached as if it were fewer`);
    const place = this.#places[Math.max(0, kept)] ?? here;
    this.#places = this.#places.slice(0, Math.max(0, kept));
    return place;
  }
}

import { NEAR } from "../../model/rank.js";

/** How many documents are counted, and their lengths averaged, in a session or a small table: of more the newest. */
export const SAMPLED = 1_000;

/** In so few a word is looked for where they are counted. */
export const SMALL = 250;

/** In so few messages of a range a sequence is looked for in each of them, in more by the inverted index. */
export const FEW = 5_000;

/**
 * And in so few, where they are read sooner than the rows of all sessions that hold the sequences. Those of several sessions are put
 * in order for each sequence otherwise.
 */
export const ONCE = 20_000;
export const ONCE_OF_SESSIONS = 100_000;

/** A sequence that so many messages hold is in too many of them to look for it beside each match. */
export const MANY = 2_000;

/** From so many matches, or more, is estimated how many rows hold what very many do. */
export const ESTIMATED_FROM = 50;

/** A table of fewer pages is small. */
export const FEW_PAGES = 32;

/** Rows whose numbers are in one part of so many, or in parts side by side, may stand near each other. */
export const PART = 4 * NEAR;

/**
 * So many rows, which stand all over the table, tell how many there are, and which words surely are in more of them than
 * `most`, by this factor. Each is the second one of its page: the first is longer than most, since it had no room on the page before.
 */
export const PROBED = 64;
export const SURELY = 1.5;

/** So many are looked at where those hold a word, but in too few of them to tell. To read these takes less than to look the word up. */
export const PROBED_AGAIN = 256;

/** From how far the first rows go that the index gives, in the order of the table, is guessed how many hold a sequence. */
export const FIRST = 1_000;

/** In a table of fewer pages a session is not much shorter than all. */
export const LARGE = 1_000;

/** To read a row that the index gives takes as long as to read so many that follow each other. */
export const ROWS_IN_ORDER = 3;

/** Rows of a sequence that others may stand beside are given as they are, where they are no more. */
export const UNSORTED = 1_000;

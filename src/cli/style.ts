/** Ways to set a piece of text off. Each gives the text as it is where nothing can be set off. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly italic: Paint;
  readonly underline: Paint;
  readonly strike: Paint;
  readonly accent: Paint;
  readonly warning: Paint;
  /** A word that was looked for. */
  readonly match: Paint;
}

type Paint = (text: string) => string;

const paintedBy = (paint: (on: number, off: number) => Paint): Style => ({
  bold: paint(1, 22),
  dim: paint(2, 22),
  italic: paint(3, 23),
  underline: paint(4, 24),
  strike: paint(9, 29),
  accent: paint(36, 39),
  warning: paint(33, 39),
  match: (text) => paint(1, 22)(paint(33, 39)(text)),
});

const COLOURED = paintedBy((on, off) => (text) => `\u001b[${on}m${text}\u001b[${off}m`);
const PLAIN = paintedBy(() => (text) => text);

/** The styles for an output: none unless it is a terminal, and none where `NO_COLOR` or a `dumb` terminal forbids them. */
export function styleFor(isTerminal: boolean): Style {
  return isTerminal && !process.env.NO_COLOR && process.env.TERM !== "dumb" ? COLOURED : PLAIN;
}

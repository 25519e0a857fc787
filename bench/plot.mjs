// The comparison as an SVG: for each measure that matters most one line with a dot per candidate, on a logarithmic scale.

const WIDTH = 860;
const LEFT = 250;
const RIGHT = 30;
const TOP = 96;
const LINE = 48;
const BOTTOM = 46;

/** What a chat does most, each where the conversation is long. */
const MEASURES = [
  "append at 10,000",
  "newest 50 at 10,000",
  "history at 10,000",
  "cold open to the newest 50 at 1,000",
  "Postgres: append at 10,000",
];

/** On a page that is dark the picture is dark too. */
const STYLE = `
text { fill: #1f2328 }
.ground { fill: #fff }
.grid { stroke: #d8dee4 }
.one { stroke: #1f2328 }
circle { stroke: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ground { fill: #0d1117 }
  .grid { stroke: #30363d }
  .one { stroke: #e6edf3 }
  circle { stroke: #0d1117 }
}`;

const CAPTION = "Time as a multiple of hand-written SQL on the same database (1×); further left is faster";

/** A colour of its own for each; the last ones are drawn over the others. */
const COLOURS = {
  "one file per session": "#b08900",
  "one row per session": "#868e96",
  "JSONL as pi writes it": "#15aabf",
  "OpenAI file session": "#8ccf98",
  "OpenAI MemorySession": "#2f9e44",
  "LangGraph checkpointer": "#7048e8",
  "agents@0.22 Session": "#74b0e8",
  "agents@0.22 provider": "#1c7ed6",
  "agents@0.32": "#ffc078",
  "agents@0.32 with its index": "#e8590c",
  "stemma, search off": "#f2a5be",
  stemma: "#d6336c",
};

/** Draws each candidate's time as a multiple of the baseline's; of the report's comparisons those that matter most. */
export function drawPlot(all) {
  const comparisons = all.filter(({ measure }) => MEASURES.includes(measure));
  const measures = MEASURES.filter((name) => comparisons.some(({ measure }) => measure === name));
  const candidates = Object.keys(COLOURS).filter((name) => comparisons.some(({ candidate }) => candidate === name));
  const medians = comparisons.map(({ median }) => median);
  const low = 10 ** Math.floor(Math.log10(Math.min(...medians, 0.5)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...medians, 2)));
  const x = (value) =>
    LEFT + ((Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * (WIDTH - LEFT - RIGHT);
  const y = (measure) => TOP + (measures.indexOf(measure) + 0.5) * LINE;
  const bottom = TOP + measures.length * LINE;
  const dots = candidates.flatMap((name) => comparisons.filter(({ candidate }) => candidate === name));

  const ticks = [];
  for (let power = Math.log10(low); power <= Math.log10(high); power += 1) ticks.push(10 ** power);
  const shapes = [
    ...ticks.flatMap((tick) => [
      `<line x1="${x(tick)}" x2="${x(tick)}" y1="${TOP}" y2="${bottom}" class="${tick === 1 ? "one" : "grid"}"/>`,
      text(x(tick), bottom + 18, `${Number(tick.toPrecision(1))}×`, 'text-anchor="middle"'),
    ]),
    ...measures.map((measure) => text(LEFT - 12, y(measure) + 4, measure, 'text-anchor="end"')),
    ...dots.map(({ measure, candidate, median }) => {
      const title = `<title>${escapeXml(candidate)}, ${escapeXml(measure)}: ${median.toPrecision(3)}×</title>`;
      const radius = candidate === "stemma" ? 7 : 5;
      return `<circle cx="${x(median).toFixed(1)}" cy="${y(measure)}" r="${radius}" fill="${COLOURS[candidate]}">${title}</circle>`;
    }),
    ...legend([...candidates].reverse()),
    text(LEFT, bottom + 38, CAPTION),
  ];
  const height = bottom + BOTTOM;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${CAPTION}">
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${height}" class="ground"/>
${shapes.join("\n")}
</svg>
`;
}

function legend(candidates) {
  const columns = 4;
  return candidates.flatMap((candidate, index) => {
    const left = 24 + (index % columns) * ((WIDTH - 24) / columns);
    const top = 24 + Math.floor(index / columns) * 20;
    return [
      `<circle cx="${left}" cy="${top}" r="5" fill="${COLOURS[candidate]}"/>`,
      text(left + 10, top + 4, candidate),
    ];
  });
}

export function text(left, top, words, attributes = "") {
  return `<text x="${left.toFixed(1)}" y="${top}" fill="#222" ${attributes}>${escapeXml(words)}</text>`;
}

export function escapeXml(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

// The curves as an SVG: a panel for each store, a line for each call, both scales logarithmic.
import { escapeXml, text } from "../plot.mjs";

const PANEL = { width: 420, height: 300, left: 64, right: 20, top: 44, bottom: 44 };
const LEGEND = 26;
const COLOURS = ["#d6336c", "#1c7ed6", "#2f9e44", "#e8590c", "#7048e8", "#868e96", "#0c8599"];
const CAPTION = "What a call takes as the store grows: milliseconds, by messages stored";

export function drawCurves(curves) {
  const stores = [...new Set(curves.map(({ store }) => store))];
  const works = [...new Set(curves.map(({ work }) => work))];
  const points = curves.flatMap((curve) => curve.points);
  const x = scaleOf(
    points.map(({ size }) => size),
    PANEL.left,
    PANEL.width - PANEL.right,
  );
  const y = scaleOf(
    points.map(({ median }) => median),
    PANEL.height - PANEL.bottom,
    PANEL.top,
  );
  const panels = stores.map((store, index) => {
    const lines = curves
      .filter((curve) => curve.store === store)
      .map((curve) => lineOf(curve, COLOURS[works.indexOf(curve.work)], x, y));
    return `<g transform="translate(${index * PANEL.width} 0)">${[...axesOf(store, x, y), ...lines].join("\n")}</g>`;
  });
  const width = stores.length * PANEL.width;
  const height = PANEL.height + Math.ceil(works.length / 3) * LEGEND + 10;
  const legend = works.flatMap((work, index) => {
    const [left, top] = [
      PANEL.left + (index % 3) * ((width - PANEL.left) / 3),
      PANEL.height + Math.floor(index / 3) * LEGEND + 12,
    ];
    return [`<circle cx="${left}" cy="${top}" r="5" fill="${COLOURS[index]}"/>`, text(left + 10, top + 4, work)];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${CAPTION}">
<rect width="${width}" height="${height}" fill="#fff"/>
${[...panels, ...legend].join("\n")}
</svg>
`;
}

/** Places values between whole powers of ten. */
function scaleOf(values, from, to) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const place = (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from);
  return Object.assign(place, { ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)) });
}

function axesOf(store, x, y) {
  const { left, right, top, bottom, width, height } = PANEL;
  return [
    text(left, 22, store, 'font-size="14" font-weight="600"'),
    text(left, 38, "ms", 'fill-opacity="0.6"'),
    text(width - right, height - bottom + 34, "messages", 'fill-opacity="0.6" text-anchor="end"'),
    ...x.ticks.flatMap((tick) => [
      `<line x1="${x(tick)}" x2="${x(tick)}" y1="${top}" y2="${height - bottom}" stroke="#eee"/>`,
      text(x(tick), height - bottom + 18, shortOf(tick), 'text-anchor="middle"'),
    ]),
    ...y.ticks.flatMap((tick) => [
      `<line x1="${left}" x2="${width - right}" y1="${y(tick)}" y2="${y(tick)}" stroke="#ddd"/>`,
      text(left - 8, y(tick) + 4, String(Number(tick.toPrecision(1))), 'text-anchor="end"'),
    ]),
  ];
}

function lineOf({ store, work, points }, colour, x, y) {
  const places = points.map(({ size, median }) => `${x(size).toFixed(1)},${y(median).toFixed(1)}`).join(" ");
  const dots = points.map(({ size, median }) => {
    const title = escapeXml(`${store}, ${work}, ${size.toLocaleString("en")}: ${median.toPrecision(3)} ms`);
    return `<circle cx="${x(size).toFixed(1)}" cy="${y(median).toFixed(1)}" r="4" fill="${colour}" stroke="#fff"><title>${title}</title></circle>`;
  });
  return [`<polyline points="${places}" fill="none" stroke="${colour}" stroke-width="2"/>`, ...dots].join("\n");
}

/** `10,000` as `10k`. */
export const shortOf = (count) => (count >= 1e6 ? `${count / 1e6}M` : count >= 1e3 ? `${count / 1e3}k` : String(count));

import type { UsageView } from "../../api.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { FilterField } from "../components/filter-field.js";
import { FiguresTable, UsageChart, UsageTable } from "../components/usage-chart.js";
import { cost, count } from "../format.js";
import { useResource } from "../hooks/use-resource.js";
import { linkHere, linkTo } from "../location.js";
import type { Place } from "../router.js";

const KINDS = ["day", "model", "session"] as const;

/** Tokens and cost by day, model or session, and what compactions saved. */
export function UsagePage({ place }: { readonly place: Place }) {
  const by = KINDS.find((kind) => kind === place.query.get("by")) ?? "day";
  const [id, user, from, to] = ["id", "user", "from", "to"].map((name) => place.query.get(name));
  const { data, error, isLoading, reload } = useResource("usage", { by, id, user, from, to });
  return (
    <div class="page usage-page">
      <div class="page-head">
        <h1>Usage</h1>
        <nav class="tabs" aria-label="Usage by">
          {KINDS.map((kind) => (
            <a key={kind} href={linkHere({ by: kind })} aria-current={kind === by ? "page" : undefined}>
              By {kind}
            </a>
          ))}
        </nav>
        <div class="filters">
          <FilterField name="from" label="From" type="date" place={place} />
          <FilterField name="to" label="Until" type="date" place={place} />
          <FilterField name="user" label="User" place={place} />
          <FilterField name="id" label="Session" place={place} />
        </div>
      </div>
      {error && <Failure error={error} retry={reload} />}
      {data === null && !error && <Loading />}
      {data && data.rows.length === 0 && data.compactions.rows.length === 0 && !isLoading && (
        <Empty title="No usage is recorded here.">
          Your program records it with <code>manager.addUsage(id, input, output, cost)</code>.
        </Empty>
      )}
      {data && data.rows.length > 0 && (
        <>
          <Totals total={data.total} />
          {by === "day" && <UsageChart rows={data.rows} />}
          <UsageTable rows={data.rows} by={by} />
        </>
      )}
      {data && data.compactions.rows.length > 0 && <CompactionTable {...data.compactions} sessionId={id ?? null} />}
    </div>
  );
}

function Totals({ total }: { readonly total: UsageView["total"] }) {
  const figures = [
    ["Requests", count(total.requests)],
    ["Input tokens", count(total.inputTokens)],
    ["Output tokens", count(total.outputTokens)],
    ["Cost", cost(total.cost)],
  ] as const;
  return (
    <dl class="totals">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type Compactions = UsageView["compactions"];

const NAMES = { day: "Day (UTC)", session: "Session", compaction: "Compaction" } as const;

/** A table of compactions: tokens of the covered messages before, and after. */
function CompactionTable({ by, rows, total, sessionId }: Compactions & { readonly sessionId: string | null }) {
  const highest = Math.max(1, ...rows.map((row) => row.tokensBefore));
  return (
    <section class="compactions" aria-label="Compactions">
      <h2>Compactions</h2>
      <p class="about">
        {count(total.compactions)} made {count(total.tokensAfter)} tokens of {count(total.tokensBefore)}: {saved(total)}{" "}
        less in each request that holds a summary. Estimated, as of when each was made.
      </p>
      <FiguresTable
        label={`Compactions by ${by}`}
        rows={rows}
        name={[
          NAMES[by],
          (row) => (
            <a href={addressOf(by, row.name, sessionId)} title={row.name}>
              <bdi>{row.sessionName ?? row.name}</bdi>
            </a>
          ),
        ]}
        figures={[
          ["Compactions", (row) => count(row.compactions)],
          ["Before", (row) => count(row.tokensBefore)],
          ["After", (row) => count(row.tokensAfter)],
          ["Saved", saved],
        ]}
        bar={[
          "Before and after",
          ({ tokensBefore, tokensAfter }) => (
            <>
              <rect class="covered-tokens" width={(tokensBefore / highest) * 100} height="8" />
              <rect class="source-summary" width={(tokensAfter / highest) * 100} height="8" />
            </>
          ),
        ]}
      />
    </section>
  );
}

function addressOf(by: Compactions["by"], name: string, sessionId: string | null): string {
  if (by === "day") return linkHere({ by: "session", from: name, to: name });
  if (by === "session") return linkTo("/session", { id: name });
  return linkTo("/session", { id: sessionId ?? "", at: `compaction_${name}` });
}

function saved({ tokensBefore, tokensAfter }: Compactions["total"]): string {
  const share = tokensBefore === 0 ? 0 : 1 - tokensAfter / tokensBefore;
  return `${Math.round(share * 100)} %`;
}

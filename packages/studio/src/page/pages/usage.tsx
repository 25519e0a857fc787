import type { UsageView } from "../../api.js";
import { CompactionTable } from "../components/compaction-table.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { FilterField } from "../components/filter-field.js";
import { UsageChart, UsageTable } from "../components/usage-chart.js";
import { cost, count } from "../format.js";
import { useResource } from "../hooks/use-resource.js";
import { linkHere } from "../location.js";
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

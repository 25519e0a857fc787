import type { SessionOrder, SessionRow } from "../../api.js";
import { read, useInfo } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { FilterField } from "../components/filter-field.js";
import { ScrollRegion } from "../components/scroll-region.js";
import { VirtualList } from "../components/virtual-list.js";
import { cost, count, short } from "../format.js";
import { usePages } from "../hooks/use-resource.js";
import { linkHere, linkTo, navigate } from "../location.js";
import type { Place } from "../router.js";

const PAGE_SIZE = 100;
const ROW_HEIGHT = 52;
const ORDERS = [
  { name: "change", text: "Latest change" },
  { name: "tokens", text: "Most tokens used" },
  { name: "cost", text: "Highest cost" },
  { name: "messages", text: "Most messages" },
] as const;

export function SessionsPage({ place }: { readonly place: Place }) {
  const info = useInfo();
  const filter = Object.fromEntries(["name", "user", "prefix"].map((name) => [name, place.query.get(name)]));
  const order = ORDERS.find(({ name }) => name === place.query.get("order"))?.name ?? "change";
  const isFiltered = Object.values(filter).some((value) => value !== null);
  const key = JSON.stringify([order, filter]);
  const sessions = usePages<SessionRow>(
    key,
    async (cursor, signal) => {
      const page = await read("sessions", { ...filter, order, cursor, limit: PAGE_SIZE }, signal);
      return { items: page.sessions, next: page.nextCursor };
    },
    { keep: true },
  );
  return (
    <div class="page list-page" data-order={order}>
      <div class="page-head">
        <h1>Sessions {info && <span class="quiet-number">{count(info.sessions)}</span>}</h1>
        <div class="filters">
          <FilterField name="name" label="Title contains" place={place} />
          <FilterField name="user" label="User" place={place} />
          <FilterField name="prefix" label="Id begins with" place={place} />
          <label class="filter">
            <span>Order</span>
            <select
              value={order}
              onChange={(event) => navigate(linkHere({ order: event.currentTarget.value }), { replace: true })}
            >
              {ORDERS.map(({ name, text }) => (
                <option key={name} value={name}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <button type="button" onClick={sessions.reload}>
            Refresh
          </button>
        </div>
      </div>
      <div class="session-columns" aria-hidden="true">
        <span>Title</span>
        <span class="user">User</span>
        <span class="number message-count">{order === "messages" ? "Stored" : "Messages"}</span>
        <span class="number context-size">Context</span>
        <span class="number used">Used</span>
        <span class="number cost">Cost</span>
        <span class="number">Changed</span>
      </div>
      {sessions.isComplete && sessions.items.length === 0 ? (
        <NoSessions isFiltered={isFiltered} />
      ) : (
        <VirtualList
          items={sessions.items}
          rowHeight={ROW_HEIGHT}
          label="Sessions"
          keyOf={({ id }) => id}
          row={(session) => <SessionListRow session={session} order={order} />}
          onEnd={sessions.error ? undefined : sessions.more}
          keepAs={key}
          footer={
            sessions.error ? (
              <Failure error={sessions.error} retry={sessions.items.length === 0 ? sessions.reload : sessions.more} />
            ) : (
              sessions.isLoading && <Loading />
            )
          }
        />
      )}
    </div>
  );
}

function NoSessions({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No session matches.">
        <a href={linkTo("/")}>Show all sessions</a>
      </Empty>
    );
  }
  return (
    <Empty title="There are no sessions yet.">
      A session is here as soon as your program stores its first message:
      <ScrollRegion label="Code" class="code-block">
        <code>{'session.appendMessage({ id, role: "user", parts: [{ type: "text", text }] });'}</code>
      </ScrollRegion>
    </Empty>
  );
}

interface SessionListRowProps {
  readonly session: SessionRow;
  readonly order: SessionOrder;
}

/** A session in a list: a link with its figures. */
function SessionListRow({ session, order }: SessionListRowProps) {
  const used = session.input_tokens + session.output_tokens;
  return (
    <a class="session-row" href={linkTo("/session", { id: session.id })} data-item>
      <span class="session-title">
        {session.name !== "" && session.name !== session.id && <bdi class="title">{session.name}</bdi>}
        <bdi class="id">{session.id}</bdi>
      </span>
      <bdi class="user">{session.user_id ?? ""}</bdi>
      <span
        class="number message-count"
        title={`${count(session.messages)} messages${order === "messages" ? " on all branches" : ""}`}
      >
        {short(session.messages)}
        <span class="unit"> messages</span>
      </span>
      <span class="number context-size" title={`${count(session.tokens)} tokens in the next request, estimated`}>
        {short(session.tokens)}
        <span class="unit"> tokens</span>
      </span>
      <span class="number used" title={`${count(used)} tokens used, input and output`}>
        {used > 0 ? short(used) : "–"}
        <span class="unit"> tokens</span>
      </span>
      <span class="number cost">{session.estimated_cost > 0 ? cost(session.estimated_cost) : "–"}</span>
      <span class="number when">
        <Time at={session.updated_at} />
      </span>
    </a>
  );
}

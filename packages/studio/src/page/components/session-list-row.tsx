import type { SessionOrder, SessionRow } from "../../api.js";
import { cost, count, short } from "../format.js";
import { linkTo } from "../location.js";
import { Time } from "./fact.js";

interface SessionListRowProps {
  readonly session: SessionRow;
  readonly order: SessionOrder;
}

/** A session in a list: a link with its figures. */
export function SessionListRow({ session, order }: SessionListRowProps) {
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

import { Empty, Failure, Loading } from "../components/failure.js";
import { SessionPageHead } from "../components/session-head.js";
import { ContextDetail } from "../context/context-detail.js";
import { TurnListPanel } from "../context/turn-list.js";
import { useChange, useReloadOn } from "../hooks/use-change.js";
import { useResource } from "../hooks/use-resource.js";
import type { Place } from "../router.js";

/** The page of each turn's request, and of the next one. */
export function ContextPage({ place }: { readonly place: Place }) {
  const id = place.query.get("id") ?? "";
  const turn = place.query.get("turn");
  const session = useResource("session", { id });
  const change = session.data?.change ?? null;
  useChange(id, change, session.reload);
  const context = useResource("context", { id, turn });
  useReloadOn(change, context.reload);
  return (
    <div class="page context-page">
      <SessionPageHead id={id} here={place.path} />
      <div class="context-body">
        <TurnListPanel id={id} turn={turn} change={change} />
        <div class="context-main">
          {context.error && <Failure error={context.error} retry={context.reload} />}
          {!context.data && !context.error && <Loading />}
          {context.data && <ContextDetail id={id} turn={turn} view={context.data} />}
          {context.data && context.data.explanation === null && turn !== null && (
            <Empty title="Nothing is kept of this turn.">
              Requests are recorded when the program prepares them with <code>session.prepareTurn()</code>.
            </Empty>
          )}
        </div>
      </div>
    </div>
  );
}

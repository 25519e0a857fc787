import { useResource } from "../hooks/use-resource.js";
import { SessionTabs } from "./session-tabs.js";

/** The title of a session, above one of its pages. */
export function SessionPageHead({ id, here }: { readonly id: string; readonly here: string }) {
  const { data } = useResource("session", { id });
  return (
    <header class="session-head">
      <div class="session-name">
        <h1>
          <bdi>{data?.session.name || id}</bdi>
        </h1>
      </div>
      <div class="session-bar">
        <SessionTabs id={id} here={here} />
      </div>
    </header>
  );
}

import { useState } from "preact/hooks";
import type { SessionView } from "../../api.js";
import { apiAddress } from "../api-client.js";
import { cost, count, counted } from "../format.js";
import { useInfo } from "../info.js";
import { linkHere, linkTo } from "../location.js";
import type { Place } from "../router.js";
import { CopyButton } from "./copy-button.js";
import { Fact } from "./fact.js";
import { Menu } from "./menu.js";
import { SessionDialog, type SessionWrite } from "./session-dialog.js";
import { SessionTabs } from "./session-tabs.js";
import { Time } from "./time.js";

interface Props {
  readonly view: SessionView;
  readonly place: Place;
  readonly reload: () => void;
}

const WRITES: readonly { readonly name: SessionWrite; readonly text: string }[] = [
  { name: "rename", text: "Rename…" },
  { name: "compact", text: "Compact now…" },
  { name: "delete-session", text: "Delete the session…" },
];

/** What a session is, and what can be done with it. */
export function SessionHead({ view, place, reload }: Props) {
  const { session } = view;
  const info = useInfo();
  const [asked, setAsked] = useState<SessionWrite | null>(null);
  const hasOriginals = place.query.get("originals") === "1";
  const writes = WRITES.filter(({ name }) => name !== "compact" || info?.hasManager);
  return (
    <header class="session-head">
      <div class="session-name">
        <h1>
          <bdi>{session.name || session.id}</bdi>
        </h1>
        <span class="session-id">
          {session.name !== "" && session.name !== session.id && <bdi>{session.id}</bdi>}
          <CopyButton text={session.id} name="the session's id" />
        </span>
      </div>
      <dl class="facts">
        <Fact name="Messages" value={`${count(session.messages)} active, ${count(view.stored)} stored`} />
        <Fact name="Tokens" value={count(session.tokens)} />
        {session.estimated_cost > 0 && <Fact name="Cost" value={cost(session.estimated_cost)} />}
        {session.model && <Fact name="Model" value={session.model} />}
        {session.user_id && (
          <Fact name="User" value={<a href={linkTo("/", { user: session.user_id })}>{session.user_id}</a>} />
        )}
        {session.parent_session_id && (
          <Fact
            name="Forked from"
            value={<a href={linkTo("/session", { id: session.parent_session_id })}>{session.parent_session_id}</a>}
          />
        )}
        <Fact name="Changed" value={<Time at={session.updated_at} />} />
      </dl>
      <div class="session-bar">
        <SessionTabs id={session.id} here={place.path} />
        <a class="lanes-switch" href={linkHere({ lanes: "1" })}>
          Tree
        </a>
        {view.children.length > 0 && (
          <Menu label="Sessions that were forked off" text={counted(view.children.length, "fork")}>
            {view.children.map(({ id, name }) => (
              <a key={id} href={linkTo("/session", { id })}>
                <bdi>{name || id}</bdi>
              </a>
            ))}
          </Menu>
        )}
        <Menu label="More of this session" icon="more">
          <a href={linkHere({ originals: !hasOriginals, at: null })}>
            {hasOriginals ? "Show what the model sees" : "Leave out summaries"}
          </a>
          <a href={linkTo("/usage", { by: "day", id: session.id })}>Usage</a>
          {["jsonl", "markdown", "html"].map((format) => (
            <a key={format} href={apiAddress("export", { id: session.id, format })} download>
              Export as {FORMATS[format]}
            </a>
          ))}
          {info?.canWrite &&
            writes.map(({ name, text }) => (
              <button key={name} type="button" onClick={() => setAsked(name)}>
                {text}
              </button>
            ))}
        </Menu>
      </div>
      {asked && <SessionDialog name={asked} view={view} reload={reload} close={() => setAsked(null)} />}
    </header>
  );
}

const FORMATS: Readonly<Record<string, string>> = { jsonl: "JSONL", markdown: "Markdown", html: "HTML" };

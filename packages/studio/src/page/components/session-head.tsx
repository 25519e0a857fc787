import { useState } from "preact/hooks";
import type { SessionView, StudioWrites } from "../../api.js";
import { ApiError, apiAddress, useInfo, write } from "../api-client.js";
import { cost, count, counted } from "../format.js";
import { useResource } from "../hooks/use-resource.js";
import { linkHere, linkTo, navigate } from "../location.js";
import type { Place } from "../router.js";
import { Dialog, Menu } from "./dialog.js";
import { Fact, Time } from "./fact.js";
import { CopyButton } from "./icons.js";

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

/** The head of a session's page, with the actions on the session. */
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

type SessionWrite = keyof StudioWrites & ("rename" | "compact" | "delete-session");

interface SessionDialogProps {
  readonly name: SessionWrite;
  readonly view: SessionView;
  readonly reload: () => void;
  readonly close: () => void;
}

/** Asks before a session is changed, and changes it. */
function SessionDialog({ name, view, reload, close }: SessionDialogProps) {
  const { session, stored } = view;
  const id = session.id;
  switch (name) {
    case "rename":
      return (
        <Dialog
          title="Rename the session"
          action="Rename"
          run={(fields) => write("rename", { id, name: String(fields.get("name")) }).then(reload)}
          close={close}
        >
          <label class="field">
            <span>Title</span>
            <input name="name" defaultValue={session.name} />
          </label>
        </Dialog>
      );
    case "compact":
      return (
        <Dialog title="Compact the session now?" action="Compact" run={() => compact(id).then(reload)} close={close}>
          <p>
            Older messages are summarised by the program's compaction function. They stay stored beneath the summary.
          </p>
        </Dialog>
      );
    default:
      return (
        <Dialog
          title="Delete the session?"
          action="Delete the session"
          isDangerous
          run={() => write("delete-session", { id }).then(() => navigate(linkTo("/")))}
          close={close}
        >
          <p>
            <bdi>{session.name || id}</bdi> is removed for good, with {counted(stored, "message")}, its summaries and
            its blocks.
          </p>
        </Dialog>
      );
  }
}

async function compact(id: string): Promise<void> {
  const { compacted } = await write<"compact", { compacted: boolean }>("compact", { id });
  if (!compacted) throw new ApiError("NOTHING_TO_COMPACT", "There was nothing to summarise.");
}

/** Leads between the pages of one session. */
export function SessionTabs({ id, here }: { readonly id: string; readonly here: string }) {
  const tabs = [
    { path: "/session", name: "Conversation", query: { id } },
    { path: "/context", name: "Context", query: { id } },
    { path: "/memory", name: "Memory", query: { session: id } },
  ];
  return (
    <nav class="tabs" aria-label="Pages of the session">
      {tabs.map(({ path, name, query }) => (
        <a key={path} href={linkTo(path, query)} aria-current={path === here ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

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

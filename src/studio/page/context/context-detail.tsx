import type { ContextView } from "../../api.js";
import { CopyButton } from "../components/copy-button.js";
import { Empty } from "../components/empty.js";
import { Fact } from "../components/fact.js";
import { Time } from "../components/time.js";
import { DifferenceView } from "../difference/difference-view.js";
import { bytes, count } from "../format.js";
import { linkTo } from "../location.js";
import { BlockTable } from "./block-table.js";
import { PartList } from "./part-list.js";
import { SourceBar } from "./source-bar.js";
import { BREAK_CAUSES, refreshReason, SOURCE_NAMES } from "./words.js";

interface Props {
  readonly id: string;
  readonly turn: string | null;
  readonly view: ContextView;
}

/** A request: its size by source, its parts, its prompt, and what broke its prefix. */
export function ContextDetail({ id, turn, view }: Props) {
  const { explanation } = view;
  return (
    <>
      {explanation === null && turn === null && (
        <Empty title="The next request is not known.">
          Open the studio with <code>createStudio(manager)</code>, so that it knows the blocks as your program
          configures them.
        </Empty>
      )}
      {explanation && (
        <>
          <Summary id={id} explanation={explanation} />
          <SourceBar parts={explanation.parts} />
          <PartList id={id} parts={explanation.parts} brokenAt={explanation.brokenAt} />
        </>
      )}
      {view.blocks.length > 0 && <BlockTable id={id} blocks={view.blocks} />}
      <Prompts view={view} />
    </>
  );
}

type Explanation = NonNullable<ContextView["explanation"]>;

function Summary({ id, explanation }: { readonly id: string; readonly explanation: Explanation }) {
  const { brokenAt, messageId, sentAt } = explanation;
  return (
    <section class="panel">
      <h2>{sentAt === null ? "Next request" : "Request"}</h2>
      <dl class="facts">
        <Fact name="Size" value={`${count(explanation.tokens)} tokens, ${bytes(explanation.bytes)}`} />
        {sentAt !== null && <Fact name="Sent" value={<Time at={sentAt} />} />}
        {messageId !== null && (
          <Fact name="Answers" value={<a href={linkTo("/session", { id, at: messageId })}>{messageId}</a>} />
        )}
        <Fact name="Prompt rendered anew" value={refreshReason(explanation.refreshed)} />
        <div>
          <dt>Hash of the prefix</dt>
          <dd>
            <code class="hash">{explanation.prefixHash}</code>
            <CopyButton text={explanation.prefixHash} name="the hash" />
          </dd>
        </div>
      </dl>
      <p class={brokenAt === null ? "verdict good" : "verdict warn"}>
        {brokenAt === null
          ? "It begins with all of the request before, so a provider's cache holds that."
          : `The first ${bytes(brokenAt.offset)} are those of the request before. Then it differs${
              brokenAt.source === null
                ? ""
                : ` in ${SOURCE_NAMES[brokenAt.source]}: ${brokenAt.name || "text outside blocks"}`
            }, because ${BREAK_CAUSES[brokenAt.by]}.`}
      </p>
      {explanation.isOutdated && (
        <p class="notice">
          Messages of this request were edited or removed since. The parts show them as they are now.
        </p>
      )}
    </section>
  );
}

function Prompts({ view }: { readonly view: ContextView }) {
  const { frozenPrompt, currentPrompt } = view;
  if (frozenPrompt === null && currentPrompt === null) return null;
  const isSame = frozenPrompt === currentPrompt;
  return (
    <section class="panel">
      <h2>Prompt</h2>
      <p class="hint">
        {frozenPrompt === null && "No prompt is frozen yet. This is what the first request would freeze."}
        {currentPrompt === null && "This prompt is frozen. How a refresh would make it is known only with a manager."}
        {frozenPrompt !== null &&
          currentPrompt !== null &&
          (isSame ? "A refresh would change nothing." : "What a refresh would change is marked.")}
      </p>
      <DifferenceView
        before={frozenPrompt ?? currentPrompt ?? ""}
        after={currentPrompt ?? frozenPrompt ?? ""}
        names={["Frozen", "After a refresh"]}
      />
    </section>
  );
}

import { ArrowDown } from "lucide-react";
import { Fragment } from "react";
import type { ChatTree } from "stemma/react";
import { useStickToBottomContext } from "use-stick-to-bottom";
import { Answer } from "./answer";
import { Question } from "./question";
import { summaryLines } from "./summaries";
import { SummaryLine } from "./summary-line";

interface TranscriptProps {
  chat: ChatTree;
  /** The message that the reader came for. */
  marked: string | null;
  /** Follows what this tab writes. */
  own: (work: Promise<unknown>) => void;
}

export function Transcript({ chat, marked, own }: TranscriptProps) {
  const { messages, status, hasPrevious } = chat;
  const { scrollRef, contentRef, isAtBottom, scrollToBottom } = useStickToBottomContext();
  const lines = summaryLines(messages, chat.compactions, hasPrevious);
  const isBusy = status === "submitted" || status === "streaming";
  return (
    <>
      <div className="scroll" ref={scrollRef}>
        <div className="transcript" ref={contentRef} role="log" aria-label="Messages" aria-busy={isBusy}>
          {hasPrevious ? (
            <button type="button" className="quiet" onClick={() => void chat.loadPrevious()}>
              Show earlier messages
            </button>
          ) : null}
          {messages.map((message, index) => {
            const shared = {
              chat,
              message,
              isMarked: message.id === marked,
              isLast: index === messages.length - 1,
              own,
            };
            const line = lines.get(message.id);
            return (
              <Fragment key={message.id}>
                {message.role === "user" ? <Question {...shared} /> : <Answer {...shared} />}
                {line === undefined ? null : <SummaryLine summary={line.summary} count={line.count} />}
              </Fragment>
            );
          })}
          {status === "submitted" ? <Thinking /> : null}
        </div>
      </div>
      {isAtBottom ? null : (
        <button type="button" className="icon to-bottom" onClick={() => void scrollToBottom()}>
          <ArrowDown aria-hidden />
          <span className="unseen">To the newest message</span>
        </button>
      )}
    </>
  );
}

export function Thinking() {
  return (
    <p className="thinking" role="status">
      <span className="unseen">The answer is being written.</span>
      <i />
      <i />
      <i />
    </p>
  );
}

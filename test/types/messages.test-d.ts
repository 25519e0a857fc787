// What goes into a session and what comes out. Nothing here runs: TypeScript checks it.
import type { UIMessage } from "ai";
import type { HistoryMessage, LenientHistory, Session, SessionManager, SessionMessage } from "stemma/session";
import { expectTypeOf } from "vitest";

declare const session: Session;
declare const manager: SessionManager;
declare const message: UIMessage;

// A history is one of stemma's messages and of the AI SDK's, both.
expectTypeOf(await session.getHistory()).toEqualTypeOf<HistoryMessage[]>();
expectTypeOf<HistoryMessage>().toExtend<UIMessage>();
expectTypeOf<HistoryMessage>().toExtend<SessionMessage>();
expectTypeOf<UIMessage>().toExtend<SessionMessage>();
expectTypeOf(await session.getHistory<UIMessage>()).toEqualTypeOf<UIMessage[]>();
expectTypeOf(await manager.getHistory<UIMessage>("one")).toEqualTypeOf<UIMessage[]>();
expectTypeOf(await session.getMessage<UIMessage>("a")).toEqualTypeOf<UIMessage | null>();
expectTypeOf(session.history<UIMessage>()).toEqualTypeOf<AsyncIterable<UIMessage>>();

// Only who asks for it is told which messages cannot be read.
expectTypeOf(await session.getHistory(null, { onCorrupt: "skip" })).toEqualTypeOf<LenientHistory>();
expectTypeOf(await session.getHistory(null, { onCorrupt: "throw" })).not.toHaveProperty("corrupt");

// Whatever a program holds may be appended; it is checked when it is.
expectTypeOf(session.appendMessage).toBeCallableWith(message, null);
expectTypeOf(session.appendMessage).toBeCallableWith(JSON.parse("{}"));
expectTypeOf((await session.appendMessage(message)).message).toEqualTypeOf<HistoryMessage>();
expectTypeOf((await session.appendMessage<UIMessage>(message)).message).toEqualTypeOf<UIMessage>();
// @ts-expect-error a parent is named by its id
session.appendMessage(message, 5);

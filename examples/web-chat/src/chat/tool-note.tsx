import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import { Brain, Eraser, LibraryBig, Search, Wrench } from "lucide-react";

type ToolPart = ToolUIPart | DynamicToolUIPart;

/** One line for what a tool does or has done. */
export function ToolNote({ part }: { part: ToolPart }) {
  const { icon: Icon, text } = noteOf(part);
  const isDone = part.state === "output-available" || part.state === "output-error";
  const failed = part.state === "output-error" || String(part.output ?? "").startsWith("Error");
  return (
    <p className="tool-note" data-done={isDone} title={failed ? String(part.errorText ?? part.output) : undefined}>
      <Icon aria-hidden />
      {text}
      {failed ? " – refused" : ""}
    </p>
  );
}

function noteOf(part: ToolPart) {
  const name = getToolName(part);
  const input = (part.input ?? {}) as { query?: string; key?: string };
  if (name === "set_context") return { icon: Brain, text: "Noted in the memory" };
  if (name === "forget_facts") return { icon: Eraser, text: "Taken out of the memory" };
  if (name === "search_context") return { icon: Search, text: `Searched earlier chats for “${input.query ?? ""}”` };
  if (name === "load_context") return { icon: LibraryBig, text: `Looked up ${input.key ?? "a document"}` };
  return { icon: Wrench, text: name };
}

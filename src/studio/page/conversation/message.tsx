import { type MessageProps, StoredMessage } from "./stored-message.js";
import { SummaryCard } from "./summary-card.js";

/** One message, or the summary that stands for some. */
export function Message(props: MessageProps) {
  return props.row.compactionId === null ? <StoredMessage {...props} /> : <SummaryCard {...props} />;
}

import type { SessionMessage } from "../../packages/model/src/messages/message.js";
import type { SessionManager } from "../../packages/session/src/manager/session-manager.js";

const text = (value: string) => ({ type: "text", text: value });
const message = (id: string, role: string, ...parts: SessionMessage["parts"]): SessionMessage => ({ id, role, parts });

/** When its tool was called and answered, as the chat handler notes it. */
const TOOL_TIMES = {
  "find-1": { calledAt: "2026-11-22T10:00:00.000Z", answeredAt: "2026-11-22T10:00:01.240Z" },
};

const TITLES = [
  "A week in Lisbon",
  "Sourdough that rises",
  "Slow query on orders",
  "Tax return",
  "Names for a cat",
  "Bike repair",
];

const DAYS = ["Alfama and the castle", "Belém by tram", "Sintra", "The coast at Cascais", "Markets and tiles"];

const TABLE =
  "| Day | Where | Walk |\n| --- | --- | --- |\n| 1 | Alfama | 6 km |\n| 2 | Belém | 4 km |\n| 3 | Sintra | 9 km |";

/** Sessions as people have them, for pictures: `lisbon` has branches, a summary, tools, memory and turns. */
export async function fillShowcase(manager: SessionManager): Promise<void> {
  const ada = manager.forUser("ada");
  for (const [index, title] of TITLES.slice(1).entries()) {
    const id = `chat-${index}`;
    await ada.appendAll(id, [
      message(`${id}-q`, "user", text(`A question about: ${title}.`)),
      message(`${id}-a`, "assistant", text("An answer.")),
    ]);
    await ada.rename(id, title);
    await ada.addUsage(
      id,
      900 + index * 350,
      200 + index * 40,
      0.004 + index * 0.003,
      index % 2 ? "large-2" : "small-1",
    );
  }
  await fillLisbon(ada);
}

async function fillLisbon(ada: SessionManager): Promise<void> {
  const session = ada.getSession("lisbon");
  const ask = async (id: string, words: string, ...answer: SessionMessage["parts"]) => {
    await session.appendMessage(message(`${id}-q`, "user", text(words)));
    const { tools } = await session.prepareTurn();
    if (id === "plan")
      await tools.set_context?.execute(
        { label: "memory", content: "Likes to walk. Does not eat meat." },
        { toolCallId: "call-1" },
      );
    await session.appendMessage({
      ...message(`${id}-a`, "assistant", ...answer),
      ...(id === "plan" ? { metadata: { toolTimes: TOOL_TIMES } } : {}),
    });
    await ada.addUsage("lisbon", 1400, 310, 0.011, "large-2");
  };
  for (const [index, day] of DAYS.entries())
    await ask(`day-${index}`, `What is there to see: ${day}?`, text(`Begin early. ${day} is best before noon.`));
  await ada.rename("lisbon", TITLES[0] as string);
  await session.addCompaction(
    "They went through five days in Lisbon, and want to walk more than to ride.",
    "day-0-q",
    "day-4-a",
  );
  await ask(
    "plan",
    "Make a plan of three days. I like to walk, and I do not eat meat.",
    { type: "reasoning", text: "Three days; walking; restaurants without meat." },
    {
      type: "tool-find_places",
      toolCallId: "find-1",
      state: "output-available",
      input: { city: "Lisbon", near: "Alfama" },
      output: { found: 12 },
    },
    text(
      `Here is a plan that you can walk.\n\n${TABLE}\n\n1. **Day 1**: up to the castle, down through *Alfama*.\n2. **Day 2**: along the river.\n3. **Day 3**: the palace, by train.`,
    ),
  );
  await ask("hotel", "Where should we stay?", text("Near Baixa: all three days begin there."));
  await session.editMessage("hotel-q", message("hotel-q2", "user", text("Where should we stay, with a kitchen?")));
  await session.appendMessage(
    message("hotel-a2", "assistant", text("Take a flat in Graça: quiet, with a view, and the tram is near.")),
  );
}

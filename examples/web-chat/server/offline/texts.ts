/** Said to what no rule fits. */
export const HELP = `I am the **offline responder**: a few fixed rules that use the memory, not a language model. Try one of these:

- *My name is Ada and I have lived in Berlin since 2023.*
- *I moved to Lisbon.*
- *Remember that my sister comes on Friday.*
- *What do you know about me?*
- *Search for Lisbon*
- *How does this work?*

To chat with a model, start the server with \`STEMMA_MODEL\` and its key.`;

/** A long answer, with what Markdown has. */
export const TOUR = `
## How this chat works

Everything you see is stored in **one SQLite file** by Stemma, while it is written. You can close the tab in the middle of this answer, and it goes on. You can even stop the server.

### Messages form a tree

Edit a question or ask for another answer, and the old one stays beside the new one. Use the arrows **‹ 1/2 ›** to go from one to the other. Whatever you write next continues the branch that you see.

### Facts follow you

What you say about yourself is noted in the **memory**, in the panel on the right. It is yours, not the chat's: each new chat knows it, and nobody else's does. Ask *“Why do you know that?”* there, and you are led to the message. When you move, the fact that you lived elsewhere ends, and stays. Open the memory to see all of it, to change it, or to forget it.

| What | Belongs to | Kept in |
| --- | --- | --- |
| messages | the chat | a tree |
| summaries | the chat | a range of the tree |
| facts | you | entries, with when they hold |

### Long chats stay cheap

When a chat grows long, its older messages are summarised for the model. You still see all of them; a line shows where the summary ends, and opens.

\`\`\`ts
const manager = SessionManager.create(store)
  .withContext("memory", { provider: new AgentSearchProvider(store, { scope: "user" }) })
  .onLearning(createLearnFunction({ extract }))
  .onCompaction(createCompactFunction({ summarize }))
  .compactAfter(30_000);
\`\`\`

1. Reload this page while an answer is being written.
2. Open the same chat in a second tab.
3. Search in the side bar for a word that you used.

That is all there is to it.`;

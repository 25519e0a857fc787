// npm run bench -- turns [--locomo <path>] [--turns 200]
//
// What a conversation costs with a provider that keeps prefixes, and how many answers are given without knowing what is
// remembered: for a prompt that is never rendered anew, one that always is, and for prepareTurn. The time is simulated.
import { parseArgs } from "node:util";
import { openDatabase } from "../database.mjs";
import { buildStemma, installPeers } from "../prepare.mjs";
import { readConversations } from "./conversation.mjs";
import { compareStrategies } from "./strategies.mjs";

const { values } = parseArgs({ options: { locomo: { type: "string" }, turns: { type: "string", default: "200" } } });
installPeers();
await buildStemma();
const { sqlite, ...stemma } = await import("../stemma.mjs");
const library = { ...stemma, openStore: () => sqlite(openDatabase(":memory:")) };
const rows = await compareStrategies(library, readConversations(values.locomo), Number(values.turns));
console.table(
  rows.map(({ cost, stale, answers, ...row }) => ({
    ...row,
    cost: `${cost.toFixed(3)}×`,
    stale: `${stale} of ${answers}`,
  })),
);

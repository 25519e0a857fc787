import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Transcript, text } from "../formats/claude-code-lines.js";
import { jsonl } from "./read.js";

export const CLAUDE_ID = "11111111-1111-4111-8111-111111111111";
export const CODEX_ID = "019a0000-0000-7000-8000-000000000001";

/** The home folder of somebody who uses Claude Code, Codex and pi. */
export class Home {
  readonly transcript = new Transcript(CLAUDE_ID);
  readonly claude = `.claude/projects/-home-ada-mill/${CLAUDE_ID}.jsonl`;
  readonly agent = `.claude/projects/-home-ada-mill/${CLAUDE_ID}/subagents/agent-a1.jsonl`;
  readonly codex = `.codex/sessions/2026/10/01/rollout-2026-10-01T10-00-00-${CODEX_ID}.jsonl`;
  readonly pi = ".pi/agent/sessions/--home-ada-mill--/2026.jsonl";

  constructor(readonly folder: string) {
    const asked = this.transcript.user(null, "How does the mill turn?");
    this.transcript.assistant(asked, "msg_1", text("By water."));
    this.write(this.claude, jsonl(this.transcript.lines));
    const agent = new Transcript(CLAUDE_ID);
    agent.user(null, "Look for the mill.", { isSidechain: true, agentId: "a1" });
    this.write(this.agent, jsonl(agent.lines));
    this.write(this.codex, jsonl(rollout(CODEX_ID, "How deep is the river?", "Two metres.")));
    const pi = { type: "message", id: "p1", parentId: null, message: { role: "user", content: "Hello", timestamp: 1 } };
    this.write(this.pi, jsonl([{ type: "session", id: "pi-1", cwd: "/home/ada/mill" }, pi]));
  }

  /** The environment of a program that is run there; nothing in it names other folders. */
  get env(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: this.folder, USERPROFILE: this.folder, NODE_NO_WARNINGS: "1" };
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, content: string): string {
    const path = this.path(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }
}

/** The lines of a session of Codex with one question and its answer. */
export function rollout(id: string, question: string, answer: string): object[] {
  const line = (type: string, payload: object) => ({ timestamp: "2026-10-01T10:00:00.000Z", type, payload });
  const message = (role: string, type: string, said: string) =>
    line("response_item", { type: "message", role, content: [{ type, text: said }] });
  return [
    line("session_meta", { id, cwd: "/home/ada/mill", originator: "codex_cli_rs", cli_version: "0.60.0" }),
    message("user", "input_text", question),
    message("assistant", "output_text", answer),
  ];
}

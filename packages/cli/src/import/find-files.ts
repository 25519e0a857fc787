import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { ifThere } from "@stemma/model/files";

/** The files of one program. */
export interface FoundFiles {
  program: string;
  /** The name of the format that it writes. */
  format: string;
  folder: string;
  files: string[];
  bytes: number;
}

/** Where a program keeps its sessions: folders, and which of the files in and below them. */
interface Place {
  program: string;
  format: string;
  folders: string[];
  pattern: RegExp;
}

/** Looks for sessions where programs keep them, on Linux, macOS and Windows. A program without files is left out. */
export async function findSessionFiles(env: NodeJS.ProcessEnv = process.env, home = homedir()): Promise<FoundFiles[]> {
  const found: FoundFiles[] = [];
  for (const { program, format, folders, pattern } of placesOf(env, home)) {
    for (const folder of folders) {
      const files = withoutCopies(await filesBelow(folder, pattern));
      if (files.length === 0) continue;
      const sizes = await Promise.all(files.map(sizeOf));
      found.push({ program, format, folder, files, bytes: sizes.reduce((sum, size) => sum + size, 0) });
    }
  }
  return found;
}

function placesOf(env: NodeJS.ProcessEnv, home: string): Place[] {
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  const claude = env.CLAUDE_CONFIG_DIR ? [env.CLAUDE_CONFIG_DIR] : [join(home, ".claude"), join(config, "claude")];
  const codex = env.CODEX_HOME || join(home, ".codex");
  const pi = env.PI_CODING_AGENT_DIR || join(home, ".pi", "agent");
  return [
    {
      program: "Claude Code",
      format: "claude-code",
      folders: claude.map((folder) => join(folder, "projects")),
      pattern: /\.jsonl$/,
    },
    {
      program: "Codex",
      format: "codex",
      folders: [join(codex, "sessions"), join(codex, "archived_sessions")],
      pattern: /^rollout-.*\.jsonl(\.zst)?$/,
    },
    { program: "pi", format: "pi", folders: [join(pi, "sessions")], pattern: /\.jsonl$/ },
  ];
}

async function filesBelow(folder: string, pattern: RegExp): Promise<string[]> {
  const entries = (await ifThere(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
  const files = entries.filter((entry) => entry.isFile() && pattern.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name)).sort();
}

// Codex compresses a file and then removes it: while both are there, the one that is not compressed is whole.
function withoutCopies(files: readonly string[]): string[] {
  const all = new Set(files);
  return files.filter((file) => !file.endsWith(".zst") || !all.has(file.slice(0, -".zst".length)));
}

// One that goes meanwhile has no size.
async function sizeOf(file: string): Promise<number> {
  return (await ifThere(stat(file)))?.size ?? 0;
}

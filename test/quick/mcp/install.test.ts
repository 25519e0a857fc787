import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLIENTS, type Machine, startOf } from "../../../packages/cli/src/mcp/install/clients.js";
import { run, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();
let home = "";
let number = 0;

beforeEach(() => {
  number += 1;
  home = join(folder, `home-${number}`);
  mkdirSync(home);
  vi.stubEnv("HOME", home);
  for (const name of ["STEMMA_DB", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"]) vi.stubEnv(name, "");
});
afterAll(() => vi.unstubAllEnvs());

/** What a client's file says that a server is started with. */
function argumentsIn(text: string, name = "stemma"): string[] {
  return JSON.parse(text).mcpServers[name].args;
}

const FILES: Readonly<Record<string, string>> = {
  "claude-code": ".claude.json",
  "claude-desktop": ".config/Claude/claude_desktop_config.json",
  cursor: ".cursor/mcp.json",
  vscode: ".config/Code/User/mcp.json",
  codex: ".codex/config.toml",
};

describe.each(Object.entries(FILES))("stemma mcp install %s", (client, name) => {
  it("shows the change, makes it after a yes, and changes nothing the second time", async () => {
    const file = join(home, name);
    const args = ["mcp", "install", client, "--project", "garden", "--read-only", "--db", "some.db"];
    const refused = await run(args);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("pass --yes") });
    expect(refused.out).toMatch(/\+ .*stemma/);
    expect((await run(args, { answering: true, input: "n\n" })).code).toBe(1);
    expect(existsSync(dirname(file)) && existsSync(file)).toBe(false);
    expect(await run(args, { answering: true, input: "y\n" })).toMatchObject({
      code: 0,
      out: expect.stringContaining("Changed."),
    });
    const text = readFileSync(file, "utf8");
    for (const given of ["npx", "stemma", join(process.cwd(), "some.db"), "--project", "garden", "--read-only"]) {
      expect(text).toContain(JSON.stringify(given));
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await run(args)).toMatchObject({ code: 0, out: `${file}\nNothing is to be changed.\n` });
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(readdirSync(dirname(file))).toEqual([name.split("/").at(-1)]);
  });
});

describe("stemma mcp install", () => {
  it("keeps what else is there, the file's mode, and a link to it", async () => {
    const real = join(home, "dotfiles.json");
    writeFileSync(real, '{\n  // mine\n  "mcpServers": { "other": { "command": "x" } }\n}\n', { mode: 0o644 });
    mkdirSync(join(home, ".cursor"));
    const file = join(home, ".cursor", "mcp.json");
    symlinkSync(real, file);
    expect((await run(["mcp", "install", "cursor", "--yes", "--name", "memory"])).code).toBe(0);
    const text = readFileSync(real, "utf8");
    expect(text).toContain('// mine\n  "mcpServers": { "other": { "command": "x" }');
    expect(text).toContain('"memory": {"command":"npx"');
    expect(statSync(real).mode & 0o777).toBe(0o644);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("leaves a file that it cannot read as it is", async () => {
    const file = join(home, ".claude.json");
    for (const content of ["{ broken", '{"mcpServers": 1}', Buffer.from([0xff, 0xfe, 0x7b])]) {
      writeFileSync(file, content);
      expect((await run(["mcp", "install", "claude-code", "--yes"])).code).toBe(1);
      expect(readFileSync(file)).toEqual(Buffer.from(content));
    }
  });

  it("says what it did as JSON, and knows its clients", async () => {
    const { out } = await run(["--json", "mcp", "install", "cursor", "--yes"]);
    expect(JSON.parse(out)).toEqual({ file: join(home, ".cursor", "mcp.json"), changed: true });
    expect(await run(["mcp", "install", "emacs"])).toMatchObject({ code: 2 });
    expect(await run(["mcp", "install", "cursor", "--http", "1"])).toMatchObject({ code: 2 });
  });

  it("takes the database of STEMMA_DB along, which the client does not know", async () => {
    vi.stubEnv("STEMMA_DB", "postgres://localhost/app");
    await run(["mcp", "install", "cursor", "--yes"]);
    expect(readFileSync(join(home, ".cursor", "mcp.json"), "utf8")).toContain('"postgres://localhost/app"');
  });

  it("says before the yes that a password will stand in the file, and shows it nowhere", async () => {
    const urls = [
      "postgres://app:s3cret@localhost/app",
      "postgres://app@localhost/app?sslmode=disable&password=s3cret",
    ];
    for (const url of urls) {
      vi.stubEnv("STEMMA_DB", url);
      const asked = await run(["mcp", "install", "cursor"], { answering: true, input: "n\n" });
      const file = join(home, ".cursor", "mcp.json");
      expect(asked.err).toMatch(/password will stand in .*mcp\.json[\s\S]*--dotenv[\s\S]*Change the configuration/);
      expect(asked.out + asked.err).not.toContain("s3cret");
      expect(existsSync(file)).toBe(false);
    }
    const yes = await run(["--json", "mcp", "install", "cursor", "--yes"]);
    expect(yes.err).toContain("password will stand in");
    const silent = await run(["mcp", "install", "codex", "--yes", "--db", "postgres://app@localhost/app"]);
    expect(silent).toMatchObject({ code: 0, err: "" });
  });

  it("leaves the password to a file of variables, and copies none of them", async () => {
    vi.stubEnv("STEMMA_DB", "postgres://app:s3cret@localhost/app");
    const variables = join(home, "stemma.env");
    const args = ["mcp", "install", "cursor", "--yes", "--dotenv", variables];
    expect(await run(args)).toMatchObject({ code: 1, err: expect.stringContaining("There is no file") });
    writeFileSync(variables, "PGPASSWORD=s3cret\n", { mode: 0o600 });
    expect(await run(args)).toMatchObject({ code: 0, err: "" });
    const text = readFileSync(join(home, ".cursor", "mcp.json"), "utf8");
    expect(argumentsIn(text)).toEqual(["-y", "stemma", "mcp", "--dotenv", variables]);
    expect(text).not.toContain("s3cret");
    await run([...args, "--name", "other", "--db", "postgres://app@localhost/app"]);
    const both = readFileSync(join(home, ".cursor", "mcp.json"), "utf8");
    expect(argumentsIn(both, "other").slice(-4)).toEqual([
      "--dotenv",
      variables,
      "--db",
      "postgres://app@localhost/app",
    ]);
  });

  it("has npx bring a client of Postgres where the database is one", async () => {
    await run(["mcp", "install", "cursor", "--yes", "--db", "postgres://localhost/app"]);
    const text = readFileSync(join(home, ".cursor", "mcp.json"), "utf8");
    expect(argumentsIn(text).slice(0, 5)).toEqual(["-y", "--package=stemma", "--package=pg", "stemma", "mcp"]);
  });

  it("knows where clients keep their files on macOS and Windows", () => {
    const mac: Machine = { platform: "darwin", home: "/Users/ada", env: {} };
    const windows: Machine = {
      platform: "win32",
      home: "C:\\Users\\ada",
      env: { APPDATA: "C:\\Users\\ada\\AppData\\Roaming" },
    };
    const filesOn = (machine: Machine) => Object.values(CLIENTS).map((client) => client.fileOn(machine));
    expect(filesOn(mac)).toEqual([
      "/Users/ada/.claude.json",
      "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
      "/Users/ada/.cursor/mcp.json",
      "/Users/ada/Library/Application Support/Code/User/mcp.json",
      "/Users/ada/.codex/config.toml",
    ]);
    expect(filesOn(windows)).toEqual([
      "C:\\Users\\ada\\.claude.json",
      "C:\\Users\\ada\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
      "C:\\Users\\ada\\.cursor\\mcp.json",
      "C:\\Users\\ada\\AppData\\Roaming\\Code\\User\\mcp.json",
      "C:\\Users\\ada\\.codex\\config.toml",
    ]);
    expect(startOf(windows, ["--read-only"])).toEqual({
      command: "cmd",
      args: ["/c", "npx", "-y", "stemma", "mcp", "--read-only"],
    });
  });
});

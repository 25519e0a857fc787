import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { watchFolder } from "../../../src/sqlite/client.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-folder-"));

afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

it.skipIf(process.platform === "win32")(
  "looks at the files where the folder changed, or has changed just now",
  async () => {
    let looks = 0;
    const check = watchFolder(folder, () => {
      looks += 1;
    });
    for (let times = 1; times <= 3; times += 1) {
      check();
      expect(looks).toBe(times);
    }
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    for (let times = 0; times < 3; times += 1) check();
    expect(looks).toBe(4);
    // Longer than a tick of the clock of any file system here.
    await wait(50);
    writeFileSync(join(folder, "new"), "");
    check();
    check();
    expect(looks).toBe(5);
    rmSync(folder, { recursive: true });
    for (let times = 6; times <= 8; times += 1) {
      check();
      vi.setSystemTime(Date.now() + 60_000);
      expect(looks).toBe(times);
    }
  },
);

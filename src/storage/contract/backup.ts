import type { CheckReport } from "./check.js";

export interface BackupOptions {
  /** Check the copy before it is put in place. Default true. With false, damage is copied, too, without an error. */
  readonly check?: boolean | undefined;
}

export interface BackupReport {
  /** The file that was written. */
  readonly path: string;
  /** Its size. */
  readonly bytes: number;
  /** What the check of the copy found; null without one. */
  readonly check: CheckReport | null;
}

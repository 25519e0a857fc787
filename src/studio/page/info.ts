import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { StudioInfo } from "../api.js";

/** What the studio is opened on, and what it may do. */
export const Info = createContext<StudioInfo | null>(null);

export function useInfo(): StudioInfo | null {
  return useContext(Info);
}

import { StemmaError } from "../../errors.js";

/** The AI SDK, which is loaded when a model is asked. Errors: `MODEL_UNAVAILABLE` where it is not installed. */
export async function loadAiSdk(): Promise<typeof import("ai")> {
  try {
    return await import("ai");
  } catch (cause) {
    throw new StemmaError("MODEL_UNAVAILABLE", {}, "To call a model, run: npm install ai@6", { cause });
  }
}

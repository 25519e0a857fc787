/** What a function gives; null where that takes longer than so many milliseconds, also in the middle of a regular expression. */
export type RunWithin = <T>(milliseconds: number, work: () => T) => { readonly value: T } | null;

/** Node only. */
export async function createRunWithin(): Promise<RunWithin> {
  const { createContext, Script } = await import("node:vm");
  const call = { work: (): void => {} };
  const script = new Script("call.work()");
  const context = createContext({ call });
  return <T>(milliseconds: number, work: () => T) => {
    let result: { value: T } | null = null;
    call.work = () => {
      result = { value: work() };
    };
    try {
      script.runInContext(context, { timeout: Math.max(1, Math.ceil(milliseconds)) });
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      return null;
    }
    return result;
  };
}

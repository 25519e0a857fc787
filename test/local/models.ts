import { localModels } from "../../scripts/local-model.mjs";

/** The folder of models that the tests load; null where Python or PyPI is missing. */
export function findModels(): string | null {
  try {
    return localModels();
  } catch (error) {
    console.warn(`The tests of local models are skipped, since Python 3 cannot make one: ${(error as Error).message}`);
    return null;
  }
}

import { type Check, check, defineOptions } from "@stemma/model";

/** The parts of messages that a store's search looks at. */
export interface SearchSettings {
  /**
   * Search also looks at the inputs, outputs and errors of tool calls: at the texts, numbers and names of fields among the first 4,000
   * characters of each, and 32,000 of a message. Files in base64 are left out; embedders get texts alone. Each store indexes by its own
   * setting, so pass it wherever you open the database; `check({ repair: true })` adds the calls of messages that were indexed without.
   * Default: false.
   */
  tools?: boolean | undefined;
}

const SETTINGS = defineOptions<SearchSettings>({ tools: check.flag });

/** An option that is such settings. */
export const checkSettings: Check<SearchSettings> = (settings) => SETTINGS.assert(settings, "search");

/** An option that is such settings, or says whether there is search at all. */
export const checkSearch: Check<boolean | SearchSettings> = (value, name) =>
  typeof value === "object" ? checkSettings(value, name) : check.flag(value, name);

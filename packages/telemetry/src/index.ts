export type { TelemetryEvent } from "./events.js";
export { type InstrumentOptions, instrument } from "./instrument.js";

export type { TelemetryEvent } from "./telemetry/events.js";
export { type InstrumentOptions, instrument } from "./telemetry/instrument.js";

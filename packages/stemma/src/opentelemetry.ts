export type { TelemetryEvent } from "@stemma/telemetry";
export { type InstrumentOptions, instrument } from "@stemma/telemetry";

import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll } from "vitest";
import { type InstrumentOptions, instrument } from "../../packages/stemma/src/opentelemetry.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { memory } from "../../packages/store/src/memory.js";

/** While the tests of a file run, spans know in which span they began. */
export function followContext(): void {
  beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => {
    context.disable();
    trace.disable();
    metrics.disable();
  });
}

/** An instrumented store, and what it told so far. */
export function collected(options: InstrumentOptions = {}, base: Store = memory()) {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const store = instrument(base, { tracerProvider, meterProvider, ...options });
  return {
    store,
    spans: () => exporter.getFinishedSpans(),
    reset: () => exporter.reset(),
    metrics: async () => {
      await reader.forceFlush();
      return metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    },
  };
}

export const of = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);

export const allText = (spans: readonly ReadableSpan[]) =>
  JSON.stringify(spans.map(({ name, attributes, status, events }) => [name, attributes, status, events]));

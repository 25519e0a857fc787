import {
  type Attributes,
  type MeterProvider,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { packageVersion } from "../package-version.js";
import type { Observed, Observer, Store } from "../storage/contract.js";
import { ATTRIBUTES as A, METRICS, operationOf, tableOf } from "./conventions.js";
import { errorType, eventObserver, type TelemetryEvent, whenDone } from "./events.js";
import { observeStore } from "./observe-store.js";

export interface InstrumentOptions {
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the global one. */
  readonly meterProvider?: MeterProvider | undefined;
  /** Spans and a metric for each statement. Default true. */
  readonly statements?: boolean | undefined;
  /**
   * Put what people and models wrote into spans: what calls were given, the values of statements, summaries, and the messages of
   * errors, each cut to 4,096 characters. Default false.
   */
  readonly contents?: boolean | undefined;
  /** Called with each call, statement, compaction and turn that ended, for logs. */
  readonly onEvent?: ((event: TelemetryEvent) => void) | undefined;
}

/** Characters of one content. */
const MOST = 4096;
const NAME = "stemma";
/** In seconds, as the conventions give them. */
const DATABASE_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const TOKEN_BUCKETS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/**
 * The same store with OpenTelemetry: a span and metrics for each call of it, for each statement, and for the turns and
 * compactions of sessions on it. Use what it gives in the store's place. A store that is not instrumented runs no code of this.
 */
export function instrument<S extends Store>(store: S, options: InstrumentOptions = {}): S {
  const { statements = true, onEvent } = options;
  const spans = spanObserver(options);
  const events = onEvent === undefined ? null : eventObserver(onEvent);
  const observer: Observer = events === null ? spans : (told, work) => spans(told, () => events(told, work));
  return observeStore(store, observer, { statements }) as S;
}

function spanObserver({
  tracerProvider = trace,
  meterProvider = metrics,
  contents = false,
}: InstrumentOptions): Observer {
  const tracer = tracerProvider.getTracer(NAME, packageVersion);
  const meter = meterProvider.getMeter(NAME, packageVersion);
  const seconds = { unit: "s", advice: { explicitBucketBoundaries: DATABASE_BUCKETS } };
  const operations = meter.createHistogram(METRICS.operation, { description: "GenAI operation duration", ...seconds });
  const queries = meter.createHistogram(METRICS.statement, {
    description: "Duration of database client operations",
    ...seconds,
  });
  const tokens = meter.createHistogram(METRICS.tokens, {
    description: "Number of input and output tokens used",
    unit: "{token}",
    advice: { explicitBucketBoundaries: TOKEN_BUCKETS },
  });
  return (told, work) => {
    const { name, attributes, measured } = told.type === "statement" ? statementSpan(told) : operationSpan(told);
    const started = performance.now();
    const kind = told.type === "statement" ? SpanKind.CLIENT : SpanKind.INTERNAL;
    return tracer.startActiveSpan(name, { kind, attributes }, (span) => {
      const end = (failed: Attributes): void => {
        span.end();
        const duration = (performance.now() - started) / 1000;
        (told.type === "statement" ? queries : operations).record(duration, { ...measured, ...failed });
      };
      if (contents && span.isRecording()) addContents(span, told);
      return whenDone(
        work,
        (result) => {
          if (told.name === "sessions.addUsage") {
            for (const [type, count] of Object.entries(usageOf(told)))
              tokens.record(count, { ...modelOf(told), [A.tokenType]: type });
          }
          if (contents && span.isRecording()) addResult(span, told, result);
          end({});
        },
        (error) => {
          const failed = { [A.error]: errorType(error) };
          span.setAttributes(failed);
          // A message may repeat what was given.
          span.setStatus({
            code: SpanStatusCode.ERROR,
            ...(contents ? { message: cut(error instanceof Error ? error.message : String(error)) } : {}),
          });
          end(failed);
        },
      );
    });
  };
}

interface Described {
  readonly name: string;
  readonly attributes: Attributes;
  /** Those that a metric has: of few values. */
  readonly measured: Attributes;
}

function statementSpan({ name, store, sql = "" }: Observed): Described {
  const table = tableOf(sql);
  const measured: Attributes = {
    [A.dbSystem]: store === "postgres" ? "postgresql" : "sqlite",
    [A.dbOperation]: name,
    ...(table === undefined ? {} : { [A.dbCollection]: table }),
  };
  return {
    name: table === undefined ? name : `${name} ${table}`,
    attributes: { ...measured, [A.dbQuery]: sql },
    measured,
  };
}

function operationSpan(told: Observed): Described {
  const { name, sessionId } = told;
  const operation = operationOf(told);
  const measured: Attributes = {
    ...(operation === undefined ? {} : { [A.operation]: operation }),
    [A.provider]: NAME,
    [A.call]: name,
  };
  const usage = name === "sessions.addUsage" ? usageAttributes(told) : {};
  const conversation = sessionId === undefined ? {} : { [A.conversation]: sessionId };
  return { name: operation ?? name, attributes: { ...measured, ...conversation, ...usage }, measured };
}

// Of `addUsage(id, inputTokens, outputTokens, cost, model)`.
function usageOf({ values = [] }: Observed): { input: number; output: number } {
  return { input: Number(values[1]), output: Number(values[2]) };
}

function modelOf({ values = [] }: Observed): Attributes {
  const model = values[4];
  return { [A.operation]: "chat", [A.provider]: NAME, ...(typeof model === "string" ? { [A.model]: model } : {}) };
}

function usageAttributes(told: Observed): Attributes {
  const { input, output } = usageOf(told);
  return { ...modelOf(told), [A.operation]: "chat", [A.inputTokens]: input, [A.outputTokens]: output };
}

function addContents(span: Span, { type, values = [] }: Observed): void {
  for (const [index, value] of values.entries()) {
    span.setAttribute(type === "statement" ? `${A.dbParameter}${index}` : `stemma.argument.${index}`, textOf(value));
  }
}

function addResult(span: Span, { type }: Observed, result: unknown): void {
  if (type !== "compaction") return;
  const { stored } = result as { stored: { summary: string } | null };
  if (stored !== null) span.setAttribute("stemma.summary", cut(stored.summary));
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return cut(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

const cut = (text: string): string => text.slice(0, MOST);

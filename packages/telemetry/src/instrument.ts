import {
  type Attributes,
  context,
  type MeterProvider,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { check, cut, defineOptions, packageVersion, reasonOf } from "@stemma/model";
import type { AgentUsage, Observed, Observer, Store } from "@stemma/store";
import { assertStore } from "@stemma/store";
import {
  ATTRIBUTES as A,
  type CountedUsage,
  countedUsage,
  METRICS,
  NAME,
  operationOf,
  tableOf,
} from "./conventions.js";
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
   * Put what people and models wrote into spans: what calls and tools were given, the values of statements, summaries, results of
   * tools, and the messages of errors, each cut to 4,096 characters. Default false.
   */
  readonly contents?: boolean | undefined;
  /** Called with each call, statement, compaction, turn, answer of an agent and call of a tool that ended, for logs. */
  readonly onEvent?: ((event: TelemetryEvent) => void) | undefined;
}

const OPTIONS = defineOptions<InstrumentOptions>({
  tracerProvider: check.having("getTracer"),
  meterProvider: check.having("getMeter"),
  statements: check.flag,
  contents: check.flag,
  onEvent: check.callable,
});

/** Characters of one content. */
const MOST = 4096;
/** In seconds, as the conventions give them. */
const DATABASE_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const TOKEN_BUCKETS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/**
 * Makes a store with OpenTelemetry: a span and metrics for each call of it, for each statement, for the turns and compactions
 * of sessions on it, and for the answers of agents whose sessions it keeps, with their calls of tools. Use the result in place
 * of the store: it fails as the store does, and what `onEvent` throws is only printed. A store that is not instrumented runs
 * none of this code. Errors: `STORE_UNSUPPORTED` for what is no store.
 */
export function instrument<S extends Store>(store: S, options: InstrumentOptions = {}): S {
  assertStore(store, "instrument()");
  OPTIONS.assert(options, "instrument()");
  const { statements = true, onEvent } = options;
  const spans = spanObserver(options);
  const events = onEvent === undefined ? null : eventObserver(onEvent);
  const observer: Observer =
    events === null ? spans : (told, work) => spans(told, (within) => events(told, () => work(within)));
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
      const active = context.active();
      return whenDone(
        () => work((part) => context.with(active, part)),
        (result) => {
          if (told.type === "agent") span.setAttributes(agentUsage(result as AgentUsage | undefined));
          for (const used of countedUsage(told)) {
            for (const type of ["input", "output"] as const)
              tokens.record(used[type], { ...modelAttributes(used), [A.tokenType]: type });
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
            ...(contents ? { message: bounded(reasonOf(error)) } : {}),
          });
          end(failed);
        },
      );
    });
  };
}

function addContents(span: Span, { type, values = [] }: Observed): void {
  for (const [index, value] of values.entries()) {
    const name = type === "statement" ? `${A.dbParameter}${index}` : `stemma.argument.${index}`;
    span.setAttribute(type === "tool" ? A.toolArguments : name, textOf(value));
  }
}

function addResult(span: Span, { type }: Observed, result: unknown): void {
  if (type === "tool") span.setAttribute(A.toolResult, textOf(result));
  if (type !== "compaction") return;
  const { stored } = result as { stored: { summary: string } | null };
  if (stored !== null) span.setAttribute("stemma.summary", bounded(stored.summary));
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return bounded(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

const bounded = (text: string): string => cut(text, 0, MOST).toWellFormed();

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
  const counted = countedUsage(told);
  const conversation = sessionId ?? counted[0]?.sessionId;
  const of = told.agent?.name ?? told.tool?.name;
  return {
    name: of === undefined ? (operation ?? name) : `${operation} ${of}`,
    attributes: {
      ...measured,
      ...(conversation === undefined ? {} : { [A.conversation]: conversation }),
      ...usageAttributes(counted),
      ...agentAttributes(told),
    },
    measured,
  };
}

function agentAttributes({ agent, tool }: Observed): Attributes {
  if (tool !== undefined) return { [A.toolName]: tool.name, [A.toolCall]: tool.callId, [A.toolType]: "function" };
  if (agent === undefined) return {};
  return { ...(agent.name === undefined ? {} : { [A.agentName]: agent.name }), [A.model]: agent.model };
}

// Nobody counted where the work was left in the middle.
function agentUsage(usage: AgentUsage | undefined): Attributes {
  if (usage === undefined) return {};
  return { [A.inputTokens]: usage.inputTokens, [A.outputTokens]: usage.outputTokens };
}

function modelAttributes({ model }: CountedUsage): Attributes {
  return { [A.operation]: "chat", [A.provider]: NAME, ...(model === undefined ? {} : { [A.model]: model }) };
}

// Of all requests together.
function usageAttributes(counted: readonly CountedUsage[]): Attributes {
  const last = counted.at(-1);
  if (last === undefined) return {};
  const sumOf = (kind: "input" | "output") => counted.reduce((sum, each) => sum + each[kind], 0);
  return { ...modelAttributes(last), [A.inputTokens]: sumOf("input"), [A.outputTokens]: sumOf("output") };
}

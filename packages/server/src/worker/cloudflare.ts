import type { DurableObjectContext, DurableObjectSqlStorage } from "@stemma/store/durable-object";

/** The part of a binding to Durable Objects that is used. A `DurableObjectNamespace` is one. */
export interface ObjectNamespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** When an object is to be woken, in milliseconds since 1970. */
export interface ObjectAlarms {
  getAlarm(): Promise<number | null>;
  setAlarm(time: number): Promise<void>;
}

/** The part of a Durable Object's `ctx` that a user's memory needs. A `DurableObjectState` is one. */
export interface UserMemoryContext extends DurableObjectContext {
  readonly storage: DurableObjectSqlStorage & ObjectAlarms;
}

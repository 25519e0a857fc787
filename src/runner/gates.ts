import { type Deferred, defer } from "../deferred.js";

/** Points that one side waits at until the other has come there too. */
export class Gates {
  private readonly gates = new Map<string, Deferred>();

  /** Lets everyone through who waits at `key`, and who comes there later. */
  open(key: string): void {
    this.gate(key).resolve();
  }

  /** Resolves once the gate is open. */
  pass(key: string): Promise<void> {
    return this.gate(key).promise;
  }

  private gate(key: string): Deferred {
    const gate = this.gates.get(key) ?? defer();
    this.gates.set(key, gate);
    return gate;
  }
}

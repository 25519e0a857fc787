/** Points that one side waits at until the other has come there too. */
export class Gates {
  private readonly gates = new Map<string, { promise: Promise<void>; open: () => void }>();

  /** Lets everyone through who waits at `key`, and who comes there later. */
  open(key: string): void {
    this.gate(key).open();
  }

  /** Resolves once the gate is open. */
  pass(key: string): Promise<void> {
    return this.gate(key).promise;
  }

  private gate(key: string): { promise: Promise<void>; open: () => void } {
    const known = this.gates.get(key);
    if (known !== undefined) return known;
    let open = () => {};
    const promise = new Promise<void>((resolve) => {
      open = resolve;
    });
    const gate = { promise, open };
    this.gates.set(key, gate);
    return gate;
  }
}

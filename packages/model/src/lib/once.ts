/** Makes something for an object when it is first asked for: the same each time, for whoever shares the object. */
export function perObject<Owner extends object, Made>(make: (owner: Owner) => Made): (owner: Owner) => Made {
  const all = new WeakMap<Owner, Made>();
  return (owner) => {
    const known = all.get(owner);
    if (known !== undefined) return known;
    const made = make(owner);
    all.set(owner, made);
    return made;
  };
}

/** Runs a task once, however often it is called; after a failure the next call runs it again. */
export function once<T>(task: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= task().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}

/** The promise, or a rejection with the signal's reason as soon as that is aborted. Nobody waits for what does not heed the signal. */
export function unlessAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).then(() => signal.removeEventListener("abort", abort));
  });
}

const MAKERS = Symbol("makers");

type InParts = Readonly<Record<typeof MAKERS, Readonly<Record<string, () => unknown>>>>;

/** One getter of a name serves all objects: of getters of their own, each object would have a shape of its own, which is slow to make. */
const getters: Record<string, PropertyDescriptor> = {};

function getterOf(name: string): PropertyDescriptor {
  return {
    get(this: InParts) {
      const value = this[MAKERS][name]?.();
      Object.defineProperty(this, name, { value, enumerable: true, configurable: true, writable: true });
      return value;
    },
    enumerable: true,
    configurable: true,
  };
}

/** Gives an object parts that are made when they are first asked for. */
export function withParts<Whole extends object, Parts extends object>(
  whole: Whole,
  makers: { readonly [Name in keyof Parts]: () => Parts[Name] },
): Whole & Parts {
  Object.defineProperty(whole, MAKERS, { value: makers });
  for (const name in makers) {
    getters[name] ??= getterOf(name);
    Object.defineProperty(whole, name, getters[name]);
  }
  return whole as Whole & Parts;
}

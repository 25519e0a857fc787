import { useState } from "react";
import type { ChatFact } from "stemma/ai-sdk";
import { forgetFact, undoForgetting } from "../api";
import { idOf } from "./facts";

export interface Forgetting {
  /** Facts, with those in their places that were forgotten since this page was opened. */
  readonly withForgotten: (facts: readonly ChatFact[]) => ChatFact[];
  readonly isForgotten: (fact: ChatFact) => boolean;
  /** The fact that was brought back last. */
  readonly isBack: (fact: ChatFact) => boolean;
  readonly forget: (fact: ChatFact) => Promise<void>;
  readonly undo: (fact: ChatFact) => Promise<void>;
}

/** Forgets facts, and brings them back as long as the page is open. */
export function useForgetting(): Forgetting {
  const [forgotten, setForgotten] = useState<ReadonlyMap<string, ChatFact>>(new Map());
  const [back, setBack] = useState<string | null>(null);
  return {
    withForgotten: (facts) => [...facts.filter((fact) => !forgotten.has(idOf(fact))), ...forgotten.values()],
    isForgotten: (fact) => forgotten.has(idOf(fact)),
    isBack: (fact) => back === idOf(fact),
    async forget(fact) {
      await forgetFact(fact);
      setForgotten((before) => new Map(before).set(idOf(fact), fact));
    },
    async undo(fact) {
      await undoForgetting(fact);
      setForgotten((before) => new Map([...before].filter(([id]) => id !== idOf(fact))));
      setBack(idOf(fact));
    },
  };
}

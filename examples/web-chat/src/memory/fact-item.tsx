import { X } from "lucide-react";
import { forgetFact } from "../api";
import type { Fact } from "./memory";
import { Why } from "./why";

export function FactItem({ fact, isNew }: { fact: Fact; isNew: boolean }) {
  return (
    <li className="fact" data-new={isNew}>
      <span>{fact.text}</span>
      <button type="button" className="icon small" onClick={() => void forgetFact(fact.text)} title="Forget this">
        <X aria-hidden />
        <span className="unseen">Forget “{fact.text}”</span>
      </button>
      <Why origin={fact.origin} />
    </li>
  );
}

import { useState } from "preact/hooks";
import { canCopy, copyText } from "../clipboard.js";
import { Icon } from "./icons.js";

/** Copies a text, such as an id. */
export function CopyButton({ text, name }: { readonly text: string; readonly name: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  if (!canCopy) return null;
  return (
    <button type="button" class="quiet copy" title={`Copy ${name}`} aria-label={`Copy ${name}`} onClick={copy}>
      {isCopied ? <span class="copied">Copied</span> : <Icon name="copy" />}
    </button>
  );
}

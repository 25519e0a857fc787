import { useState } from "preact/hooks";

/** Line drawings of 16 by 16, in the colour of the text beside them. */
const SHAPES = {
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z",
  system: "M2 3h12v8H2ZM6 14h4M8 11v3",
  left: "M10 3 5 8l5 5",
  right: "m6 3 5 5-5 5",
  down: "m3 6 5 5 5-5",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  branch:
    "M4.5 4v8M4.5 9c4 0 7-1 7-4M4.5 4a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.5 15a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11.5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Z",
  tool: "M10 2.5a3.5 3.5 0 0 0-3.3 4.7L2 12l2 2 4.8-4.700A3.5 3.5 0 0 0 13.5 6l-2 1.5-2-1 .2-2.200L11.5 3Z",
  summary: "M2 4h12M2 8h12M2 12h7",
  thought: "M8 2a4 4 0 0 0-2 7.500V11h4V9.500A4 4 0 0 0 8 2ZM6.5 13.500h3",
  file: "M4 1.500h5l3 3v10H4ZM9 1.500v3h3",
  copy: "M5.5 5.500h8v8h-8ZM10.5 5.500v-3h-8v8h3",
  close: "m3.5 3.5 9 9M12.5 3.500l-9 9",
  warning: "M8 2 1.5 13.500h13ZM8 6.500v3M8 11.500h.01",
  external: "M6 3H3v10h10v-3M9 3h4v4M13 3 7.5 8.5",
  code: "m5 4-4 4 4 4M11 4l4 4-4 4",
  help: "M8 14.500a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM6.2 6.300a1.9 1.9 0 1 1 2.6 1.900c-.5.2-.8.6-.8 1.100v.2M8 11.600h.01",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[name]} />
    </svg>
  );
}

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

/** Browsers offer the clipboard to pages of this machine and of https only. */
export const canCopy = navigator.clipboard !== undefined;

export function copyText(text: string): Promise<void> {
  return navigator.clipboard.writeText(text);
}

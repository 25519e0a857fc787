import { type KeyboardEvent, type RefObject, useEffect, useLayoutEffect, useRef } from "react";

interface GrowingTextProps {
  value: string;
  onChange: (value: string) => void;
  onKeyDown: (event: KeyboardEvent<HTMLTextAreaElement>) => void;
  label: string;
  placeholder?: string;
  isFocused?: boolean;
  place?: RefObject<HTMLTextAreaElement | null>;
}

/** A field for text that is as high as its text. */
export function GrowingText({ value, onChange, onKeyDown, label, placeholder, isFocused, place }: GrowingTextProps) {
  const own = useRef<HTMLTextAreaElement>(null);
  const field = place ?? own;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height is that of the value.
  useLayoutEffect(() => {
    const { current } = field;
    if (current === null) return;
    current.style.height = "auto";
    current.style.height = `${current.scrollHeight}px`;
  }, [value, field]);
  useEffect(() => {
    if (!isFocused || field.current === null) return;
    field.current.focus();
    field.current.setSelectionRange(field.current.value.length, field.current.value.length);
  }, [isFocused, field]);
  return (
    <textarea
      ref={field}
      rows={1}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={onKeyDown}
      aria-label={label}
      placeholder={placeholder}
    />
  );
}

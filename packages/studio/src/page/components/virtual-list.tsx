import type { ComponentChildren } from "preact";
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isReturning } from "../location.js";

interface Props<T> {
  readonly items: readonly T[];
  /** Of every row, in pixels. */
  readonly rowHeight: number;
  readonly label: string;
  readonly keyOf: (item: T) => string;
  readonly row: (item: T, index: number) => ComponentChildren;
  /** Called when the last rows come near. */
  readonly onEnd?: (() => void) | undefined;
  /** Stands below the last row. */
  readonly footer?: ComponentChildren;
  readonly class?: string | undefined;
  /** The key of the row to bring into view, once it is there and whenever it is another one. */
  readonly shown?: string | null | undefined;
  /** Under this name the place in the list is kept for whoever comes back by the browser's history. */
  readonly keepAs?: string | undefined;
}

const OVERSCAN = 12;
const places = new Map<string, number>();

/** A list of rows of one height, of which only those in view are drawn. */
export function VirtualList<T>(props: Props<T>) {
  const { items, rowHeight, onEnd, shown, keepAs, keyOf } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);

  const look = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    if (keepAs !== undefined) places.set(keepAs, element.scrollTop);
    setView({ top: element.scrollTop, height: element.clientHeight });
  }, [keepAs]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    element.scrollTop = keepAs !== undefined && isReturning() ? (places.get(keepAs) ?? 0) : 0;
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [keepAs, look]);
  useLayoutEffect(() => {
    if ((items.length - last) * rowHeight < view.height) onEnd?.();
  }, [items.length, last, rowHeight, view.height, onEnd]);
  const brought = useRef<string | null>(null);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || !shown || shown === brought.current) return;
    const place = items.findIndex((item) => keyOf(item) === shown);
    if (place < 0) return;
    brought.current = shown;
    const top = place * rowHeight;
    const isInView = top >= element.scrollTop && top + rowHeight <= element.scrollTop + element.clientHeight;
    if (!isInView) element.scrollTop = top - element.clientHeight / 2;
  }, [shown, items, keyOf, rowHeight]);

  return (
    <div class={`virtual-list ${props.class ?? ""}`} ref={scroller} onScroll={look}>
      <ul aria-label={props.label} data-items style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, offset) => (
          <li
            key={keyOf(item)}
            aria-posinset={first + offset + 1}
            aria-setsize={-1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${(first + offset) * rowHeight}px)` }}
          >
            {props.row(item, first + offset)}
          </li>
        ))}
      </ul>
      {props.footer}
    </div>
  );
}

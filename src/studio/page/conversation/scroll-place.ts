/** A message, and how far its top is from the top of what scrolls. */
export interface Anchor {
  readonly id: string;
  readonly top: number;
}

const END_PX = 40;

/** The first message in view. */
export function anchorIn(scroller: HTMLElement): Anchor | null {
  const edge = scroller.getBoundingClientRect().top;
  for (const element of messagesIn(scroller)) {
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom > edge) return { id: element.dataset.message ?? "", top: top - edge };
  }
  return null;
}

/** Scrolls so that the message stands where it stood. */
export function restore(scroller: HTMLElement, anchor: Anchor | null): void {
  if (anchor === null) return;
  for (const element of messagesIn(scroller)) {
    if (element.dataset.message !== anchor.id) continue;
    const top = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    scroller.scrollTop += top - anchor.top;
    return;
  }
}

export function isAtEnd(scroller: HTMLElement): boolean {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < END_PX;
}

function messagesIn(scroller: HTMLElement): NodeListOf<HTMLElement> {
  return scroller.querySelectorAll<HTMLElement>(".messages > [data-message]");
}

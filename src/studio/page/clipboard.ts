/** Browsers offer the clipboard to pages of this machine and of https only. */
export const canCopy = navigator.clipboard !== undefined;

export function copyText(text: string): Promise<void> {
  return navigator.clipboard.writeText(text);
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Floating elements. The browser's own dialog traps the focus, closes on Escape and restores the focus.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({ label, class: classes = "", onClose, children }: { label: string; class?: string; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  // Not useEffect: it runs after the next frame, and input until then would go to the page.
  useLayoutEffect(() => {
    const dialog = box.current;
    const before = document.activeElement as HTMLElement | null;
    dialog?.showModal();
    return () => {
      dialog?.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog ref={box} class={classes} aria-label={label} onCancel={(event) => { event.preventDefault(); onClose(); }}
      onClick={(event) => event.target === box.current && onClose()}>
      <div class="dialog-in">{children}</div>
    </dialog>
  );
}

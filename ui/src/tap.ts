// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Touch screens have no hover: a tap shows the title of an element, unless the tap has another effect.
import { toast } from "./state";

/** tell shows the title of the touched element. */
export function tell(event: MouseEvent): void {
  if ((event as PointerEvent).pointerType !== "touch" || event.defaultPrevented) return;
  const titled = (event.target as Element | null)?.closest?.("[title]");
  if (!titled || titled.closest("a, button, [role=row], g.node")) return;
  const text = titled.getAttribute("title");
  if (text) toast.set({ text, bad: false });
}

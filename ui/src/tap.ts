// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Fingers do not hover: what stands in a title is shown by a tap, unless the tap is for something else.
import { toast } from "./state";

/** tell shows the title of what a finger has touched. */
export function tell(event: MouseEvent): void {
  if ((event as PointerEvent).pointerType !== "touch" || event.defaultPrevented) return;
  const titled = (event.target as Element | null)?.closest?.("[title]");
  if (!titled || titled.closest("a, button, [role=row], g.node")) return;
  const text = titled.getAttribute("title");
  if (text) toast.set({ text, bad: false });
}

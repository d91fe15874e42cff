// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Pages about targets make the server check them: when they open, and each minute while they are visible.
import { useEffect } from "preact/hooks";
import { api } from "./api";
import { refusalOf } from "./asked";
import { everyMilliseconds, isDue } from "./check-model";
import type { Refusal } from "./refusal";
import { Store } from "./store";

export const checking = new Store<{ busy: boolean; refused?: Refusal }>({ busy: false });
let last: number | undefined;

/** checkNow makes the server check the targets. The results arrive with the stream of the page. */
export async function checkNow(): Promise<void> {
  if (checking.value.busy) return;
  last = Date.now();
  checking.set({ busy: true });
  try {
    await api.check();
    checking.set({ busy: false });
  } catch (error) {
    checking.set({ busy: false, refused: refusalOf(error) });
  }
}

/** useChecks makes the server check while a component is mounted. */
export function useChecks(): void {
  useEffect(() => {
    const look = () => {
      if (!document.hidden && isDue(last, Date.now())) void checkNow();
    };
    last = undefined;
    look();
    const timer = window.setInterval(look, everyMilliseconds / 12);
    document.addEventListener("visibilitychange", look);
    return () => {
      window.clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
}

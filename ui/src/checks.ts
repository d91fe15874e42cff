// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Pages that tell of targets have the server look at them: when they open, and each minute while somebody can see them.
import { useEffect } from "preact/hooks";
import { api } from "./api";
import { refusalOf } from "./asked";
import { everyMilliseconds, isDue } from "./check-model";
import type { Refusal } from "./refusal";
import { Store } from "./store";

export const checking = new Store<{ busy: boolean; refused?: Refusal }>({ busy: false });
let last: number | undefined;

/** checkNow has the server look at the targets. What it finds comes with the stream of the page. */
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

/** useChecks has the server look while a component is there. */
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

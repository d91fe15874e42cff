// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";

/** Store is a value that components observe. */
export class Store<T> {
  private listeners = new Set<() => void>();
  constructor(private current: T) {}
  get value(): T {
    return this.current;
  }
  set(value: T): void {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const listener of [...this.listeners]) listener();
  }
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** useStore redraws a component when what it picks from a store changes. */
export function useStore<T, U = T>(store: Store<T>, pick: (value: T) => U = (value) => value as unknown as U): U {
  const [, draw] = useState<U>(() => pick(store.value));
  useEffect(() => {
    const look = () => draw(() => pick(store.value));
    look();
    return store.subscribe(look);
  }, [store]);
  return pick(store.value);
}

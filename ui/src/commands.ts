// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Which component handles a key: the last one mounted that knows the command.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Command } from "./keys";

export type Handlers = Partial<Record<Command, () => void>>;

const stack: { current: Handlers }[] = [];

/** useCommands handles commands while a component is mounted. */
export function useCommands(handlers: Handlers): void {
  const held = useRef(handlers);
  held.current = handlers;
  // Not useEffect: keys pressed before the next frame would be lost.
  useLayoutEffect(() => {
    stack.push(held);
    return () => void stack.splice(stack.indexOf(held), 1);
  }, []);
}

/** run runs a command, and reports whether a component handled it. */
export function run(command: Command): boolean {
  for (let i = stack.length - 1; i >= 0; i--) {
    const handler = stack[i]?.current[command];
    if (handler) {
      handler();
      return true;
    }
  }
  return false;
}

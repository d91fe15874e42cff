// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Which component does something for a key: the one that came last and knows the command.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Command } from "./keys";

export type Handlers = Partial<Record<Command, () => void>>;

const stack: { current: Handlers }[] = [];

/** useCommands gives meaning to commands while a component is there. */
export function useCommands(handlers: Handlers): void {
  const held = useRef(handlers);
  held.current = handlers;
  // Not useEffect: keys that are pressed before the next frame would be lost.
  useLayoutEffect(() => {
    stack.push(held);
    return () => void stack.splice(stack.indexOf(held), 1);
  }, []);
}

/** run does a command, and says whether anybody knew it. */
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

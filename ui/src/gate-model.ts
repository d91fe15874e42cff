// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Gates, approvals and lanes of a pipeline. All of it is pure.
import type { FieldShift, Gate, Lane, Request, RequestChecks, TargetShift } from "./documents";
import { count, number, secondsBetween } from "./format";

const order = ["failed", "yours", "others", "held", "counting"];

/** holding returns the gate at which a revision waits. */
export function holding(gates: Gate[]): Gate | undefined {
  return gates.filter((gate) => order.includes(gate.state)).sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))[0];
}

const icons: Record<string, string> = { approval: "you", soak: "soak", window: "window", hold: "held", strategy: "pr", health: "target" };
const stateIcons: Record<string, string> = { passed: "done", failed: "failed", held: "held", others: "lock" };

/** gateIcon returns the shape of a gate: its kind while it is active, its result after that. */
export function gateIcon(gate: Gate): string {
  return stateIcons[gate.state] ?? icons[gate.kind] ?? "waiting";
}

/** safeAddress permits only web addresses: text from the cluster must not be executed. */
export function safeAddress(address: string): string | undefined {
  return /^https?:\/\//i.test(address) ? address : undefined;
}

/** requestWords returns the name and state of a pull request: "#12" and "merged by user". */
export function requestWords(request: Request): { name: string; state: string } {
  const name = request.number ? `#${request.number}` : "Pull request";
  return { name, state: [request.state, request.by && `by ${request.by}`].filter(Boolean).join(" ") };
}

/** checksWords returns the state of checks as a shape and in words, never by the colour alone. */
export function checksWords(checks: RequestChecks): { icon: string; tone: string; text: string } {
  if (checks.state === "failed") {
    const others = checks.failed - checks.failedNames.length;
    const names = [...checks.failedNames, ...(others > 0 && checks.failedNames.length > 0 ? [`${number(others)} more`] : [])].join(", ");
    return { icon: "failed", tone: "s-failed", text: `${names ? `Checks failed: ${names}` : `${count(checks.failed, "check")} failed`}${checks.running > 0 ? `; ${number(checks.running)} still running` : ""}` };
  }
  if (checks.state === "running") return { icon: "progressing", tone: "s-running", text: `Checks running, ${number(checks.passed)} of ${number(checks.total)} passed` };
  return { icon: "done", tone: "s-done", text: `${count(checks.passed, "check")} passed` };
}

/** shiftWords describes what a target runs and would run. */
export function shiftWords(shift: TargetShift): string {
  const from = shift.from || "nothing";
  const words = shift.to === shift.from ? `stays at ${from}` : `${from} → ${shift.to || "nothing"}`;
  return shift.ready ? words : `${words}, not ready now`;
}

interface Changed { name: string; shifts: FieldShift[] }

/** byObject groups changes by object. */
export function byObject(changes: FieldShift[]): Changed[] {
  const objects = new Map<string, Changed>();
  for (const shift of changes) {
    const object = objects.get(shift.object) ?? { name: shift.object, shifts: [] };
    object.shifts.push(shift);
    objects.set(shift.object, object);
  }
  return [...objects.values()];
}

/** leadOf returns how long a revision took from its first environment to its last, in seconds, if it has arrived. */
export function leadOf(lane: Lane): number | undefined {
  const first = lane.marks[0]?.time;
  const last = lane.marks[lane.marks.length - 1]?.time;
  return lane.ended === "arrived" && first && last && lane.marks.length > 1 ? secondsBetween(first, last) : undefined;
}

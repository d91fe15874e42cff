// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The effects of a decision about a promotion, before it is made.
import type { Gate, PromotionPreview } from "./documents";
import { gateIcon, shiftWords } from "./gate-model";
import { Icon } from "./icons";
import { RequestLink } from "./request";

const targetsAtMost = 50;

export function Decision({ of: preview }: { of: PromotionPreview }) {
  const shown = preview.targets.slice(0, targetsAtMost);
  return (
    <div class="decision">
      {preview.warnings.map((text) => <p key={text} class="banner waiting"><Icon name="warn" class="s-waiting" /><span class="grow any">{text}</span></p>)}
      <dl>
        <div><dt>Targets of {preview.environment}</dt>
          <dd><ul class="shifts" tabIndex={preview.targets.length > 4 ? 0 : undefined} aria-label={`Targets of ${preview.environment}`}>
            {shown.map((shift) => <li key={`${shift.cluster}/${shift.namespace}`}><span class="any">{shift.cluster || shift.namespace}</span><span class="num any">{shiftWords(shift)}</span></li>)}
            {shown.length < preview.targets.length && <li class="muted">{preview.targets.length - shown.length} more</li>}
          </ul></dd></div>
        {preview.request && <div><dt>Pull request</dt><dd><RequestLink request={preview.request} /></dd></div>}
        {preview.changes.length > 0 && <div><dt>Written</dt><dd>{preview.changes.slice(0, targetsAtMost).map((shift, i) => <p key={i} class="any">{shift.object}: {shift.field}, {shift.before ? `${shift.before} → ` : ""}{shift.after}</p>)}</dd></div>}
        {preview.passed.length > 0 && <div><dt>Passed before</dt><dd><GateList gates={preview.passed} /></dd></div>}
        <div><dt>Approvals</dt><dd class="any">{preview.approvals}</dd></div>
        {preview.left.length > 0 && <div><dt>Still to pass</dt><dd><GateList gates={preview.left} /></dd></div>}
        {preview.then.length > 0 && <div><dt>Then</dt><dd><ol>{preview.then.map((step) => <li key={step} class="any">{step}</li>)}</ol></dd></div>}
      </dl>
    </div>
  );
}

function GateList({ gates }: { gates: Gate[] }) {
  return <ul>{gates.map((gate, i) => <li key={i} class="gateline"><Icon name={gateIcon(gate)} class="faint" /><span class="any">{gate.label}{gate.detail ? `: ${gate.detail}` : ""}</span></li>)}</ul>;
}

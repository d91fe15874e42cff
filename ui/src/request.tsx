// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A pull request and its checks, on any page.
import type { Request, RequestChecks } from "./documents";
import { absolute } from "./format";
import { checksWords, requestWords, safeAddress } from "./gate-model";
import { Icon } from "./icons";

/** RequestLink links to a pull request at its Git server, and shows its state and that of its checks. */
export function RequestLink({ request, brief }: { request: Request; brief?: boolean }) {
  const { name, state } = requestWords(request);
  const address = request.url ? safeAddress(request.url) : undefined;
  const title = ["Pull request", request.number ? name : "", state, request.time ? absolute(request.time) : ""].filter(Boolean).join(" ");
  const text = brief ? <>{request.number ? name : <Icon name="pr" />}<span class="sr">{title}</span></> : <>{request.number ? `Pull request ${name}` : name}</>;
  return (
    <span class={`request ${request.state ?? ""}`} title={title}>
      {!brief && <Icon name="pr" />}
      {address ? <a class="link any" href={address} target="_blank" rel="noreferrer">{text}</a> : <span class="any">{text}</span>}
      {!brief && state && <span class="muted any">{state}</span>}
      {!brief && request.checks && <Checks checks={request.checks} fallback={address} />}
    </span>
  );
}

/** Checks shows the state of checks as a shape and in words, and links to the page about them, or else to the pull request. */
function Checks({ checks, fallback }: { checks: RequestChecks; fallback: string | undefined }) {
  const { icon, tone, text } = checksWords(checks);
  const address = (checks.url ? safeAddress(checks.url) : undefined) ?? fallback;
  return (
    <span class="checks">
      <Icon name={icon} class={tone} />
      {address ? <a class="link any" href={address} target="_blank" rel="noreferrer">{text}</a> : <span class="any">{text}</span>}
    </span>
  );
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// YAML on pages.
import type { ComponentChildren } from "preact";
import { CopyButton } from "../parts";

/** YamlText is a document that can be copied, and scrolled with keys. */
export function YamlText({ text, label }: { text: string; label: string }) {
  return (
    <div class="yaml"><CopyButton text={text} label={`Copy the YAML of ${label}`} quiet /><pre tabIndex={0} aria-label={`YAML of ${label}`}>{text.replace(/\n$/, "").split("\n").map((line, i) => <YamlLine key={i} text={line} />)}</pre></div>
  );
}

/** YamlLine highlights the name of a field, which is what users look for. */
export function YamlLine({ text }: { text: string }): ComponentChildren {
  const parts = /^(\s*(?:- )*)([A-Za-z0-9_./"'-]+:)(.*)$/.exec(text);
  if (!parts) return <span class="yl">{text}{"\n"}</span>;
  return <span class="yl">{parts[1]}<span class="yk">{parts[2]}</span>{parts[3]}{"\n"}</span>;
}

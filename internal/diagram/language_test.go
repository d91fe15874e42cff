// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram_test

import (
	"strings"
	"testing"

	"espalier.dev/internal/diagram"
)

// hostile has a group, edges of all states, a cycle, and texts with a meaning in each language.
func hostile() diagram.Graph {
	return diagram.Graph{
		Title: `say "hi" \n`,
		Nodes: []diagram.Node{
			{ID: "a", Title: "a\"b<script>#&`\x1b[31m", Detail: "two\nlines \\", State: "failed"},
			{ID: "g", Title: "group", State: `done" onload="x`},
			{ID: "b", Parent: "g", Title: "b", Detail: "]]>", State: "not-yet"},
		},
		Edges: []diagram.Edge{
			{From: "a", To: "b", Label: "x|y", State: "cut"},
			{From: "b", To: "a", State: "missing"},
			{From: "a", To: "g", Label: "there", State: "there"},
			{From: "g", To: "b"},
			{From: "a", To: "nowhere"},
		},
	}
}

func TestDOT(t *testing.T) {
	const want = `digraph "say \"hi\" \\n" {
  rankdir=LR;
  compound=true;
  node [shape=box, style=rounded];
  n1 [label="a\"b<script>#&` + "`" + `[31m\ntwo lines \\", color="#c8352c", fontcolor="#b3261e"];
  subgraph cluster_2 {
    label="group";
    color="#c5ccc5";
    n2 [shape=point, style=invis];
    n3 [label="b\n]]>", color="#c5ccc5", fontcolor="#5a665f"];
  }
  n1 -> n3 [label="x|y", style=dashed, color="#c8352c"];
  n3 -> n1 [label="", style=dashed, color="#b77a12"];
  n1 -> n2 [label="there", lhead=cluster_2];
  n2 -> n3 [label=""];
}
`
	if got := hostile().DOT(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMermaid(t *testing.T) {
	const want = `flowchart LR
  n1["a#34;b#60;script#62;#35;#38;#96;[31m<br/>two lines \"]
  subgraph n2["group"]
    n3["b<br/>]]#62;"]
  end
  n1 -.->|"x|y"| n3
  n3 -.-> n1
  n1 -->|"there"| n2
  classDef not-yet stroke:#c5ccc5,stroke-dasharray:4 3
  class n3 not-yet
  classDef failed stroke:#c8352c
  class n1 failed
`
	if got := hostile().Mermaid(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Foreign texts must neither break the picture nor run in it.
func TestSVGOfHostileTexts(t *testing.T) {
	got := hostile().Layout().SVG()
	checkXML(t, got)
	for _, bad := range []string{"<script", `onload="`, "\x1b", "javascript"} {
		if strings.Contains(got, bad) {
			t.Errorf("the picture contains %q", bad)
		}
	}
}

// Screen readers read the title and the description.
func TestSVGIsDescribed(t *testing.T) {
	got := shop().Layout().SVG()
	for _, want := range []string{
		`role="img"`,
		"<title id=\"title\">Values between the installations of shop</title>",
		"payments: 0 of 3 pods start.",
		"From payments to orders: apiUrl, cut.",
		"prefers-color-scheme: dark",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

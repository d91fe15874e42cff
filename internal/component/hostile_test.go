// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Hostile documents are rejected before they become expensive.
func TestHostileDocumentsAreCheap(t *testing.T) {
	limits := Limits{
		Bytes:    DefaultLimits.Bytes / 8,
		Depth:    DefaultLimits.Depth,
		Values:   DefaultLimits.Values / 8,
		Elements: DefaultLimits.Elements,
	}
	size := limits.Bytes - 64
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	keys := &strings.Builder{}
	for i := 0; keys.Len() < size-16; i++ {
		fmt.Fprintf(keys, "k%d: 1\n", i)
	}
	documents := map[string]string{
		"many numbers in a YAML list":  "a: [" + fill("1,") + "]",
		"many empty lists":             "a: [" + fill("[],") + "]",
		"many empty entries":           fill("- \n"),
		"many keys":                    keys.String(),
		"many documents":               fill("---\n"),
		"many comments":                fill("#\n"),
		"deep YAML lists":              fill("["),
		"deep YAML entries":            fill("- "),
		"deep YAML keys":               fill("? "),
		"deep YAML objects":            fill("{a: "),
		"many tags":                    fill("!a "),
		"many anchors":                 fill("&a "),
		"aliases of aliases":           "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]",
		"an alias of a long text":      "a: &a " + strings.Repeat("x", size/2) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]",
		"deep JSON lists":              `{"a":` + fill("["),
		"deep JSON objects":            fill(`{"a":`),
		"many numbers in a JSON list":  `{"a":[` + fill("1,") + "1]}",
		"many keys in a JSON object":   `{` + fill(`"a":1,`) + `"b":1}`,
		"a JSON text that never ends":  `{"a":"` + fill("x"),
		"a YAML text that never ends":  `a: "` + fill("x"),
		"nested descriptors as a text": nestedText(9),
	}
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d, err := Parse([]byte(document), limits)
			if err == nil {
				_, err = collect(ClosureOptions{Inline: d})
			}
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("it is accepted")
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("it took %d MiB to say: %.200v", used>>20, err)
			}
		})
	}
}

// nestedText nests descriptors as texts in the labels of references; the innermost one is broken.
func nestedText(depth int) string {
	if depth == 0 {
		return "{}"
	}
	return fmt.Sprintf(`{"meta":{"schemaVersion":"v2"},"component":{"name":"c%d","version":"1.0.0","componentReferences":[`+
		`{"name":"n","componentName":"c%d","version":"1.0.0","labels":[{"name":%q,"value":%q}]}]}}`, depth, depth-1, InlineLabel, nestedText(depth-1))
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"testing"

	"espalier.dev/internal/component"
)

// parsing is a source that parses its descriptors each time, as repositories do.
type parsing map[component.ID][]byte

func (p parsing) Descriptor(_ context.Context, at component.Coordinates) (*component.Descriptor, error) {
	return component.Parse(p[at.ID()], component.DefaultLimits)
}

// BenchmarkClosure100 collects 101 components in ten layers, with ten references from each to the next layer.
func BenchmarkClosure100(b *testing.B) {
	descriptors := layers(b, 10, 10)
	yaml, json := parsing{}, parsing{}
	for _, d := range descriptors {
		var err error
		if yaml[d.ID()], err = d.YAML(component.SchemaV2); err != nil {
			b.Fatal(err)
		}
		if json[d.ID()], err = d.JSON(component.SchemaV3); err != nil {
			b.Fatal(err)
		}
	}
	for name, source := range map[string]Source{"memory": memory(b, descriptors...), "YAML": yaml, "JSON": json} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set, err := Closure(b.Context(), source, component.ClosureOptions{Root: at("c0")})
				if err != nil || len(set.All()) != len(descriptors) {
					b.Fatal(len(set.All()), err)
				}
			}
		})
	}
}

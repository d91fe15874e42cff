// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/lru"
)

func treeOf(t testing.TB, files Files) lsv1alpha1.AnyJSON {
	t.Helper()
	tree := map[string]string{}
	for name, content := range files {
		tree[name] = string(content)
	}
	result, err := lsv1alpha1.NewAnyJSON(tree)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestBlueprintsAreParsedOnce(t *testing.T) {
	e := NewEngine()
	parse := map[string]func(Files) (*Blueprint, error){
		"files":  e.Parse,
		"inline": func(f Files) (*Blueprint, error) { return e.ParseInline(treeOf(t, f)) },
	}
	for name, parse := range parse {
		t.Run(name, func(t *testing.T) {
			first, err := parse(files("kind: Blueprint"))
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := parse(files("kind: Blueprint")); again != first {
				t.Error("the same content was parsed again")
			}
			for what, other := range map[string]Files{
				"another blueprint": files("kind: Blueprint\n"),
				"one more file":     files("kind: Blueprint", "a", ""),
			} {
				if got, err := parse(other); err != nil || got == first {
					t.Errorf("%s: %v, the same: %v", what, err, got == first)
				}
			}
		})
	}
}

// A cache hit costs no more than its key; parsing would allocate thousands of times.
func TestRememberingIsCheap(t *testing.T) {
	e := NewEngine()
	large := largeFiles(50, 20)
	tree := treeOf(t, large)
	for name, parse := range map[string]func() (*Blueprint, error){
		"files":  func() (*Blueprint, error) { return e.Parse(large) },
		"inline": func() (*Blueprint, error) { return e.ParseInline(tree) },
	} {
		allocations := testing.AllocsPerRun(10, func() {
			if _, err := parse(); err != nil {
				t.Fatal(err)
			}
		})
		if allocations > 20 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

func TestKeyTellsFilesApart(t *testing.T) {
	seen := map[lru.Key]int{}
	for i, f := range []Files{{}, {"a": nil}, {"a": []byte("b")}, {"ab": nil}, {"a": nil, "b": nil}, {"a": []byte("\x00\x00\x00\x00\x00\x00\x00\x01b")}} {
		if other, taken := seen[keyOf(f)]; taken {
			t.Errorf("%d and %d have the same key", i, other)
		}
		seen[keyOf(f)] = i
	}
}

func TestBrokenBlueprintsAreNotRemembered(t *testing.T) {
	e := NewEngine()
	for range 2 {
		for _, broken := range []Files{files("kind: Other"), executorOf("type: GoTemplate, template: '{{'")} {
			if b, err := e.Parse(broken); err == nil || b != nil {
				t.Errorf("got %v, %v", b, err)
			}
		}
	}
	if _, err := e.ParseInline(lsv1alpha1.AnyJSON{Raw: []byte(`[]`)}); err == nil {
		t.Error("a list is a filesystem")
	}
	if e.blueprints.Len() != 0 {
		t.Errorf("%d are remembered", e.blueprints.Len())
	}
}

// The size of a blueprint includes its compiled templates.
func TestLargeBlueprintsAreNotRemembered(t *testing.T) {
	e := NewEngine()
	large := Files{"blueprint.yaml": []byte("kind: Blueprint"), "large": make([]byte, blueprintCacheBytes/compiledFactor)}
	if _, err := e.Parse(large); err != nil || e.blueprints.Len() != 0 {
		t.Errorf("%d are remembered, %v", e.blueprints.Len(), err)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"espalier.dev/internal/component"
)

// missing is a directory that does not exist.
type missing struct{}

func (missing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// counting counts how often each component is read.
type counting struct {
	Source
	mutex sync.Mutex
	reads map[string]int
}

func (c *counting) Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error) {
	c.mutex.Lock()
	c.reads[at.ID().String()]++
	c.mutex.Unlock()
	return c.Source.Descriptor(ctx, at)
}

func TestClosureReadsEachVersionOnce(t *testing.T) {
	source := &counting{Source: memory(t, layers(t, 6, 5)...), reads: map[string]int{}}
	set, err := Closure(t.Context(), source, component.ClosureOptions{Root: at("c0")})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.All()) != 31 || len(source.reads) != 31 {
		t.Errorf("got %d components by reading %d", len(set.All()), len(source.reads))
	}
	for id, reads := range source.reads {
		if reads != 1 {
			t.Errorf("%s was read %d times", id, reads)
		}
	}
}

// layers returns components in layers below a root c0; each refers to all components of the next layer.
func layers(t testing.TB, depth, width int) []*component.Descriptor {
	t.Helper()
	name := func(layer, i int) string { return fmt.Sprintf("c%d-%d", layer, i) }
	row := func(layer int) []string {
		var names []string
		for i := range width {
			names = append(names, name(layer, i))
		}
		return names
	}
	all := []*component.Descriptor{named(t, "c0", row(0)...)}
	for layer := range depth {
		var next []string
		if layer < depth-1 {
			next = row(layer + 1)
		}
		for i := range width {
			all = append(all, named(t, name(layer, i), next...))
		}
	}
	return all
}

// The set is the same, however the reads interleave.
func TestClosureIsDeterministic(t *testing.T) {
	source := memory(t, layers(t, 4, 6)...)
	var want []string
	for range 20 {
		set, err := Closure(t.Context(), source, component.ClosureOptions{Root: at("c0")})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range set.All() {
			got = append(got, d.Name)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestClosureNamesAllThatIsMissing(t *testing.T) {
	root := component.Coordinates{Name: "a", Version: "1.0.0"}
	root.RepositoryContext, _ = component.NewRepositoryContext(map[string]any{"type": "ociRegistry", "baseUrl": "r.example.com"})
	_, err := Closure(
		t.Context(),
		memory(t, named(t, "a", "b", "c"), named(t, "b", "x", "y"), named(t, "c", "z")),
		component.ClosureOptions{Root: root},
	)
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	wantError(t, err,
		"component a:1.0.0 -> b (b:1.0.0) -> x (x:1.0.0): read the descriptor of x:1.0.0 in r.example.com: component not found",
		"component a:1.0.0 -> b (b:1.0.0) -> y (y:1.0.0)", "component a:1.0.0 -> c (c:1.0.0) -> z (z:1.0.0)")
}

// nothing is a source that breaks the contract.
type nothing struct{}

func (nothing) Descriptor(context.Context, component.Coordinates) (*component.Descriptor, error) {
	return nil, nil
}

// wrong is a source that returns the wrong component.
type wrong struct{ *Memory }

func (w wrong) Descriptor(ctx context.Context, _ component.Coordinates) (*component.Descriptor, error) {
	return w.Memory.Descriptor(ctx, at("b"))
}

func TestClosureRefuses(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		ctx    context.Context
		source Source
		root   component.Coordinates
		want   string
	}{
		"a broken source":  {t.Context(), broken{}, at("a"), "component a:1.0.0: read the descriptor of a:1.0.0: connection refused"},
		"no answer":        {t.Context(), nothing{}, at("a"), "component not found"},
		"a wrong answer":   {t.Context(), wrong{memory(t, named(t, "b"))}, at("a"), "the repository returned the descriptor of b:1.0.0"},
		"a circle":         {t.Context(), memory(t, named(t, "a", "b"), named(t, "b", "a")), at("a"), "cycle"},
		"no component":     {t.Context(), memory(t), component.Coordinates{}, "needs a name and a version"},
		"when interrupted": {cancelled, memory(t, named(t, "a")), at("a"), "read component descriptors: context canceled"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Closure(c.ctx, c.source, component.ClosureOptions{Root: c.root})
			wantError(t, err, c.want)
		})
	}
}

// An inline descriptor needs a source only for what it does not contain.
func TestClosureOfInlineDescriptor(t *testing.T) {
	inline, err := component.Parse([]byte(strings.Join([]string{
		"meta: {schemaVersion: v2}", "component:", "  name: a", "  version: 1.0.0", "  componentReferences:",
		"  - name: b", "    componentName: b", "    version: 1.0.0", "    labels:",
		"    - name: " + component.InlineLabel, "      value: {meta: {schemaVersion: v2}, component: {name: b, version: 1.0.0}}",
	}, "\n")), component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	set, err := Closure(t.Context(), broken{}, component.ClosureOptions{Inline: inline})
	if err != nil || len(set.All()) != 2 {
		t.Errorf("got %v, %v", set, err)
	}
}

// At most the permitted number of reads run at the same time, and that many do.
func TestClosureReadsInParallel(t *testing.T) {
	source := &gate{Memory: memory(t, layers(t, 1, 3*parallel)...), full: make(chan struct{})}
	if _, err := Closure(t.Context(), source, component.ClosureOptions{Root: at("c0")}); err != nil {
		t.Fatal(err)
	}
	if source.most != parallel {
		t.Errorf("%d reads at the same time, want %d", source.most, parallel)
	}
}

// gate lets reads pass when the permitted number of them has arrived.
type gate struct {
	*Memory
	mutex         sync.Mutex
	running, most int
	full          chan struct{}
}

func (g *gate) Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error) {
	if at.Name == "c0" {
		return g.Memory.Descriptor(ctx, at)
	}
	g.mutex.Lock()
	g.running++
	g.most = max(g.most, g.running)
	if g.running == parallel && g.most == parallel {
		select {
		case <-g.full:
		default:
			close(g.full)
		}
	}
	g.mutex.Unlock()
	<-g.full
	g.mutex.Lock()
	g.running--
	g.mutex.Unlock()
	return g.Memory.Descriptor(ctx, at)
}

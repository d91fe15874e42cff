// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/template"
)

func TestEntropyFollowsFromTheSeed(t *testing.T) {
	seeded := func(seed string) *template.Entropy { return template.NewEntropy([]byte(seed), time.Time{}) }
	one := seeded("one").Bytes(100)
	inTwo := seeded("one")
	if got := append(inTwo.Bytes(33), inTwo.Bytes(67)...); !bytes.Equal(got, one) {
		t.Error("the bytes depend on how they are read")
	}
	for name, other := range map[string][]byte{
		"another seed":           seeded("two").Bytes(100),
		"a purpose":              seeded("one").For("x").Bytes(100),
		"a purpose of a purpose": seeded("one").For("x").For("x").Bytes(100),
	} {
		if bytes.Equal(other, one) || bytes.Equal(other, seeded("one").For("y").Bytes(100)) {
			t.Errorf("%s gives the same", name)
		}
	}
}

func TestEntropyKnowsWhetherItWasUsed(t *testing.T) {
	for name, use := range map[string]func(*template.Entropy){
		"bytes":    func(e *template.Entropy) { e.Bytes(1) },
		"a number": func(e *template.Entropy) { e.Below(5) },
		"the time": func(e *template.Entropy) { e.Now() },
		"a text":   func(e *template.Entropy) { e.Text([]rune("ab"), 3) },
	} {
		whole := template.NewEntropy(nil, time.Time{})
		part := whole.For("a").For("b")
		if whole.Used() {
			t.Errorf("%s: used before", name)
		}
		use(part)
		if !whole.Used() || !part.Used() || whole.For("c").Used() {
			t.Errorf("%s: not used", name)
		}
	}
}

func TestEntropyIsSpreadEvenly(t *testing.T) {
	e := template.NewEntropy([]byte("x"), time.Time{})
	counts := map[int64]int{}
	for range 30_000 {
		counts[e.Below(3)]++
	}
	for n, count := range counts {
		if n < 0 || n > 2 {
			t.Errorf("%d is not below three", n)
		}
		if count < 9_500 || count > 10_500 {
			t.Errorf("%d came %d times", n, count)
		}
	}
	if text := e.Text([]rune("aß漢"), 200); strings.Trim(text, "aß漢") != "" || strings.Count(text, "漢") < 30 {
		t.Errorf("got %s", text)
	}
}

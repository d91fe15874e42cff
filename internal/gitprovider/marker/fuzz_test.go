// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"espalier.dev/internal/gitprovider/marker"
)

// FuzzRewrite searches for files in which anything but marked scalars changes, or a marked scalar does not read as the revision.
func FuzzRewrite(f *testing.F) {
	for _, content := range []string{
		"a: 1 # M\n", "# M\na: |\n  x\n\n# y\nb: 1\n", "{a: [1, # M\n 'x'], ? b : *c}\n", "a: &x !!str \"1\" # M\nb: *x\n---\n- - # M\n    2\n",
		"\ufeffa: 1 # M\r\nb:\r\n# M\r\n- >-\r\n  c\r\n", "a: \"\\\"#\" # M\n", "? x # M\n: y # M\n", "a:\t1\t# M\n", "ä: [ö, 1] # M\n\u0085b: 1 # M", "a: # M\n\nb: # M",
	} {
		f.Add(content, "1.2.3")
		f.Add(content, "1.10")
	}
	f.Fuzz(func(t *testing.T, content, revision string) {
		content = strings.ReplaceAll(content, "M", ours)
		got, err := prod.Rewrite("f.yaml", []byte(content), revision)
		if err != nil {
			var problem *marker.Problem
			if !errors.As(err, &problem) {
				t.Fatalf("error of another type: %v", err)
			}
			if string(got.Content) != content {
				t.Fatal("the content changed in spite of an error")
			}
			return
		}
		if !got.Changed() {
			if string(got.Content) != content {
				t.Fatal("the content changed without a change")
			}
			return
		}
		checkRewrite(t, content, string(got.Content), revision)
	})
}

// checkRewrite compares independently of the package: the sequence of lines with comments, and all values as another parser reads them.
func checkRewrite(t *testing.T, before, after, revision string) {
	t.Helper()
	was, is := valuesOf(t, before), valuesOf(t, after)
	if len(was) != len(is) {
		t.Fatalf("%q has %d values, %q has %d", before, len(was), after, len(is))
	}
	for i := range was {
		if was[i] != is[i] && is[i] != "!!str "+revision {
			t.Fatalf("%q -> %q: value %d was %q and is %q", before, after, i, was[i], is[i])
		}
	}
	if strings.Count(before, ours) != strings.Count(after, ours) && strings.Count(revision, ours) == 0 &&
		strings.Count(valuesText(was), ours) == 0 {
		t.Fatalf("%q -> %q: a marker is gone", before, after)
	}
}

func valuesText(values []string) string { return strings.Join(values, "\n") }

func valuesOf(t *testing.T, content string) []string {
	t.Helper()
	var values []string
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			values = append(values, n.ShortTag()+" "+n.Value)
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(content))
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		walk(&root)
	}
}

// TestPIP23_BytesOutsideOfTheScalarStay generates random files with known positions.
func TestPIP23_BytesOutsideOfTheScalarStay(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 42))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	for range 3000 {
		eol := pick("\n", "\r\n")
		revision := pick("1.2.3", "1.10", "v2.0.0-rc.1+build", "main@sha1:abc", "yes", "0x1f", "a b", "it's", `q"q`, "ü")
		var before, after bytes.Buffer
		both := func(text string) { before.WriteString(text); after.WriteString(text) }
		both(pick("", "\ufeff", "# head"+eol, "---"+eol))
		changed := 0
		for line := range 1 + random.IntN(6) {
			scalar := pick("1.0.0", "'x y'", `"x # y"`, "'it''s'", "x#y", "a:b", "日本 語", `"\u00e9\"x"`, "~", "2026-01-01", "- x"[2:])
			property := pick("", "", "", "&a"+fmt.Sprint(line)+" ", "!!str ")
			both(fmt.Sprintf("%s%d:%s%s", pick("k", "ключ", "😀"), line, pick(" ", "   ", "\t"), property))
			comment := pick("", " # "+ours, " # "+theirs, "\t#  "+ours+"  ", " # note")
			before.WriteString(scalar)
			if strings.Contains(comment, ours) {
				after.WriteString(expected(scalar, revision))
				changed++
			} else {
				after.WriteString(scalar)
			}
			both(comment + eol + pick("", eol, "# more"+eol))
		}
		got, err := prod.Rewrite("r.yaml", before.Bytes(), revision)
		if err != nil {
			t.Fatalf("%q: %v", before.String(), err)
		}
		if string(got.Content) != after.String() || got.Places != changed {
			t.Fatalf("revision %q, %d places\n%q became\n%q, want\n%q", revision, got.Places, before.String(), got.Content, after.String())
		}
	}
}

// expected returns the spelling of a revision in place of a scalar.
func expected(scalar, revision string) string {
	switch {
	case scalar[0] == '\'':
		return "'" + strings.ReplaceAll(revision, "'", "''") + "'"
	case scalar[0] == '"', strings.ContainsAny(revision, ` '"ü`), revision == "1.10", revision == "yes", revision == "0x1f":
		return `"` + strings.ReplaceAll(revision, `"`, `\"`) + `"`
	}
	return revision
}

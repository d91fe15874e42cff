// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package jsonpath

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var content = map[string]any{
	"status": map[string]any{"phase": "Ready", "empty": nil, "count": int64(3), "off": false},
	"list":   []any{map[string]any{"name": "a", "v": int64(1)}, map[string]any{"name": "b", "v": int64(2)}},
	"labels": map[string]any{"a.b/c": "x"},
}

func TestFind(t *testing.T) {
	for path, want := range map[string]any{
		".status.phase":           "Ready",
		"status.phase":            "Ready",
		"$.status.phase":          "Ready",
		"{.status.phase}":         "Ready",
		".status.count":           int64(3),
		".status.off":             false,
		".status.empty":           nil,
		".status.missing":         nil,
		".missing.deep[0].down":   nil,
		".status.phase.below":     nil,
		".list[1].name":           "b",
		".list[7].name":           nil,
		".list[*].v":              []any{int64(1), int64(2)},
		`.list[?(@.name=="b")].v`: int64(2),
		`.list[?(@.name=="z")].v`: nil,
		`.labels.a\.b/c`:          "x",
		".list[0]":                map[string]any{"name": "a", "v": int64(1)},
	} {
		t.Run(path, func(t *testing.T) {
			parsed, err := Parse(path)
			if err != nil {
				t.Fatal(err)
			}
			got, found := parsed.Find(content)
			if diff := cmp.Diff(want, got); diff != "" || found != (want != nil) {
				t.Errorf("found %v: %s", found, diff)
			}
		})
	}
}

func TestAll(t *testing.T) {
	for path, want := range map[string][]any{
		".status.phase":   {"Ready"},
		".status.*":       {int64(3), false, "Ready"},
		".status.empty":   {},
		".status.missing": {},
		".list[*].v":      {int64(1), int64(2)},
		".list[9].v":      {},
	} {
		t.Run(path, func(t *testing.T) {
			parsed, err := Parse(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, parsed.All(content), cmpopts.EquateEmpty(), inAnyOrder); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var inAnyOrder = cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })

func TestPathsThatAreRefused(t *testing.T) {
	for _, path := range []string{"", "{}", ".a[", ".a} and {.b", "{range .list[*]}{.name}{end}", strings.Repeat(".a", 600)} {
		if _, err := Parse(path); err == nil {
			t.Errorf("%q was accepted", path)
		}
	}
}

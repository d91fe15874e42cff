// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package typescript_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/web/typescript"
)

var update = flag.Bool("update", false, "write the types of the pages anew")

const (
	source    = "../view/types.go"
	generated = "../../../ui/src/generated/view.ts"
	header    = `// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Made from internal/web/view/types.go by "go test ./internal/web/typescript -update". Do not change it by hand.

/** A time as JSON has it, such as 2026-01-31T12:00:00Z. */
export type Time = string;
`
)

func TestPagesKnowTheTypesOfTheServer(t *testing.T) {
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	converted, err := typescript.Convert(source, text)
	if err != nil {
		t.Fatal(err)
	}
	want := header + converted
	if *update {
		if err := os.MkdirAll(filepath.Dir(generated), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(generated, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(generated)
	if err != nil {
		t.Fatalf("the types of the pages are missing, run go test ./internal/web/typescript -update: %v", err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("the types of the pages are out of date, run go test ./internal/web/typescript -update:\n%s", diff)
	}
}

func TestConvert(t *testing.T) {
	const text = `package p

import "time"

// Mood is one.
type Mood string

const (
	Good Mood = "good"
	Bad  Mood = "bad"
)

// Thing has
// two lines and ends no comment: */
type Thing struct {
	// A is first.
	A string     ` + "`json:\"a\"`" + ` // at the end
	B []*Thing   ` + "`json:\"b\"`" + `
	C *time.Time ` + "`json:\"c,omitempty\"`" + `
	D Mood       ` + "`json:\"d,omitempty\"`" + `
	E int        ` + "`json:\"e\"`" + `
	F *bool      ` + "`json:\"f\"`" + `
}

func unrelated() {}
`
	const want = `
/** Mood is one. */
export type Mood =
  | "good"
  | "bad";

/**
 * Thing has
 * two lines and ends no comment: * /
 */
export interface Thing {
  /**
   * A is first.
   * at the end
   */
  a: string;
  b: Thing[];
  c?: Time;
  d?: Mood;
  e: number;
  f: boolean | null;
}
`
	have, err := typescript.Convert("p.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

func TestNothingGetsLost(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no Go":             {"type", "read the types"},
		"no tag":            {"type A struct { B string }", "without a JSON name"},
		"no name":           {"type A struct { B string `json:\"-\"` }", "A.B has no name in JSON"},
		"a map":             {"type A struct { B map[string]string `json:\"b\"` }", "A.B: its type has no counterpart"},
		"of another place":  {"type A struct { B other.Thing `json:\"b\"` }", "A.B: its type has no counterpart"},
		"unknown":           {"type A struct { B []C `json:\"b\"` }", "A.B: its type has no counterpart"},
		"a bare text":       {"type A string", "A is neither"},
		"a number constant": {"type A int\nconst B A = 1", "B is no text"},
	} {
		_, err := typescript.Convert("p.go", []byte("package p\n"+c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, have %v", name, c.want, err)
		}
	}
}

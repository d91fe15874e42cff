// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A word that is added to the code must be explained, whatever way it gets there.
func TestWordsThatNoPageExplainsAreFound(t *testing.T) {
	additions := map[string]struct {
		code, complaint string
		page            func(*program) (string, error)
	}{
		"a reason": {`const ReasonNew = "SomethingNew"`, "SomethingNew", (*program).errorsPage},
		"a reason without a constant": {
			`func f() error { return failure.NewTerminal(failure.Details{Operation: "A", Reason: "SomethingNew"}, nil) }`, "SomethingNew", (*program).errorsPage,
		},
		"a reason that something else may replace": {
			`func f() any { return failure.Details{Reason: cmp.Or(pod.Reason, "SomethingNew")} }`, "SomethingNew", (*program).errorsPage,
		},
		"a class of errors":         {`const Strange Class = "ForgeStrange"`, "ForgeStrange", (*program).errorsPage},
		"an error code":             {`const ErrorNew ErrorCode = "ERR_NEW"`, "ERR_NEW", (*program).errorsPage},
		"a condition":               {`const ConditionNew lsv1alpha1.ConditionType = "SomethingNew"`, "SomethingNew", (*program).conditionsPage},
		"an annotation, by name":    {`const somethingNew = "espalier.dev/something-new"`, "somethingNew", (*program).metadataPage},
		"an annotation, by comment": {"const newAnnotation = GroupName + \"/new\"\nconst GroupName = \"espalier.dev\"", "newAnnotation", (*program).metadataPage},
		"an event":                  {`func f() { k.recorder.Eventf(a, nil, warning, "SomethingNew", "Act", "%s", "note") }`, "SomethingNew", (*program).eventsPage},
		"an event by hand":          {`var e = corev1.Event{Reason: "SomethingNew"}`, "SomethingNew", (*program).eventsPage},
	}
	for name, addition := range additions {
		t.Run(name, func(t *testing.T) {
			p, err := readProgram(treeWith(t, addition.code))
			if err != nil {
				t.Fatal(err)
			}
			_, err = addition.page(p)
			if err == nil || !strings.Contains(err.Error(), addition.complaint) {
				t.Errorf("nobody complains about %s", addition.complaint)
			}
		})
	}
}

// treeWith is a tree whose only code is the given one.
func treeWith(t *testing.T, code string) string {
	t.Helper()
	tree := t.TempDir()
	for _, folder := range scanned {
		if err := os.MkdirAll(filepath.Join(tree, folder, "fresh"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := os.WriteFile(filepath.Join(tree, "internal", "fresh", "fresh.go"), []byte("package fresh\n\n"+code+"\n"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Code outside the product and values that are not constants are ignored.
func TestWhatIsNoWordOfTheProductIsLeftAlone(t *testing.T) {
	tree := treeWith(t, "// Only a test says this.\n")
	for place, code := range map[string]string{
		"internal/fresh/fresh_test.go":  `const ReasonNew = "SomethingNew"`,
		"internal/testkit/testkit.go":   `const ReasonNew = "SomethingNew"`,
		"internal/cli/fresh/fresh.go":   `const ReasonNew = "SomethingNew"`,
		"internal/fresh/testdata/in.go": `const ReasonNew = "SomethingNew"`,
		"internal/fresh/number.go":      "const ReasonNumber = 3\nconst ReasonUnknown = somebody.Value",
	} {
		path := filepath.Join(tree, filepath.FromSlash(place))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("package fresh\n\n"+code+"\n"), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := readProgram(tree)
	if err != nil {
		t.Fatal(err)
	}
	if found := p.reasons(); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"slices"
	"strings"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
)

// withControllers replaces the registry for one test.
func withControllers(t *testing.T, names ...string) {
	t.Helper()
	saved := all
	t.Cleanup(func() { all = saved })
	all = nil
	for _, name := range names {
		all = append(all, Controller{Name: name, Setup: func(ctrl.Manager, Options) error { return nil }})
	}
}

func TestSelect(t *testing.T) {
	withControllers(t, "apple", "banana", "cherry")
	tests := map[string]struct {
		selection []string
		want      []string
	}{
		"all":                       {[]string{"*"}, []string{"apple", "banana", "cherry"}},
		"none":                      {nil, nil},
		"one":                       {[]string{"banana"}, []string{"banana"}},
		"in the registry's order":   {[]string{"cherry", "apple"}, []string{"apple", "cherry"}},
		"twice":                     {[]string{"apple", "apple"}, []string{"apple"}},
		"all but one":               {[]string{"*", "-banana"}, []string{"apple", "cherry"}},
		"all but one, turned round": {[]string{"-banana", "*"}, []string{"apple", "cherry"}},
		"only an exclusion":         {[]string{"-banana"}, []string{"apple", "cherry"}},
		"only exclusions":           {[]string{"-banana", "-apple"}, []string{"cherry"}},
		"one and not the same":      {[]string{"apple", "-apple"}, nil},
		"one and not another":       {[]string{"apple", "-banana"}, []string{"apple"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selected, err := Select(test.selection)
			if err != nil {
				t.Fatal(err)
			}
			if got := namesOf(selected); !slices.Equal(got, test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestSelectRefusesUnknownNames(t *testing.T) {
	withControllers(t, "apple", "banana")
	for _, entry := range []string{"cherry", "-cherry", "", "-", "-*", "Apple", "apple "} {
		_, err := Select([]string{"*", entry})
		if err == nil {
			t.Errorf("%q is accepted", entry)
			continue
		}
		if !strings.Contains(err.Error(), `"`+entry+`"`) || !strings.Contains(err.Error(), "apple, banana") {
			t.Errorf("the message does not name %q and the known controllers: %v", entry, err)
		}
	}
}

func TestEveryControllerIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Controllers() {
		if c.Name == "" || c.Description == "" || c.Setup == nil {
			t.Errorf("controller %+v is incomplete", c)
		}
		if seen[c.Name] {
			t.Errorf("controller %s is there twice", c.Name)
		}
		seen[c.Name] = true
	}
	if len(seen) == 0 {
		t.Error("there are no controllers")
	}
}

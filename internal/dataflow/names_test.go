// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"crypto/sha1"
	"encoding/base32"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"espalier.dev/internal/dataflow"
)

// The pairs were computed independently of this package, with the common tools sha1 and base32.
func TestNamesAreThoseThatUsersHave(t *testing.T) {
	for name, c := range map[string]struct{ context, reference, want string }{
		"a plain name at the root":             {"", "my-data", "my-data"},
		"dots at the root":                     {"", "ext.a", "ext.a"},
		"one letter":                           {"", "x", "x"},
		"two dots, which are accepted":         {"", "a..b", "a..b"},
		"upper case at the root is hashed":     {"", "My Data", "kq6dvcfurc7rozw7ysc6xn6u5i4fdti5"},
		"a global name at the root":            {"", "#ext.a", "ext.a"},
		"a global name in a scope":             {"Inst.root", "#ext.a", "ext.a"},
		"a plain name in a scope":              {"Inst.root", "root.a", "sc3k7adib6t22srkym6bal5pwfa5l77g"},
		"another name in that scope":           {"Inst.root", "ext.a", "ox4ygxholy7q3skaim54hy2dmmk6yuy2"},
		"a name that would be plain elsewhere": {"Inst.root", "a.z", "2xdcahpww4kon4njybghwvrrv2qxn567"},
		"a target of a list":                   {"Inst.root", "targets[0]", "42gcclyvwgziqvjps3zvgpalreeb4fj3"},
		"an older form of context":             {"Installation.test1.root", "root.a", "p7m5xyfb3vbzvgb6s6hdkrncdsvh5eqx"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := dataflow.ObjectName(c.context, c.reference); got != c.want {
				t.Errorf("ObjectName(%q, %q) = %q, want %q", c.context, c.reference, got, c.want)
			}
		})
	}
}

// hashed implements the rule for names a second time.
func hashed(text string) string {
	sum := sha1.Sum([]byte(text))
	return strings.ToLower(strings.TrimRight(base32.StdEncoding.EncodeToString(sum[:]), "="))
}

func TestNamesOfElementsAndStates(t *testing.T) {
	for what, c := range map[string]struct{ got, want string }{
		"a target of a list":   {dataflow.ObjectName("Inst.a", dataflow.IndexedReference("clusters", 3)), hashed("Inst.a/clusters[3]")},
		"a target of a map":    {dataflow.ObjectName("Inst.a", dataflow.KeyedReference("clusters", "eu.west")), hashed("Inst.a/clusters[eu.west]")},
		"an element at root":   {dataflow.ObjectName("", "clusters[0]"), hashed("/clusters[0]")},
		"an execution's":       {dataflow.ExecutionExportName("app"), hashed("Exec.app/")},
		"state of deploy":      {dataflow.StateSecret("app", dataflow.StateDeploy, "main"), hashed("app/deploymain")},
		"state of exports":     {dataflow.StateSecret("app", dataflow.StateExport, "main"), hashed("app/exportmain")},
		"state of nested ones": {dataflow.StateSecret("app", dataflow.StateSubinstallation, "main"), hashed("app/subinstmain")},
		"an unnamed executor":  {dataflow.StateSecret("app", dataflow.StateDeploy, ""), hashed("app/deploy")},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", what, c.got, c.want)
		}
	}
}

func TestStatesOfEqualNamesAreKeptApart(t *testing.T) {
	deploy := dataflow.StateSecret("app", dataflow.StateDeploy, "main")
	nested := dataflow.StateSecret("app", dataflow.StateSubinstallation, "main")
	if deploy == nested {
		t.Fatal("a deploy and a subinstallation executor of the same name share their state")
	}
	if older, ok := dataflow.OlderStateSecret("app", dataflow.StateSubinstallation, "main", nil); !ok || older != deploy {
		t.Errorf("the old state of a subinstallation executor is looked for in %q, %t; older controllers kept it in %q", older, ok, deploy)
	}
	if older, ok := dataflow.OlderStateSecret("app", dataflow.StateSubinstallation, "main", []string{"other", "main"}); ok {
		t.Errorf("the state of the deploy executor of the same name would be taken for that of the subinstallation executor: %q", older)
	}
	for _, kind := range []dataflow.StateKind{dataflow.StateDeploy, dataflow.StateExport} {
		if older, ok := dataflow.OlderStateSecret("app", kind, "main", nil); ok {
			t.Errorf("%s executors kept their names, yet %q is looked for", kind, older)
		}
	}
}

func TestSplitElement(t *testing.T) {
	for reference, want := range map[string][2]string{
		"a[0]": {"a", "0"}, "a.b[eu-west.1]": {"a.b", "eu-west.1"}, "a b[x]": {"a b", "x"},
		"a": {}, "a[]": {}, "[0]": {}, "a[0": {}, "a0]": {}, "a[0]b": {}, "a[0][1]": {}, "a[[0]]": {}, "#a[0]": {}, "": {}, "a]b[0]": {},
	} {
		name, key, ok := dataflow.SplitElement(reference)
		if name != want[0] || key != want[1] || ok != (want[0] != "") {
			t.Errorf("SplitElement(%q) = %q, %q, %t", reference, name, key, ok)
		}
	}
}

func TestInstallationOf(t *testing.T) {
	for label, want := range map[string]string{"Inst.a.b": "a.b", "Exec.a": "", "": "", "inst.a": ""} {
		if name, ok := dataflow.InstallationOf(label); ok != (want != "") || ok && name != want {
			t.Errorf("InstallationOf(%q) = %q, %t", label, name, ok)
		}
	}
}

func FuzzObjectName(f *testing.F) {
	for _, seed := range [][2]string{{"", "a"}, {"Inst.root", "a[0]"}, {"", "#x"}, {"Inst.a", "#"}, {"", "A b"}, {"Inst.x", "a/b[c]"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, context, reference string) {
		name := dataflow.ObjectName(context, reference)
		if name != dataflow.ObjectName(context, reference) {
			t.Fatal("the name changes")
		}
		plain := context == "" && name == reference
		switch {
		case dataflow.IsGlobal(reference):
			if "#"+name != reference {
				t.Fatalf("%q became %q", reference, name)
			}
		case plain:
		case name != hashed(context+"/"+reference):
			t.Fatalf("%q in %q became %q", reference, context, name)
		case len(validation.IsDNS1123Subdomain(name)) > 0:
			t.Fatalf("%q is no name of an object", name)
		}
		list, key, ok := dataflow.SplitElement(reference)
		if ok && (dataflow.KeyedReference(list, key) != reference || list == "" || key == "") {
			t.Fatalf("%q is not element %q of %q", reference, key, list)
		}
		if _, _, again := dataflow.SplitElement(list); ok && again {
			t.Fatalf("the list of %q is an element itself", reference)
		}
	})
}

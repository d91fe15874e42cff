// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// waits gives an object a condition.
func waits(reason, message string) edit {
	return set([]any{map[string]any{"type": "Reconciling", "reason": reason, "message": message}}, "status", "conditions")
}

func errs(reason, message string) edit {
	return set(map[string]any{"reason": reason, "message": message}, "status", "lastError")
}

func TestDeletionsEnd(t *testing.T) {
	const wayOut = "delete it with annotation landscaper.gardener.cloud/delete-without-uninstall"
	stuck := func(edits ...edit) *story {
		return tell().write("Installation root", dying()).write("Execution root", ownedBy("root"), dying()).
			write("DeployItem a", append([]edit{item("root", "a"), phase("Deleting"), dying()}, edits...)...)
	}
	unattended := func(message string) *story {
		return stuck(phase("Succeeded"), set(string(lsv1alpha1.FlowContinuous), "spec", "flow"), waits(lsv1alpha1.ReasonWaitingForDeployer, message))
	}
	check(t, "I23", map[string]example{
		"all is gone": {
			stuck(errs("Conflict", "once more")).delete("DeployItem a").delete("Execution root").delete("Installation root"), "",
		},
		"the missing target is told": {stuck(waits("NoTargetFound", wayOut)), ""},
		"the error names the way":    {stuck(errs("TargetUnreachable", "refused; "+wayOut)), ""},
		"to be created": {
			tell().write("DeployItem a", item("root", "a"), phase("Progressing"), waits("NoTargetFound", "create it")), "",
		},
		"given up meanwhile": {
			stuck(waits("NoTargetFound", "no target"), annotate(lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")).
				delete("DeployItem a").delete("Execution root").delete("Installation root"), "",
		},
		"the missing target is all": {
			stuck(waits("NoTargetFound", "no target")).delete("DeployItem a").delete("Execution root").delete("Installation root"),
			"DeployItem garden/a, revision 3: its target or its deployer is missing",
		},
		"the error is all": {
			stuck(errs("TargetUnreachable", "refused")).delete("DeployItem a").delete("Execution root").delete("Installation root"),
			"DeployItem garden/a, revision 3: its target or its deployer is missing",
		},
		"the missing deployer is told": {unattended(wayOut), ""},
		"the missing deployer is all": {
			unattended("no deployer").delete("DeployItem a").delete("Execution root").delete("Installation root"),
			"DeployItem garden/a, revision 3: its target or its deployer is missing",
		},
		"a job has a limit": {
			stuck(phase("Succeeded"), waits(lsv1alpha1.ReasonWaitingForDeployer, "no deployer")).
				delete("DeployItem a").delete("Execution root").delete("Installation root"), "",
		},
		"with the namespace": {
			tell().write("Namespace garden", dying()).write("DeployItem a", phase("Deleting"), dying(), waits("NoTargetFound", "no target")).
				delete("DeployItem a"), "",
		},
		"for ever": {tell().write("Installation root", dying()), "it is still being deleted"},
		"beside one that waits": {
			stuck(waits("NoTargetFound", wayOut)).write("Installation other", dying()), "Installation garden/other, revision 4",
		},
	})
}

func TestNothingIsLeft(t *testing.T) {
	belongs := func(kind, name, uid string) edit {
		return func(u *unstructured.Unstructured) {
			u.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: kind, Name: name, UID: types.UID(uid),
			}})
		}
	}
	whole := func() *story {
		return tell().write("Installation root").write("DataObject x", belongs("Installation", "root", "uid-1"))
	}
	check(t, "I24", map[string]example{
		"in use":   {whole(), ""},
		"all gone": {whole().delete("DataObject x").delete("Installation root"), ""},
		"left":     {whole().delete("Installation root"), "DataObject garden/x, revision 0: it exists, and Installation root"},
		"of an earlier one": {
			whole().delete("Installation root").write("Installation root"), "it exists, and Installation root, to which it belongs, does not",
		},
	})
}

func TestNothingIsDoubled(t *testing.T) {
	going := func() *story {
		return tell().write("Installation root").write("Installation sub", below("root"), called("one")).
			write("Installation root", dying()).write("Installation sub", dying()).delete("Installation sub")
	}
	check(t, "I25", map[string]example{
		"two of a tree": {
			tell().write("Installation root").write("Installation a", below("root"), called("one")).
				write("Installation b", below("root"), called("two")), "",
		},
		"one name in two kinds": {
			tell().write("Installation root").write("Installation a", below("root"), called("x")).write("Execution x", ownedBy("root")), "",
		},
		"made again by its user": {going().delete("Installation root").write("Installation root").write("Installation sub", below("root")), ""},
		"made again while its root stays": {
			tell().write("Installation root").write("Installation sub", below("root")).delete("Installation sub").
				write("Installation sub", below("root")), "",
		},
		"two of a name": {
			tell().write("Installation root").write("Installation a", below("root"), called("one")).
				write("Installation b", below("root"), called("one")),
			"Installation garden/b, revision 3: it is created, and Installation garden/a has the same name",
		},
		"back again": {
			going().write("Installation sub", below("root")), "it was deleted with Installation garden/root, and is created again",
		},
	})
}

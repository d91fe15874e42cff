// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/targetsync"
)

// synced makes an object one of the TargetSync sync.
func synced(u *unstructured.Unstructured) {
	label(lsv1alpha1.TargetSyncLabel, lsv1alpha1.TargetSyncOK)(u)
	annotate(targetsync.ByAnnotation, "sync")(u)
}

func TestSyncedOnce(t *testing.T) {
	begun := func() *story {
		return tell().write("TargetSync sync").write("Secret east", synced).write("Target east", synced)
	}
	gone := func() *story { return begun().delete("Secret east").delete("Target east") }
	check(t, "I20", map[string]example{
		"made and changed":            {begun().write("Secret east", set("x", "data", "kubeconfig")), ""},
		"made and gone":               {gone(), ""},
		"made by the next TargetSync": {gone().delete("TargetSync sync").write("TargetSync sync").write("Target east", synced), ""},
		"of somebody":                 {tell().write("Target mine").delete("Target mine").write("Target mine"), ""},
		"made again":                  {gone().write("Target east", synced), "Target garden/east, revision 6: it was made again"},
		"made for no TargetSync":      {tell().write("Target east", synced), "made by a TargetSync that does not exist"},
	})
}

func TestTokensAreReplacedOnRequest(t *testing.T) {
	rotated := func(at string) edit { return annotate(targetsync.RotatedAnnotation, "2026-01-01T00:00:"+at+"Z") }
	seen := func(at string) edit { return annotate(targetsync.RotatingAnnotation, "2026-01-01T00:00:"+at+"Z") }
	begun := func() *story {
		return tell().write("TargetSync sync").write("Secret access").write("Secret access", rotated("10"))
	}
	check(t, "I21", map[string]example{
		"the first":  {begun().write("Secret access", set("x", "data", "kubeconfig")), ""},
		"on request": {begun().write("TargetSync sync", seen("20")).write("Secret access", rotated("20.5")), ""},
		"not requested": {
			begun().write("Secret access", rotated("30")), "Secret garden/access, revision 4: its token was replaced at 2026-01-01T00:00:30Z without a request",
		},
		"asked once": {
			begun().write("TargetSync sync", seen("20")).write("Secret access", rotated("21")).write("Secret access", rotated("22")), "its token was replaced at 2026-01-01T00:00:22Z",
		},
		"asked before": {
			tell().write("TargetSync sync", seen("05")).write("Secret access", rotated("10")).write("Secret access", rotated("20")), "without a request",
		},
		"replaced too early": {begun().write("TargetSync sync", seen("20")).write("Secret access", rotated("15")), "without a request"},
		"taken off by anybody": {
			begun().write("TargetSync sync", seen("20"), annotate(targetsync.RotatingAnnotation, "")).write("Secret access", rotated("21")), "without a request",
		},
	})
}

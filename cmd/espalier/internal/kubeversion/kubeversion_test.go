// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// These tests are in a separate package: inside, they would make the package depend on Kubernetes, and it would be initialised after it.
package kubeversion_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/util/compatibility"
	clientgo "k8s.io/client-go/pkg/version"
	"k8s.io/component-base/version"

	"espalier.dev/cmd/espalier/internal/kubeversion"
)

func TestVersionIsThatOfTheModule(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "\tk8s.io/kubernetes "+kubeversion.Version+"\n") {
		t.Errorf("go.mod does not require k8s.io/kubernetes %s", kubeversion.Version)
	}
}

// Kubernetes copies the variables when it is initialised; the copies count, too.
func TestKubernetesKnowsItsVersion(t *testing.T) {
	for name, got := range map[string]string{
		"server":     version.Get().GitVersion,
		"client":     clientgo.Get().GitVersion,
		"compatible": "v" + compatibility.DefaultBuildEffectiveVersion().BinaryVersion().String(),
	} {
		if got != kubeversion.Version {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, got := range map[string]string{
		"server": "v" + version.Get().Major + "." + version.Get().Minor + "." + version.Get().GitCommit,
		"client": "v" + clientgo.Get().Major + "." + clientgo.Get().Minor + "." + clientgo.Get().GitCommit,
	} {
		// The commit is unknown, hence empty.
		if !strings.HasPrefix(kubeversion.Version, got) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

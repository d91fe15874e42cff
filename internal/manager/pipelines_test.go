// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/config/crd"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestAClusterWithoutPipelinesIsServedAllTheSame(t *testing.T) {
	bare := testkit.NewServer(t)
	kinds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		if kind.Spec.Group == landscaper.GroupName {
			bare.InstallCRD(t, kind)
		}
	}
	options := manager.DefaultOptions()
	options.MetricsAddress, options.ProbeAddress = manager.Disabled, manager.Disabled
	options.LeaderElection.Enabled = false
	if _, err := manager.New(bare.Config(), options, logr.Discard()); err != nil {
		t.Errorf("with all controllers: %v", err)
	}
	options.Controllers = []string{"pipelines"}
	if _, err := manager.New(bare.Config(), options, logr.Discard()); err == nil || !strings.Contains(err.Error(), "does not serve Pipeline") {
		t.Errorf("with pipelines alone: %v", err)
	}
}

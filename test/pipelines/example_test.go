// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"testing"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/examples"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

// The example does what its documentation says. Installations are real; the test plays the user.
func TestPIP01_PIP24_PIP25_TheExampleWorks(t *testing.T) {
	t.Parallel()
	server := testkit.Server(t)
	objects, err := examples.Read("promotion")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		testkit.Create(t, server, object)
	}
	shop := &testkit.World{T: t, APIServer: server, Namespace: "shop"}
	w := &world{World: managed.In(shop, managed.SystemNamespace, func(o *manager.Options) {
		o.Namespaces = append(o.Namespaces, "shop-dev", "shop-staging", "shop-production")
	})}
	w.Manage()
	w.untilComplete("shop", "1.0.0")
	dev := &landscaper.Installation{}
	dev.Namespace, dev.Name = "shop-dev", "shop"
	w.Patch(dev, `{"spec":{"importDataMappings":{"version":"1.1.0"}}}`)
	w.untilState("shop", "production", "1.1.0", pipelines.PromotionUnapproved)
	if version := (place{server, "shop-staging"}).running(t, "shop"); version != "1.1.0" {
		t.Errorf("staging runs %s", version)
	}
	w.ask("shop", map[string]string{"id": "go", "action": "approve", "environment": "production", "revision": "1.1.0", "by": "ann"})
	w.untilComplete("shop", "1.1.0")
	if version := (place{server, "shop-production"}).running(t, "shop"); version != "1.1.0" {
		t.Errorf("production runs %s", version)
	}
}

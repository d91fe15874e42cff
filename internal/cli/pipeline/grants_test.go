// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	espalier "espalier.dev/api/espalier/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	cmd "espalier.dev/internal/cli/pipeline"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// What the command prints can be applied, and permits what was refused and nothing more.
func TestPIP08_WhyPrintsTheGrantThatIsMissing(t *testing.T) {
	server := testkit.Server(t)
	namespace, other := server.Namespace(t), server.Namespace(t)
	shop := testkit.Pipeline(namespace, "shop").Environment("dev", other).Notification().Build()
	reference, _ := pipeline.ReferenceOf(namespace, shop.Spec.AppRef, shop.Spec.Environments[0].Targets[0])
	refused, since := reference.Refused(), clitest.Before(1)
	shop.Status = pipelines.PipelineStatus{
		ObservedGeneration: 1,
		Environments: map[string]pipelines.EnvironmentStatus{"dev": {Targets: []pipelines.TargetStatus{{
			ClusterAppRef: pipelines.ClusterAppReference{AppReference: shop.Spec.AppRef}, Namespace: other,
			Error: refused.Message, Reason: refused.Reason, UnreadableSince: &since,
		}}}},
	}
	clitest.Store(t, server, shop)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: cmd.New, Args: []string{"why", "shop"}})
	if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, "(RefNotPermitted)") ||
		!strings.Contains(got.Stdout, "\nSee docs/reference/errors.md#refnotpermitted\n") {
		t.Fatalf("%+v", got)
	}
	_, manifest, found := strings.Cut(strings.ReplaceAll(got.Stdout, "<namespace>", namespace), "---\n") // clitest writes it so
	grant := espalier.ReferenceGrant{}
	if err := yaml.UnmarshalStrict([]byte(manifest), &grant); !found || err != nil {
		t.Fatalf("no manifest: %v\n%s", err, got.Stdout)
	}
	if err := server.Client().Create(t.Context(), &grant); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	elsewhere := reference
	elsewhere.To.Name = "another"
	if grants := []espalier.ReferenceGrant{grant}; !reference.PermittedBy(grants) || elsewhere.PermittedBy(grants) {
		t.Errorf("it permits the wrong thing:\n%s", manifest)
	}
}

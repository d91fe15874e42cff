// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	espalier "espalier.dev/api/espalier/v1alpha1"
	gitops "espalier.dev/api/gitops/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/config/crd"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

// Nothing is served at first, and then one group of kinds after the other, while one manager runs.
func TestControllersBeginOnceTheirKindsAreServed(t *testing.T) {
	server := testkit.NewServer(t)
	options := managed.Options()
	options.ProbeAddress = testkit.FreeAddress(t)
	mgr := managed.Manager(t, server.Config(), options) // It requires no kind.
	testkit.Run(t, mgr.Start)
	awaitReadiness(
		t,
		options.ProbeAddress,
		"",
		http.StatusInternalServerError,
		"[-]installations failed",
		"[-]pipelines failed",
		"[+]caches ok",
	)
	awaitReadiness(
		t,
		options.ProbeAddress,
		"/pipelines",
		http.StatusInternalServerError,
		"pipelines waits until the cluster serves Pipeline of pipelines.weave.works/v1alpha1",
	)
	if waiting := mgr.Waiting(); len(waiting) != len(manager.Controllers()) {
		t.Errorf("of %d controllers wait %v", len(manager.Controllers()), waiting)
	}

	others, syncs := targetSyncsApart(kindsOf(t, landscaper.GroupName))
	server.InstallCRD(t, others...)
	namespace := server.Namespace(t)
	testkit.Eventually(t, server, &landscaper.Context{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace,
		Name:      landscaper.DefaultContextName,
	}},
		testkit.Is("there", func(*landscaper.Context) bool { return true }))
	awaitReadiness(
		t,
		options.ProbeAddress,
		"",
		http.StatusInternalServerError,
		"[+]installations ok",
		"[-]targetsyncs failed",
		"[-]pipelines failed",
	)
	awaitReadiness(
		t,
		options.ProbeAddress,
		"/targetsyncs",
		http.StatusInternalServerError,
		"targetsyncs waits until the cluster serves TargetSync of landscaper.gardener.cloud/v1alpha1",
	)
	server.InstallCRD(t, syncs...)
	sync := &landscaper.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sync"}, Spec: landscaper.TargetSyncSpec{
		SourceNamespace: "anywhere", SecretRef: landscaper.LocalSecretReference{Name: "missing", Key: "kubeconfig"}, SecretNameExpression: "*",
	}}
	testkit.Create(t, server, sync)
	testkit.Eventually(t, server, sync, testkit.Is("processed", func(s *landscaper.TargetSync) bool { return len(s.Finalizers) > 0 }))
	awaitReadiness(t, options.ProbeAddress, "", http.StatusInternalServerError, "[+]targetsyncs ok", "[-]pipelines failed")

	server.InstallCRD(t, kindsOf(t, pipelines.GroupName)...)
	foreign := server.Namespace(t)
	line := testkit.Pipeline(namespace, "shop").Environment("dev", namespace).Environment("foreign", foreign).
		EnvironmentOn("east", "prod", namespace).Build()
	testkit.Create(t, server, line)
	testkit.Eventually(t, server, line, testkit.Is("told that HelmReleases are not served", func(p *pipelines.Pipeline) bool {
		return p.Status.ObservedGeneration == p.Generation && saysOf(p, "dev", "does not serve the kind HelmRelease") &&
			saysOf(p, "prod", "does not serve kind GitopsCluster") && saysOf(p, "foreign", "does not serve ReferenceGrant")
	}))
	awaitReadiness(t, options.ProbeAddress, "", http.StatusOK, "ok")
	if waiting := mgr.Waiting(); len(waiting) > 0 {
		t.Errorf("at the end wait %v", waiting)
	}

	server.InstallCRD(t, slices.Concat(testkit.FluxKinds(t), kindsOf(t, gitops.GroupName))...)
	testkit.Eventually(t, server, line, testkit.Is("told what else is missing", func(p *pipelines.Pipeline) bool {
		return saysOf(p, "dev", "not found: create it") && saysOf(p, "prod", "not found: create it")
	}))

	server.InstallCRD(t, kindsOf(t, espalier.GroupName)...)
	testkit.Eventually(t, server, line, testkit.Is("told that a grant is missing", func(p *pipelines.Pipeline) bool {
		return saysOf(p, "foreign", "must permit it with a ReferenceGrant")
	}))
	testkit.Create(t, server, testkit.Grant(foreign, namespace))
	testkit.Eventually(t, server, line, testkit.Is("granted", func(p *pipelines.Pipeline) bool {
		return saysOf(p, "foreign", "not found: create it")
	}))
}

// targetSyncsApart returns the definitions of the other kinds, and that of TargetSync.
func targetSyncsApart(all []*apiextensionsv1.CustomResourceDefinition) (others, syncs []*apiextensionsv1.CustomResourceDefinition) {
	for _, kind := range all {
		if kind.Spec.Names.Kind == "TargetSync" {
			syncs = append(syncs, kind)
		} else {
			others = append(others, kind)
		}
	}
	return others, syncs
}

func saysOf(p *pipelines.Pipeline, environment, text string) bool {
	return slices.ContainsFunc(
		p.Status.Environments[environment].Targets,
		func(target pipelines.TargetStatus) bool { return strings.Contains(target.Error, text) },
	)
}

func kindsOf(t *testing.T, group string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(kind *apiextensionsv1.CustomResourceDefinition) bool { return kind.Spec.Group != group })
}

// awaitReadiness polls, as a kubelet does.
func awaitReadiness(t *testing.T, address, check string, status int, texts ...string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		response, err := http.Get("http://" + address + "/readyz" + check)
		if err != nil {
			last = err.Error()
			return false, nil
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		last = string(body)
		lacks := slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(last, text) })
		return err == nil && response.StatusCode == status && !lacks, nil
	})
	if err != nil {
		t.Fatalf("the readiness never says %d and %q: %v; it says:\n%s", status, texts, err, last)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	gitops "espalier.dev/api/gitops/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestPIP10_PromotionIsPendingUntilTheFirstEnvironmentAgrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.places(3)
	w.deploy(w.Client(), at[0], "", false)
	w.deploy(w.Client(), at[1], "", false)
	w.deploy(w.Client(), at[2], "1.0.0", true)
	w.Create(testkit.Pipeline(w.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", at[0]).Environment("dev", at[1]).Environment("prod", at[2]).Notification().Build())
	pending := func(p *pipelines.Pipeline) bool {
		return meta.IsStatusConditionTrue(p.Status.Conditions, pipelines.ConditionPromotionPending)
	}
	p := w.until("p", "pending", pending)
	if condition := meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionPromotionPending); condition.Reason != pipelines.ReasonEnvironmentNotReady {
		t.Errorf("reason %s", condition.Reason)
	}
	w.deploy(w.Client(), at[0], "1.1.0", true)
	w.deploy(w.Client(), at[1], "1.2.0", true)
	w.until("p", "both revisions listed", func(p *pipelines.Pipeline) bool {
		targets := p.Status.Environments["dev"].Targets
		return len(targets) == 2 && targets[0].Revision == "1.1.0" && targets[1].Revision == "1.2.0" && targets[1].Ready && pending(p)
	})
	w.deploy(w.Client(), at[0], "1.2.0", false)
	w.until("p", "one revision, not healthy", func(p *pipelines.Pipeline) bool {
		targets := p.Status.Environments["dev"].Targets
		return targets[0].Revision == "1.2.0" && !targets[0].Ready && pending(p) && targets[0].Error == "" && targets[0].Message != ""
	})
	if got := w.promoteEvents("p"); len(got) > 0 {
		t.Fatalf("promoted: %v", got)
	}
	w.deploy(w.Client(), at[0], "1.2.0", true)
	p = w.untilState("p", "prod", "1.2.0", pipelines.PromotionSucceeded)
	if meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionPromotionPending) != nil {
		t.Error("the condition is still there")
	}
}

func TestPIP11_WhereATargetRunsTheRevisionNothingIsPromoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.places(3)
	w.deploy(w.Client(), at[0], "1.1.0", true)
	w.deploy(w.Client(), at[1], "1.1.0", false)
	w.deploy(w.Client(), at[2], "1.0.0", true)
	w.Create(testkit.Pipeline(w.Namespace, "p").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).Environment("prod", at[2]).Notification().Build())
	w.until("p", "rolling out", func(p *pipelines.Pipeline) bool { return held(p, "prod", pipelines.HoldRollingOut) })
	w.deploy(w.Client(), at[1], "1.1.0", true)
	w.deploy(w.Client(), at[2], "1.1.0", true)
	w.until("p", "complete", func(p *pipelines.Pipeline) bool { return p.Status.Run != nil && p.Status.Run.CompletionTime != nil })
	if got := w.promoteEvents("p"); len(got) > 0 {
		t.Errorf("promoted: %v", got)
	}
}

func TestPIP06_AMissingTargetStopsItsPipelineOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, _ := w.twoEnvironments()
	w.Create(builder.Build())
	empty := w.places(1)[0]
	broken := builder.Build()
	broken.Name, broken.ResourceVersion = "broken", ""
	broken.Spec.Environments[1].Targets[0].Namespace = empty
	w.Create(broken)
	p := w.until("broken", "not readable", func(p *pipelines.Pipeline) bool {
		return held(p, "prod", pipelines.HoldTargetNotReadable) && meta.IsStatusConditionFalse(p.Status.Conditions, pipelines.ConditionReady)
	})
	if text := p.Status.Environments["prod"].Targets[0].Error; !strings.Contains(text, "not found") &&
		!strings.Contains(text, "does not exist") {
		t.Errorf("the error is %q", text)
	}
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	if got := w.promoteEvents("broken"); len(got) > 0 {
		t.Fatalf("promoted into the unknown: %v", got)
	}
	w.deploy(w.Client(), empty, "1.0.0", true)
	w.untilState("broken", "prod", "1.1.0", pipelines.PromotionSucceeded)
}

func TestPIP05_PIP06_LeafClustersComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leaf := testkit.NewServer(t)
	leaf.InstallCRD(t, testkit.FluxKinds(t)...)
	builder, at := w.twoEnvironments()
	away := leaf.Namespace(t)
	p := builder.Build()
	p.Spec.Environments[1].Targets = []pipelines.Target{{
		Namespace:  away,
		ClusterRef: &pipelines.ClusterReference{Kind: pipelines.ClusterKindGitopsCluster, Name: "north"},
	}}
	w.Create(p)
	w.until("p", "without its cluster", func(p *pipelines.Pipeline) bool {
		ready := meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == pipelines.ReasonTargetClusterNotFound
	})
	if event := w.untilEvent("p", "GetClusterError"); event.Type != corev1.EventTypeWarning || !strings.Contains(event.Message, "north") {
		t.Errorf("the Event is %s: %s", event.Type, event.Message)
	}
	cluster := &gitops.GitopsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "north"},
		Spec:       gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: "north"}},
	}
	w.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "north"},
		Data:       map[string][]byte{"kubeconfig": kubeconfigOf(t, leaf)},
	}, cluster)
	w.until("p", "with a cluster that is not ready", func(p *pipelines.Pipeline) bool {
		ready := meta.FindStatusCondition(p.Status.Conditions, pipelines.ConditionReady)
		return ready != nil && ready.Reason == pipelines.ReasonTargetClusterNotReady
	})
	w.deploy(leaf.Client(), away, "1.0.0", true)
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Test"})
	if err := w.Client().Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	w.deploy(leaf.Client(), away, "1.1.0", true)
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionComplete)
	if err := w.Client().Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.deploy(w.Client(), at[0], "1.2.0", true)
	gone := w.until("p", "with the last revision of a cluster that is gone", func(p *pipelines.Pipeline) bool {
		return held(p, "prod", pipelines.HoldTargetNotReadable) && p.Status.LatestRevision == "1.2.0"
	})
	target := gone.Status.Environments["prod"].Targets[0]
	facts := map[string]any{"revision": target.Revision, "unreadable": target.UnreadableSince != nil, "ready": target.Ready}
	if diff := cmp.Diff(map[string]any{"revision": "1.1.0", "unreadable": true, "ready": false}, facts); diff != "" {
		t.Errorf("the target (-want +got):\n%s", diff)
	}
}

// kubeconfigOf is what a user would store in the Secret of a cluster.
func kubeconfigOf(t *testing.T, server *testkit.APIServer) []byte {
	t.Helper()
	config := server.Config()
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {
			Server:                   config.Host,
			CertificateAuthorityData: config.CAData,
			TLSServerName:            config.ServerName,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {
			ClientCertificateData: config.CertData,
			ClientKeyData:         config.KeyData,
			Token:                 config.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

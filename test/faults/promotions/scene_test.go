// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/test/faults/promotions/invariant"
)

const (
	pipelineName = "p"
	// restLength is how long nothing must be written for a world to count as at rest. It is longer than the polling interval of the Git
	// server.
	restLength = 1500 * time.Millisecond
)

// scene is a namespace with a pipeline, and one for each environment; its user plays Flux and merges pull requests, over a connection
// without faults.
type scene struct {
	*testkit.APIServer
	t         *testing.T
	namespace string
	at        map[string]string // the namespace of each environment
	recorder  *testkit.Recorder
	processes managed.Processes
	// succession is nil if no process ends, or another one is ready to take over.
	succession *succession

	ledger   *ledger
	provider *front
	hub      hub
	sink     *front
	events   string // the address of the sink
	approval string // the address of the server for approvals

	mutex    sync.Mutex
	minor    int // the revision of the first environment, if the story counts revisions
	approved map[invariant.Approval]bool
	pauses   []pause
}

// pause is a point of a story at which everything is finished.
type pause struct {
	name     string
	evidence invariant.Evidence
	ending   invariant.Ending
}

func newScene(t *testing.T, w workload, d disturbance) *scene {
	t.Helper()
	server := testkit.Server(t)
	server.InstallCRD(t, testkit.FluxKinds(t)...)
	s := &scene{
		APIServer: server,
		t:         t,
		namespace: server.Namespace(t),
		at:        map[string]string{},
		ledger:    &ledger{},
		approved:  map[invariant.Approval]bool{},
	}
	for _, environment := range []string{"dev", "staging", "prod"} {
		s.at[environment] = server.GrantedNamespace(t, s.namespace)
	}
	s.recorder = testkit.Record(t, server, s.namespace, testkit.Kinds(&pipelines.Pipeline{}))
	s.provider = s.providerFront(d.outside)
	switch {
	case !w.git:
	case d.gitea && giteaHubs == nil:
		t.Fatal("a real Gitea is there only with -tags externals")
	case d.gitea:
		s.hub = giteaHubs(t, s.namespace, s.provider)
	default:
		s.hub = newMemoryHub(t, s.namespace, s.provider)
	}
	if s.hub != nil {
		s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "git"}, StringData: s.hub.secret()})
	}
	s.sink, s.events = s.newSink(t, d.outside)
	if w.approvals {
		s.approval = testkit.FreeAddress(t)
		s.create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "key"},
			StringData: map[string]string{"hmac-key": approvalKey},
		})
	}
	return s
}

func (s *scene) create(objects ...client.Object) {
	s.t.Helper()
	testkit.Create(s.t, s.APIServer, objects...)
}

// rest waits until nothing is written any more, and records the state.
func (s *scene) rest(name string, more ...string) {
	s.t.Helper()
	for ended := s.steady(); ; ended = true {
		s.recorder.Quiet(s.t, restLength)
		if s.steady() == ended {
			break
		}
	}
	evidence := s.evidence()
	if s.hub != nil {
		more = append(
			more,
			"the base branch has "+strings.ReplaceAll(s.hub.file(s.t), s.namespace, "<namespace>"),
			fmt.Sprintf("%d branches", len(s.hub.branches(s.t))),
		)
	}
	s.pauses = append(s.pauses, pause{name: name, evidence: evidence, ending: invariant.EndingOf(evidence, more...)})
}

func (s *scene) evidence() invariant.Evidence {
	s.t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	approved := map[invariant.Approval]bool{}
	for approval := range s.approved {
		approved[approval] = true
	}
	return invariant.Evidence{History: s.recorder.History(), Ledger: s.ledger.list(), Approved: approved}
}

func (s *scene) stub() *pipelines.Pipeline {
	return &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: pipelineName}}
}

// pipeline starts the pipeline of the scene, with these environments.
func (s *scene) pipeline(environments ...string) *testkit.PipelineBuilder {
	builder := testkit.Pipeline(s.namespace, pipelineName).App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app")
	for _, environment := range environments {
		builder.Environment(environment, s.at[environment])
	}
	return builder
}

// pullRequests returns the strategy of the scene's pipelines for pull requests.
func (s *scene) pullRequests() pipelines.PullRequestStrategy {
	return pipelines.PullRequestStrategy{
		Type: pipelines.GitProviderGitea, URL: s.hub.url(), BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}
}

var helmRelease = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}

func (s *scene) app(environment string) *unstructured.Unstructured {
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(helmRelease)
	app.SetNamespace(s.at[environment])
	app.SetName("app")
	return app
}

// deploy makes an environment run a revision, healthy or not, as helm-controller would report it.
func (s *scene) deploy(environment, revision string, healthy bool) {
	s.t.Helper()
	app := s.app(environment)
	if err := s.Client().Create(s.t.Context(), app); err != nil && !apierrors.IsAlreadyExists(err) {
		s.t.Fatal(err)
	}
	if err := s.Client().Get(s.t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		s.t.Fatal(err)
	}
	ready, reason := "True", "UpgradeSucceeded"
	if !healthy {
		ready, reason = "False", "Progressing"
	}
	app.Object["status"] = map[string]any{
		"observedGeneration": app.GetGeneration(),
		"history":            []any{map[string]any{"chartVersion": revision, "status": "deployed", "version": int64(1)}},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": reason, "message": "as the story says", "observedGeneration": app.GetGeneration(),
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}
	if err := s.Client().Status().Update(s.t.Context(), app); err != nil {
		s.t.Fatal(err)
	}
}

// until waits until the pipeline meets a condition.
func (s *scene) until(what string, holds func(*pipelines.Pipeline) bool) *pipelines.Pipeline {
	s.t.Helper()
	return testkit.Eventually(s.t, s.APIServer, s.stub(), testkit.Is(what, holds))
}

// reaches waits until the promotion of a revision to an environment has reached a state, and nothing is left to withdraw.
func (s *scene) reaches(environment, revision string, state pipelines.PromotionState) *pipelines.Pipeline {
	s.t.Helper()
	return s.until("promotion of "+revision+" to "+environment+": "+string(state), func(p *pipelines.Pipeline) bool {
		e := p.Status.Environments[environment]
		return e.Promotion != nil && e.Promotion.Revision == revision && e.Promotion.State == state && e.Withdrawal == nil
	})
}

// installation returns the Installation of an environment.
func (s *scene) installation(environment string) *lsv1alpha1.Installation {
	s.t.Helper()
	inst := &lsv1alpha1.Installation{}
	if err := s.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.at[environment], Name: "app"}, inst); err != nil {
		s.t.Fatal(err)
	}
	return inst
}

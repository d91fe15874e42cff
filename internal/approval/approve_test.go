// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestPIP26_AnApprovalIsRecorded(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 7)
	stamp := sign(w.approvalPath(shop, "prod", "1.2.3"))
	got := w.post(stamp.path, "", stamp.headers()...)
	w.expect(got, http.StatusNoContent)
	if got.body != "" || got.header.Get("Location") != "" {
		t.Errorf("the answer has a body %q or a location %q", got.body, got.header.Get("Location"))
	}
	environment := w.read(shop).Status.Environments["prod"]
	approval := environment.Promotion.Approval
	want := &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "key", Method: pipelines.ApprovalWebhook, Nonce: stamp.nonce}
	if diff := cmp.Diff(want, approval, cmpopts.IgnoreFields(pipelines.Approval{}, "Time")); diff != "" || approval.Time.IsZero() {
		t.Errorf("recorded is %v:\n%s", approval, diff)
	}
	if environment.WaitingApproval.Revision != "" || environment.Promotion.State != pipelines.PromotionUnattempted {
		t.Errorf("the promotion is left as %+v", environment)
	}
	if w.woken() == 0 {
		t.Error("the controller was not told")
	}
	if _, calls, _ := strings.Cut(w.logged(), "Approval server listens"); strings.Count(calls, "127.0.0.1") > 1 {
		t.Errorf("the log names the caller's address:\n%s", w.logged())
	}
}

// The leader opens the pull request while the caller waits.
func TestPIP26_TheAnswerLeadsToThePullRequest(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.LocationPatience = time.Minute })
	shop := w.pipeline("shop", manualPullRequest(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	path := w.approvalPath(shop, "prod", "1.2.3")
	answers := make(chan answer, 1)
	go func() {
		got, err := w.send(http.MethodPost, w.url+path, "", sign(path).headers()...)
		if err != nil {
			got.body = err.Error()
		}
		answers <- got
	}()
	testkit.Eventually(t, w.APIServer, shop, testkit.Is("approved", func(p *pipelines.Pipeline) bool {
		return p.Status.Environments["prod"].Promotion.Approval != nil
	}))
	const url = "https://git.example/shop/pulls/4"
	w.update(shop, func(s *pipelines.PipelineStatus) {
		s.Environments["prod"].Promotion.State = pipelines.PromotionAttempting
	})
	w.update(shop, func(s *pipelines.PipelineStatus) {
		promotion := s.Environments["prod"].Promotion
		promotion.State, promotion.PullRequest = pipelines.PromotionCreated, &pipelines.PullRequestStatus{URL: url}
	})
	got := <-answers
	w.expect(got, http.StatusCreated)
	if got.header.Get("Location") != url || got.body != "" {
		t.Errorf("location %q, body %q", got.header.Get("Location"), got.body)
	}
	again := w.approve(path)
	if w.expect(again, http.StatusCreated); again.header.Get("Location") != url {
		t.Errorf("the second call is answered with %+v", again)
	}
}

func TestPIP26_NobodyWaitsForAPullRequestThatDoesNotCome(t *testing.T) {
	for name, change := range map[string]func(*pipelines.PipelineStatus){
		"the attempt has failed": func(s *pipelines.PipelineStatus) {
			s.Environments["prod"].Promotion.State = pipelines.PromotionFailed
		},
		"another revision took over": func(s *pipelines.PipelineStatus) {
			s.Run.Number, s.Environments["prod"].Promotion.Run = 2, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.LocationPatience = time.Hour })
			shop := w.pipeline("shop", manualPullRequest(signedBy("key")))
			w.waits(shop, "prod", "1.2.3", 1)
			path := w.approvalPath(shop, "prod", "1.2.3")
			codes := make(chan int, 1)
			go func() {
				got, _ := w.send(http.MethodPost, w.url+path, "", sign(path).headers()...)
				codes <- got.code
			}()
			testkit.Eventually(t, w.APIServer, shop, testkit.Is("approved", func(p *pipelines.Pipeline) bool {
				return p.Status.Environments["prod"].Promotion.Approval != nil
			}))
			w.update(shop, change)
			if code := <-codes; code != http.StatusNoContent {
				t.Errorf("answer is %d", code)
			}
		})
	}
	t.Run("time is up", func(t *testing.T) {
		w := newWorld(t)
		shop := w.pipeline("shop", manualPullRequest(signedBy("key")))
		w.waits(shop, "prod", "1.2.3", 1)
		w.expect(w.approve(w.approvalPath(shop, "prod", "1.2.3")), http.StatusNoContent)
	})
}

func TestPIP26_AnApprovalNeedsAPromotionThatWaitsForIt(t *testing.T) {
	tests := map[string]struct {
		environment, revision string
		change                func(*pipelines.PipelineStatus)
		text                  string
	}{
		"another revision waits": {"prod", "1.2.4", nil, "failed approving promotion\n"},
		"nothing waits there":    {"staging", "1.2.3", nil, "failed approving promotion\n"},
		"environment unknown":    {"moon", "1.2.3", nil, "has no environment moon defined\n"},
		"a run is over": {"prod", "1.2.3", func(s *pipelines.PipelineStatus) {
			s.Run.Number, s.Run.Revision, s.LatestRevision = 8, "1.3.0", "1.3.0"
		}, "failed approving promotion\n"},
		"rejected": {"prod", "1.2.3", func(s *pipelines.PipelineStatus) {
			e := s.Environments["prod"]
			e.WaitingApproval.Revision = ""
			e.Promotion.State = pipelines.PromotionRejected
			e.Promotion.Approval = &pipelines.Approval{Decision: pipelines.DecisionRejected, Time: metav1.Now()}
			s.Environments["prod"] = e
		}, "failed approving promotion\n"},
		"nothing happened yet": {
			"prod",
			"1.2.3",
			func(s *pipelines.PipelineStatus) { *s = pipelines.PipelineStatus{ObservedGeneration: 1} },
			"failed approving promotion\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			shop := w.pipeline("shop", manualNotification(signedBy("key")))
			w.waits(shop, "prod", "1.2.3", 7)
			if test.change != nil {
				w.update(shop, test.change)
			}
			got := w.approve(w.approvalPath(shop, test.environment, test.revision))
			w.expect(got, http.StatusUnprocessableEntity)
			if !strings.HasSuffix(got.body, test.text) {
				t.Errorf("the answer says %q", got.body)
			}
			if now := w.read(shop); now.ResourceVersion != shop.ResourceVersion || w.woken() > 0 {
				t.Errorf("it had an effect: %+v", now.Status)
			}
		})
	}
}

func TestPIP26_APipelineThatIsGoingGetsNoApproval(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	shop.Finalizers = []string{"espalier.dev/test"}
	if err := w.Client().Update(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	w.Delete(shop)
	w.expect(w.approve(w.approvalPath(shop, "prod", "1.2.3")), http.StatusUnprocessableEntity)
	if approval := w.approved(shop, "prod"); approval != nil {
		t.Errorf("recorded is %+v", approval)
	}
}

func TestPIP26_ARepeatedCallChangesNothing(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	call := sign(w.approvalPath(shop, "prod", "1.2.3"))
	w.expect(w.post(call.path, "", call.headers()...), http.StatusNoContent)
	recorded := w.read(shop)
	w.expect(w.post(call.path, "", call.headers()...), http.StatusNoContent)
	w.expect(w.approve(call.path), http.StatusNoContent) // a separate call for the same
	if now := w.read(shop); now.ResourceVersion != recorded.ResourceVersion {
		t.Errorf("written again: %+v", now.Status)
	}
}

// When the same revision comes back after another one, it must be approved again.
func TestPIP26_ACallIsNoGoodForALaterRun(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	call := sign(w.approvalPath(shop, "prod", "1.2.3"))
	w.expect(w.post(call.path, "", call.headers()...), http.StatusNoContent)
	w.waits(shop, "prod", "1.3.0", 2)
	w.waits(shop, "prod", "1.2.3", 3)
	w.expect(w.post(call.path, "", call.headers()...), http.StatusUnprocessableEntity)
	if approval := w.approved(shop, "prod"); approval != nil {
		t.Errorf("approved by a call for run 1: %+v", approval)
	}
	w.expect(w.approve(call.path), http.StatusNoContent)
}

// A call that came too early never becomes valid, even if replayed.
func TestPIP26_ACallIsNoGoodForAPromotionThatBeganAfterIt(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	call := sign(w.approvalPath(shop, "prod", "1.2.3"))
	call.created = time.Now().Add(-2 * time.Minute)
	w.expect(w.post(call.path, "", call.headers()...), http.StatusUnprocessableEntity)
	w.waits(shop, "prod", "1.2.3", 1)
	w.expect(w.post(call.path, "", call.headers()...), http.StatusUnprocessableEntity)
	call.created = time.Now().Add(-10 * time.Second) // within the clock tolerance
	w.expect(w.post(call.path, "", call.headers()...), http.StatusNoContent)
}

func TestPIP26_ReplicasThatAreAskedAtOnceAgree(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Kinds(shop))
	path := w.approvalPath(shop, "prod", "1.2.3")
	replicas := []string{w.url, w.serve(), w.serve()}
	const each = 5
	codes := make(chan int, each*len(replicas))
	for _, replica := range replicas {
		for range each {
			go func() {
				got, _ := w.send(http.MethodPost, replica+path, "", sign(path).headers()...)
				codes <- got.code
			}()
		}
	}
	for range cap(codes) {
		if code := <-codes; code != http.StatusNoContent {
			t.Errorf("answer is %d", code)
		}
	}
	testkit.Eventually(t, w.APIServer, shop, testkit.Is("approved", func(p *pipelines.Pipeline) bool {
		return p.Status.Environments["prod"].Promotion.Approval != nil
	}))
	history := recorder.Of(shop)
	if nonces := history.Transitions("status.environments.prod.promotion.approval.nonce"); len(nonces) != 2 || nonces[0] != "" {
		t.Errorf("approved as %q, want once:\n%s", nonces, history)
	}
}

// through returns a client with fault injection.
func through(t *testing.T, transport *faults.Transport) client.WithWatch {
	t.Helper()
	server := testkit.Server(t)
	faulty, err := client.NewWithWatch(transport.Config(server.Config()), client.Options{Scheme: server.Client().Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return faulty
}

func TestPIP26_AWriteThatWasOvertakenIsTriedAgain(t *testing.T) {
	transport := faults.New(faults.MustParse("write:1:409"))
	w := newWorld(t, func(o *Options) { o.Client = through(t, transport) })
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	w.expect(w.approve(w.approvalPath(shop, "prod", "1.2.3")), http.StatusNoContent)
	if w.approved(shop, "prod") == nil || len(transport.Log().Writes()) != 2 {
		t.Errorf("the log of requests is\n%s", transport.Log())
	}
}

// While the API server fails, the response does not reveal why. The same call may be repeated, whether or not the write has happened.
func TestPIP26_ACallIsRepeatedAfterAFailure(t *testing.T) {
	for _, fault := range []faults.Action{faults.LoseAnswer, faults.LoseAnswerByTimeout, faults.Reset, faults.Timeout, faults.AnswerInternalError} {
		t.Run(fault.String(), func(t *testing.T) {
			transport := faults.New(faults.At(1, fault))
			w := newWorld(t, func(o *Options) { o.Client = through(t, transport) })
			shop := w.pipeline("shop", manualNotification(signedBy("key")))
			w.waits(shop, "prod", "1.2.3", 1)
			recorder := testkit.Record(t, w.APIServer, w.Namespace, testkit.Kinds(shop))
			call := sign(w.approvalPath(shop, "prod", "1.2.3"))
			got := w.post(call.path, "", call.headers()...)
			w.expect(got, http.StatusInternalServerError)
			if got.body != "internal error, please consult the server's logs\n" {
				t.Errorf("the answer says %q", got.body)
			}
			w.expect(w.post(call.path, "", call.headers()...), http.StatusNoContent)
			if approval := w.approved(shop, "prod"); approval == nil || approval.Nonce != call.nonce {
				t.Errorf("recorded is %+v", approval)
			}
			testkit.Eventually(t, w.APIServer, shop, testkit.Is("approved", func(p *pipelines.Pipeline) bool {
				return p.Status.Environments["prod"].Promotion.Approval != nil
			}))
			if states := recorder.Of(shop).Transitions("status.environments.prod.promotion.state"); !slices.Equal(
				states,
				[]string{"Unapproved", "Unattempted"},
			) {
				t.Errorf("the states were %q", states)
			}
		})
	}
}

func TestPIP26_RevisionsMayContainSlashesAndMore(t *testing.T) {
	const revision = "feature/login@sha1:8f3e"
	for name, written := range map[string]string{
		"as it is":         "feature/login@sha1:8f3e",
		"escaped in part":  "feature/login%40sha1:8f3e",
		"slashes escaped":  "feature%2Flogin@sha1:8f3e",
		"all of it, lower": "feature%2flogin%40sha1%3a8f3e",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			shop := w.pipeline("shop", manualNotification(signedBy("key")))
			w.waits(shop, "prod", revision, 1)
			w.expect(w.approve(w.approvalPath(shop, "prod", "feature")), http.StatusUnprocessableEntity)
			w.expect(w.approve(w.approvalPath(shop, "prod", written)), http.StatusNoContent)
			if w.approved(shop, "prod") == nil {
				t.Error("it is not approved")
			}
		})
	}
}

func TestPIP26_AnEnvironmentOfItsOwnHasAKeyOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.secret("key-of-prod", "another-key-of-at-least-32-bytes-length")
	shop := testkit.Pipeline(w.Namespace, "shop").
		Environment("dev", "dev").
		Environment("prod", "prod").
		Promotion(manualNotification(signedBy("key-of-prod"))).
		Build()
	w.Create(shop)
	w.waits(shop, "prod", "1.2.3", 1)
	call := sign(w.approvalPath(shop, "prod", "1.2.3"))
	w.expect(w.post(call.path, "", call.headers()...), http.StatusUnauthorized)
	call.key, call.more = "another-key-of-at-least-32-bytes-length", `;keyid="key-of-prod";alg="hmac-sha256"`
	w.expect(w.post(call.path, "", call.headers()...), http.StatusNoContent)
	if approval := w.approved(shop, "prod"); approval == nil || approval.By != "key-of-prod" {
		t.Errorf("recorded is %+v", approval)
	}
}

// The key is read for each call, so that a new one is valid at once and an old one is not.
func TestPIP26_ARotatedKeyCountsAtOnce(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	rotated := "rotated-" + canary
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "key"},
		Data:       map[string][]byte{keyEntry: []byte(rotated)},
	}
	call := sign(w.approvalPath(shop, "prod", "1.2.3"))
	if err := w.Client().Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.expect(w.post(call.path, "", call.headers()...), http.StatusUnauthorized)
	call.key = rotated
	w.expect(w.post(call.path, "", call.headers()...), http.StatusNoContent)
}

func TestPIP26_TheServerNeedsFewRights(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualPullRequest(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	transport := faults.New(faults.Plan{})
	replica := w.serve(func(o *Options) { o.Client, o.LocationPatience = through(t, transport), time.Second })
	path := w.approvalPath(shop, "prod", "1.2.3")
	got, err := w.send(http.MethodPost, replica+path, "", sign(path).headers()...)
	if err != nil {
		t.Fatal(err)
	}
	w.expect(got, http.StatusNoContent)
	used := map[string]bool{}
	for _, entry := range transport.Log() {
		if entry.Resource != "" {
			used[strings.TrimSuffix(entry.Verb+" "+entry.GroupResource()+"/"+entry.Subresource, "/")] = true
		}
	}
	want := []string{
		"get pipelines.pipelines.weave.works",
		"get secrets",
		"update pipelines.pipelines.weave.works/status",
		"watch pipelines.pipelines.weave.works",
	}
	if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, want) {
		t.Errorf("it needs the rights to %q, want %q", got, want)
	}
}

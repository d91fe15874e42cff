// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/config/admission"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a namespace under the policy, with users who may do different things there.
type world struct {
	*testkit.World
}

// verbs of the users. None of them is an administrator.
var verbs = map[string][]string{
	"ann":    {"get", "patch", "approve"},                     // an approver
	"bob":    {"get", "patch", "approve"},                     // another one
	"eve":    {"get", "create", "update", "patch", "delete"},  // an editor
	"runner": {"get", "list", "watch", "patch"},               // as the controller
	"boss":   {"get", "create", "update", "patch", "approve"}, // both
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: testkit.NewWorld(t)}
	policy, binding, err := admission.Approvals()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{policy, binding} {
		if err := w.Client().Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	for user, verbs := range verbs {
		name := metav1.ObjectMeta{Namespace: w.Namespace, Name: user}
		w.Create(
			&rbacv1.Role{
				ObjectMeta: name,
				Rules:      []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{pipelines.GroupName}, Resources: []string{"pipelines"}}},
			},
			&rbacv1.RoleBinding{
				ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			})
	}
	w.inForce()
	return w
}

// inForce waits until the API server has taken the policy up. Policies and bindings are taken up in the order in which they were created,
// so another one, created after it, tells when. Then even an administrator cannot speak in the name of somebody else.
func (w *world) inForce() {
	w.Helper()
	meta := metav1.ObjectMeta{Name: "last-" + w.Namespace}
	rule := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{pipelines.GroupName}, APIVersions: []string{"*"}, Resources: []string{"pipelines"}},
	}
	w.Create(
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules:     []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}},
			},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.name != 'last'", Reason: new(metav1.StatusReasonForbidden)}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}})
	last := w.line("last", nil)
	err := wait.PollUntilContextTimeout(w.Context(), 100*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsForbidden(w.Client().Create(ctx, last.DeepCopy(), client.DryRunAll)), nil
	})
	if err != nil {
		w.Fatalf("no policy is in force: %v", err)
	}
	forged := w.line("forged", request("approve", "nobody"))
	err = w.Client().Create(w.Context(), forged, client.DryRunAll)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "a request must name") {
		w.Fatalf("the policy is in force and lets a request in the name of somebody else pass, or refuses it for another reason: %v", err)
	}
}

func (w *world) line(name string, annotations map[string]string) *pipelines.Pipeline {
	line := testkit.Pipeline(w.Namespace, name).Environment("dev", "dev").Environment("prod", "prod").Notification().Manual().Build()
	line.Annotations = annotations
	return line
}

// as is a client of a user.
func (w *world) as(user string) client.WithWatch {
	w.Helper()
	config := rest.CopyConfig(w.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.NewWithWatch(config, client.Options{Scheme: w.Client().Scheme()})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// request are the annotations of a request that names a user.
func request(action, by string) map[string]string {
	r := pipeline.Request{ID: action, Action: pipelines.RequestAction(action), Environment: "prod", Revision: "1", By: by, Time: time.Unix(1, 0)}
	name, value := r.Text()
	beside, user := r.Requester()
	return map[string]string{name: value, beside: user}
}

var requestName, requesterName = func() (string, string) {
	name, _ := pipeline.Request{Environment: "prod"}.Text()
	return name, pipeline.RequesterOf(name)
}()

// annotations is a patch of them; null removes one.
func annotations(changes map[string]any) string {
	text, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": changes}})
	return string(text)
}

func TestWhoMayDecide(t *testing.T) {
	w := newWorld(t)
	ofAnn := request("approve", "ann")
	for name, test := range map[string]struct {
		user   string
		before map[string]string
		patch  string
		denied string // a part of the message; empty if it is allowed
	}{
		"an approver":                       {"ann", nil, annotations(map[string]any{requestName: ofAnn[requestName], requesterName: "ann"}), ""},
		"who has no right":                  {"eve", nil, annotations(map[string]any{requestName: "{}", requesterName: "eve"}), "user eve lacks the right"},
		"the controller":                    {"runner", nil, annotations(map[string]any{requestName: "{}", requesterName: "runner"}), "runner lacks the right"},
		"another's name":                    {"bob", nil, annotations(map[string]any{requestName: ofAnn[requestName], requesterName: "ann"}), "to bob"},
		"no name":                           {"bob", nil, annotations(map[string]any{requestName: ofAnn[requestName]}), "set the annotation " + requesterName + " to bob"},
		"an existing request, again":        {"bob", ofAnn, annotations(map[string]any{requestName: "{}"}), "to bob"},
		"an existing request, taken over":   {"bob", ofAnn, annotations(map[string]any{requesterName: "bob"}), ""},
		"one's own in the name of another":  {"ann", ofAnn, annotations(map[string]any{requesterName: "bob"}), "to ann"},
		"the name alone, without the right": {"eve", ofAnn, annotations(map[string]any{requesterName: "eve"}), "eve lacks the right"},
		"the name taken away":               {"bob", ofAnn, annotations(map[string]any{requesterName: nil}), "set the annotation"},
		"withdrawn":                         {"eve", ofAnn, annotations(map[string]any{requestName: nil}), ""},
		"answered": {
			"runner", ofAnn,
			annotations(map[string]any{requestName: nil, requesterName: nil}), "",
		},
		"something else, beside a request":   {"eve", ofAnn, annotations(map[string]any{"example.com/note": "x"}), ""},
		"a hold":                             {"eve", nil, annotations(map[string]any{pipeline.HoldAnnotationPrefix + "x": "{}"}), ""},
		"the spec, by an editor":             {"eve", nil, `{"spec": {"suspend": true}}`, ""},
		"the spec, by an approver":           {"ann", nil, `{"spec": {"promotion": {"manual": false}}}`, "not change the spec"},
		"both, by an approver":               {"ann", nil, `{"metadata": {"annotations": {"a": "b"}}, "spec": {"suspend": true}}`, "not change the spec"},
		"a request of another environment":   {"eve", ofAnn, annotations(map[string]any{pipeline.RequestAnnotationPrefix + "other": "{}"}), "eve lacks"},
		"finalizers, by the controller":      {"runner", ofAnn, `{"metadata": {"finalizers": ["pipelines.espalier.dev/pull-requests"]}}`, ""},
		"a request without name":             {"eve", nil, annotations(map[string]any{pipeline.RequestAnnotationPrefix + "a": ""}), "eve lacks"},
		"a requester without any request":    {"eve", nil, annotations(map[string]any{requesterName: "ann"}), ""},
		"a request beside that of an author": {"ann", ofAnn, annotations(map[string]any{requestName: "{}"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.line(fmt.Sprintf("p-%x", crc32.ChecksumIEEE([]byte(name))), test.before)
			if err := w.stored(p); err != nil {
				t.Fatal(err)
			}
			err := w.as(test.user).Patch(t.Context(), p.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(test.patch)))
			switch {
			case test.denied == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.denied != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.denied)):
				t.Errorf("want %q, got %v", test.denied, err)
			}
		})
	}
}

// stored creates a pipeline. Its request, if it has one, is written by ann.
func (w *world) stored(p *pipelines.Pipeline) error {
	if p.Annotations == nil {
		return w.Client().Create(w.Context(), p)
	}
	wanted := p.Annotations
	p.Annotations = nil
	if err := w.Client().Create(w.Context(), p); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": wanted}})
	if err != nil {
		return err
	}
	return w.as("ann").Patch(w.Context(), p, client.RawPatch(types.MergePatchType, text))
}

// A pipeline may be created with a request in it, which counts as soon as there is a promotion.
func TestWhoMayDecideFromTheBeginning(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		user        string
		annotations map[string]string
		denied      bool
	}{
		"a request without the right": {"eve", request("promote", "eve"), true},
		"in the name of another":      {"boss", request("approve", "ann"), true},
		"one's own":                   {"boss", request("approve", "boss"), false},
		"none":                        {"eve", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := w.as(test.user).Create(t.Context(), w.line("new", test.annotations), client.DryRunAll)
			if apierrors.IsForbidden(err) != test.denied || !test.denied && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What the command line and the web UI write is what the policy accepts, and what the status records is the real user.
func TestTheWayOfTheCommandLine(t *testing.T) {
	w := newWorld(t)
	p := w.line("p", nil)
	w.Create(p)
	w.SetStatus(p, map[string]any{
		"observedGeneration": int64(1), "run": map[string]any{"number": int64(1), "revision": "1", "startTime": "2026-01-01T00:00:00Z"},
		"environments": map[string]any{"prod": map[string]any{
			"waitingApproval": map[string]any{"revision": "1"},
			"promotion": map[string]any{
				"revision": "1", "run": int64(1), "state": "Unapproved", "startTime": "2026-01-01T00:00:00Z", "key": "k",
			},
		}},
	})
	decide := func(user string) (steer.Outcome, error) {
		ask := steer.Asker{Client: w.as(user)}
		current, err := ask.ReadPipeline(t.Context(), client.ObjectKeyFromObject(p))
		if err != nil {
			t.Fatal(err)
		}
		return ask.Decide(t.Context(), current, steer.Decision{Action: pipelines.RequestApprove, Environment: "prod", Time: time.Now()})
	}
	if _, err := decide("eve"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `need the right "approve"`) {
		t.Errorf("an editor approves: %v", err)
	}
	if _, err := decide("ann"); err != nil {
		t.Errorf("an approver does not: %v", err)
	}
	if !w.Read(p) {
		t.Fatal("the pipeline is gone")
	}
	if asked := pipeline.ReadRequests(p.Annotations); len(asked) != 1 || asked[0].By != "ann" || p.Annotations[requesterName] != "ann" {
		t.Errorf("asked is %+v in %v", asked, p.Annotations)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// syncWorkloads are what users do with TargetSyncs.
var syncWorkloads = []workload{
	{"sync", []act{follow, followOn, loseSight, unfollow}},
}

// syncKinds are needed by the rules about TargetSyncs, in addition to Targets and Secrets.
var syncKinds = []client.Object{&lsv1alpha1.TargetSync{}}

// sourceSuffix is appended to the name of a scene's namespace for that of its source. The gate routes requests there through the same
// transport.
const sourceSuffix = "-source"

const (
	syncName   = "sync"
	accessName = "access"
	// sourceTargetName is the Target of the source itself.
	sourceTargetName = "nursery"
)

func (s *scene) source() string { return s.namespace + sourceSuffix }

func kubeconfigSecret(namespace, name, kubeconfig string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"kubeconfig": []byte(kubeconfig)},
	}
}

// offer puts Secrets with kubeconfigs into the source.
func (s *scene) offer(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		s.create(t, kubeconfigSecret(s.source(), name, "kubeconfig of "+name))
	}
}

func (s *scene) targetSync() *lsv1alpha1.TargetSync {
	return &lsv1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: syncName},
		Spec: lsv1alpha1.TargetSyncSpec{
			SourceNamespace: s.source(), SecretRef: lsv1alpha1.LocalSecretReference{Name: accessName}, SecretNameExpression: "*",
			CreateTargetToSource: true, TargetToSourceName: sourceTargetName, TokenRotation: &lsv1alpha1.TokenRotation{Enabled: true},
		},
	}
}

// ready waits until the TargetSync reports for its current spec whether all Targets are as they should be, and has no open request.
func (s *scene) ready(t testing.TB, status lsv1alpha1.ConditionStatus) {
	t.Helper()
	testkit.Eventually(t, s.APIServer, s.targetSync(), testkit.Is("ready: "+string(status), func(ts *lsv1alpha1.TargetSync) bool {
		_, asked := ts.Annotations[lsv1alpha1.RotateTokenAnnotation]
		return !asked && slices.ContainsFunc(ts.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return c.Type == lsv1alpha1.ConditionReady && c.Status == status && c.ObservedGeneration == ts.Generation
		})
	}))
}

// hasTarget waits until there is a Target whose Secret has a content.
func (s *scene) hasTarget(t testing.TB, name, kubeconfig string) {
	t.Helper()
	testkit.Eventually(t, s.APIServer, testkit.Target(s.namespace, name).Build(),
		testkit.Is("there", func(*lsv1alpha1.Target) bool { return true }))
	testkit.Eventually(t, s.APIServer, kubeconfigSecret(s.namespace, name, ""), testkit.Is("a copy", func(secret *corev1.Secret) bool {
		return string(secret.Data["kubeconfig"]) == kubeconfig
	}))
}

// targets checks which Targets exist, in addition to the one of every scene, and that each has its Secret and there is no other.
func (s *scene) targets(t testing.TB, want ...string) {
	t.Helper()
	made := client.MatchingLabels{lsv1alpha1.TargetSyncLabel: lsv1alpha1.TargetSyncOK}
	var targets lsv1alpha1.TargetList
	var secrets corev1.SecretList
	for _, list := range []client.ObjectList{&targets, &secrets} {
		if err := s.Client().List(t.Context(), list, client.InNamespace(s.namespace), made); err != nil {
			t.Fatalf("list what was made: %v", err)
		}
	}
	var names, copies []string
	for i := range targets.Items {
		names = append(names, targets.Items[i].Name)
	}
	for i := range secrets.Items {
		copies = append(copies, secrets.Items[i].Name)
	}
	own := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return name == sourceTargetName })
	if !slices.Equal(names, want) || !slices.Equal(copies, own) {
		t.Errorf("there are the Targets %q and the Secrets %q, want %q and %q", names, copies, want, own)
	}
}

// A source is followed: Targets and a token are created, changed, and deleted.

func follow(t *testing.T, s *scene) {
	s.create(t,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.source()}},
		// This is the user in the kubeconfig of the gate.
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.source(), Name: "front"}},
		kubeconfigSecret(s.namespace, accessName, s.target.kubeconfig(t)))
	s.offer(t, "east", "west")
	s.create(t, s.targetSync())
	s.ready(t, lsv1alpha1.ConditionTrue)
	s.targets(t, "east", sourceTargetName, "west")
	s.rest(t, "followed")
}

func followOn(t *testing.T, s *scene) {
	s.patch(t, s.targetSync(), `{"metadata":{"annotations":{%q:""}}}`, lsv1alpha1.RotateTokenAnnotation)
	s.patch(t, kubeconfigSecret(s.source(), "east", ""), `{"stringData":{"kubeconfig":"another"}}`)
	if err := s.Client().Delete(t.Context(), kubeconfigSecret(s.source(), "west", "")); err != nil {
		t.Fatalf("delete a Secret of the source: %v", err)
	}
	s.offer(t, "north")
	s.hasTarget(t, "east", "another")
	s.hasTarget(t, "north", "kubeconfig of north")
	testkit.EventuallyGone(t, s.APIServer, testkit.Target(s.namespace, "west").Build())
	testkit.EventuallyGone(t, s.APIServer, kubeconfigSecret(s.namespace, "west", ""))
	s.ready(t, lsv1alpha1.ConditionTrue)
	s.targets(t, "east", "north", sourceTargetName)
	s.rest(t, "followed on")
}

var address = regexp.MustCompile(`https://[^\s"]+`)

// loseSight leads to an address where nothing answers, and back. What is not visible is not gone.
func loseSight(t *testing.T, s *scene) {
	access := kubeconfigSecret(s.namespace, accessName, "")
	if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(access), access); err != nil {
		t.Fatalf("read the access to the source: %v", err)
	}
	good := string(access.Data["kubeconfig"])
	s.lead(t, address.ReplaceAllString(good, "https://127.0.0.1:1"))
	s.ready(t, lsv1alpha1.ConditionFalse)
	s.targets(t, "east", "north", sourceTargetName)
	s.lead(t, good)
	s.ready(t, lsv1alpha1.ConditionTrue)
	s.targets(t, "east", "north", sourceTargetName)
	s.rest(t, "in sight again")
}

// lead changes where the TargetSync finds its source.
func (s *scene) lead(t testing.TB, kubeconfig string) {
	t.Helper()
	content, err := json.Marshal(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	s.patch(t, kubeconfigSecret(s.namespace, accessName, ""), `{"stringData":{"kubeconfig":%s}}`, strings.TrimSpace(string(content)))
}

func unfollow(t *testing.T, s *scene) {
	if err := s.Client().Delete(t.Context(), s.targetSync()); err != nil {
		t.Fatalf("delete the TargetSync: %v", err)
	}
	testkit.EventuallyGone(t, s.APIServer, s.targetSync())
	s.targets(t)
	s.rest(t, "gone")
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/testkit"
)

// record is the Secret in which Helm keeps a revision.
func record(t *testing.T, namespace, name, manifest string) *corev1.Secret {
	t.Helper()
	text, err := json.Marshal(map[string]any{"name": name, "manifest": manifest})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sh.helm.release.v1." + name + ".v2"},
		Data:       map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
	}
}

func TestTheObjectsOfAReleaseWithoutWorkloads(t *testing.T) {
	s := newStage(t, "")
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: there}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
data: {word: of-a-secret}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: view}
`
	testkit.Create(t, s.server, record(t, s.namespace, "shop", manifest),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "there"}})
	got, err := s.reader.OfRelease(t.Context(), s.item, objecttree.Release{Name: "shop", Namespace: s.namespace, Revision: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []objecttree.DeployedObject{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "there", State: objecttree.Ready},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "gone", State: objecttree.Gone, Message: "it does not exist in the cluster"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "view", State: objecttree.Ready},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAReleaseThatCannotBeLookedAtSaysWhy(t *testing.T) {
	s := newStage(t, "")
	release := objecttree.Release{Name: "shop", Namespace: s.namespace, Revision: 2}
	if _, err := s.reader.OfRelease(t.Context(), s.item, release); err == nil || !strings.Contains(err.Error(), "sh.helm.release.v1.shop.v2") {
		t.Errorf("without a record: %v", err)
	}
	testkit.Create(t, s.server, record(t, s.namespace, "shop", "word: {of-a-secret: ["))
	_, err := s.reader.OfRelease(t.Context(), s.item, release)
	if err == nil || !strings.Contains(err.Error(), "cannot be parsed") || strings.Contains(err.Error(), "of-a-secret") {
		t.Errorf("with a broken record: %v", err)
	}
}

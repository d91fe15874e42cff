// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
	"espalier.dev/internal/web/view"
)

const shelfPassword = "the-w0rd-of-the-shelf"

// stock stores an installation of a component in a registry whose password is in the installation's Context.
func stock(t *testing.T, cluster *testkit.APIServer, namespace string) *registry.Registry {
	t.Helper()
	shelf := registry.Start(t, registry.Options{Username: "robot", Password: shelfPassword})
	far := components.Component{
		Name: "example.com/far", Version: "1.0.0",
		Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": grown, "logo.bin": "\xff\xfe"})},
	}
	far.Push(t, components.Store(t, shelf, oci.Credential{Username: "robot", Password: shelfPassword}))
	login := base64.StdEncoding.EncodeToString([]byte("robot:" + shelfPassword))
	place := &lsv1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shelf"}}
	place.RepositoryContext = &lsv1alpha1.AnyJSON{Raw: fmt.Appendf(nil, `{"type":"ociRegistry","baseUrl":%q}`, shelf.URL)}
	place.RegistryPullSecrets = []lsv1alpha1.LocalObjectReference{{Name: "pull"}}
	inst := testkit.Installation(namespace, "far").BlueprintRef("blueprint").Component("example.com/far", "1.0.0").
		ImportData("size", "size").ImportData("password", "word").Build()
	inst.Spec.Context = "shelf"
	testkit.Create(t, cluster, place, inst,
		testkit.DataObject(namespace, "size", 7).Build(), testkit.DataObject(namespace, "word", "open").Build(),
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
			StringData: map[string]string{corev1.DockerConfigJsonKey: `{"auths":{"` + shelf.Host + `":{"auth":"` + login + `"}}}`},
		},
	)
	return shelf
}

// Blueprints of components in registries are read with credentials that the reader may read.
func TestBlueprintsOfRegistries(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	shelf := stock(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "contexts", "secrets", "configmaps")))
	at := "?name=far&namespace=" + namespace
	var shown shownBlueprint
	all.get("/api/v1/blueprints"+at).into(t, &shown)
	if len(shown.Imports) != 2 || len(shown.Graph.Nodes) != 4 || !strings.Contains(shown.Source, "deployExecutions") ||
		!strings.Contains(shown.Source, "logo.bin: (2 bytes)") {
		t.Errorf("%+v", shown)
	}
	if answer := all.post("/api/v1/render", trial{namespace, "far", "size: 9"}); !strings.Contains(answer.text, "size: 9") {
		t.Errorf("%s %s", answer.Status, answer.text)
	}
	var changes view.Diff
	if all.get("/api/v1/diff"+at).into(t, &changes); len(changes.Objects) != 3 {
		t.Errorf("%+v", changes)
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "espalier-ui-*")); err != nil || len(left) > 0 {
		t.Errorf("what was read is left behind: %v %v", left, err)
	}

	less := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "contexts")))
	before := len(shelf.Requests())
	answer := less.get("/api/v1/blueprints" + at)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(answer.text, "get secrets") {
		t.Errorf("without the right to read Secrets: %s %s", answer.Status, answer.text)
	}
	if len(shelf.Requests()) != before {
		t.Error("the registry was asked for somebody who may not read its password")
	}
}

// If neither the installation nor its Context names a repository for components, pages use the same default as the controllers.
func TestBlueprintsOfTheDefaultRepository(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	shelf := stock(t, cluster, namespace)
	var place lsv1alpha1.Context
	if err := cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shelf"}, &place); err != nil {
		t.Fatal(err)
	}
	place.RepositoryContext = nil
	if err := cluster.Client().Update(t.Context(), &place); err != nil {
		t.Fatal(err)
	}
	standard, err := artifact.ParseDefault(shelf.URL)
	if err != nil {
		t.Fatal(err)
	}
	at := "/api/v1/blueprints?name=far&namespace=" + namespace
	var shown shownBlueprint
	serve(t, cluster, Options{Namespaces: []string{namespace}, DefaultRepository: standard}).local(t).get(at).into(t, &shown)
	if len(shown.Imports) != 2 {
		t.Errorf("%+v", shown)
	}
	answer := serve(t, cluster, Options{Namespaces: []string{namespace}}).local(t).get(at)
	if answer.StatusCode == http.StatusOK || !strings.Contains(answer.text, "no repository is named") {
		t.Errorf("without a default: %s %s", answer.Status, answer.text)
	}
}

// A registry that denies access or is unreachable is reported, without its password.
func TestRegistriesThatCannotBeRead(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	shelf := stock(t, cluster, namespace)
	v := serve(t, cluster, Options{}).local(t)
	for name, status := range map[string]int{"refuses": http.StatusForbidden, "is away": http.StatusServiceUnavailable} {
		shelf.Break(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			http.Error(w, shelfPassword, status)
			return true
		})
		for path, want := range map[string]string{"blueprints": "cannot be read", "diff": "would fail, or wait"} {
			answer := v.get("/api/v1/" + path + "?name=far&namespace=" + namespace)
			if !strings.Contains(answer.text, want) || !strings.Contains(answer.text, shelf.Host) {
				t.Errorf("%s, %s: %s %s", name, path, answer.Status, answer.text)
			}
			if strings.Contains(answer.text, shelfPassword) {
				t.Errorf("%s, %s: the password is shown: %s", name, path, answer.text)
			}
		}
	}
}

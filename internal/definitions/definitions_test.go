// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"espalier.dev/config/crd"
	"espalier.dev/config/rbac"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var ofTest = Options{Owner: "test", Version: "v1.2.3"}

func all(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	return crds
}

func listed(t *testing.T, server *testkit.APIServer) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := server.Client().List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, item := range list.Items {
		found[item.Name] = item
	}
	return found
}

func TestDefinitionsAreInstalledUpgradedAndLeftAlone(t *testing.T) {
	server := testkit.NewServer(t)
	crds := all(t)
	older := crds[0].DeepCopy()
	older.Spec.Names.ShortNames = []string{"outdated"}
	if _, err := install(t.Context(), server.Config(), []*apiextensionsv1.CustomResourceDefinition{older}, Options{"test", "v1.1.0", false}); err != nil {
		t.Fatal(err)
	}
	changes, err := install(t.Context(), server.Config(), crds, ofTest)
	if err != nil {
		t.Fatalf("over an older version: %v", err)
	}
	if first := changes[0]; first.Created || !first.Changed || first.From != "v1.1.0" || !changes[1].Created || !changes[1].Changed {
		t.Errorf("the changes are told as %+v", changes)
	}
	before := listed(t, server)
	if changes, err = install(t.Context(), server.Config(), crds, ofTest); err != nil {
		t.Fatalf("over the same version: %v", err)
	}
	after := listed(t, server)
	for i, wanted := range crds {
		got, ok := before[wanted.Name]
		if !ok || !IsEstablished(&got) || got.Annotations[VersionAnnotation] != "v1.2.3" {
			t.Errorf("%s is not established, or not marked: %v", wanted.Name, got.Annotations)
		}
		if !slices.Equal(got.Spec.Names.ShortNames, wanted.Spec.Names.ShortNames) {
			t.Errorf("%s has short names %v", wanted.Name, got.Spec.Names.ShortNames)
		}
		if got.ResourceVersion != after[wanted.Name].ResourceVersion || changes[i].Changed {
			t.Errorf("%s was written although nothing has changed, or that is said: %+v", wanted.Name, changes[i])
		}
	}
}

// All replicas may install CRDs at once.
func TestReplicasInstallDefinitionsTogether(t *testing.T) {
	server := testkit.NewServer(t)
	var replicas sync.WaitGroup
	for range 4 {
		replicas.Go(func() {
			if _, err := Install(t.Context(), server.Config(), ofTest); err != nil {
				t.Error(err)
			}
		})
	}
	replicas.Wait()
	if found := listed(t, server); len(found) != len(all(t)) {
		t.Errorf("there are %d definitions", len(found))
	}
}

// Another replica installs everything after this one has checked, and before it writes. This one then checks again: an equal CRD is
// accepted, and a newer one stays.
func TestAReplicaIsOvertaken(t *testing.T) {
	server := testkit.NewServer(t)
	overtaken := func(own, by Options) ([]Change, error) {
		transport := faults.New(faults.Plan{})
		transport.Before(1, func() {
			if _, err := Install(t.Context(), server.Config(), by); err != nil {
				t.Errorf("the other replica: %v", err)
			}
		})
		return Install(t.Context(), transport.Config(server.Config()), own)
	}
	if _, err := Install(t.Context(), server.Config(), Options{"test", "v1.1.0", false}); err != nil {
		t.Fatal(err)
	}
	changes, err := overtaken(ofTest, ofTest)
	if err != nil || changes[0].Changed || changes[0].From != ofTest.Version {
		t.Errorf("by the same version: %v, the changes are told as %+v", err, changes)
	}
	newer := Options{"test", "v1.3.0", false}
	if _, err := overtaken(ofTest, newer); err == nil || !strings.Contains(err.Error(), "is of Espalier v1.3.0") {
		t.Errorf("by a newer version: %v", err)
	}
	for name, found := range listed(t, server) {
		if found.Annotations[VersionAnnotation] != newer.Version {
			t.Errorf("%s is of version %s", name, found.Annotations[VersionAnnotation])
		}
	}
}

// A CRD that must not be replaced stays unchanged, and so do all others.
func TestDefinitionsAreNotTakenBack(t *testing.T) {
	server := testkit.NewServer(t)
	crds := all(t)
	names := func(change func(*apiextensionsv1.CustomResourceDefinition)) []*apiextensionsv1.CustomResourceDefinition {
		last := crds[len(crds)-1].DeepCopy()
		change(last)
		return []*apiextensionsv1.CustomResourceDefinition{last}
	}
	withField := func(definition *apiextensionsv1.CustomResourceDefinition) {
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		spec.Properties["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	unmarked := func(definition *apiextensionsv1.CustomResourceDefinition) {
		stored := definition.Spec.Versions[0].DeepCopy()
		stored.Name, stored.Storage = "v9", false
		definition.Spec.Versions = append(definition.Spec.Versions, *stored)
	}
	for _, test := range []struct {
		name    string
		there   []*apiextensionsv1.CustomResourceDefinition
		version string
		own     Options
		want    string
	}{
		{"newer", names(func(*apiextensionsv1.CustomResourceDefinition) {}), "v1.3.0", ofTest, "is of Espalier v1.3.0 and this is v1.2.3"},
		{"newer, from a commit", nil, "v1.3.0-4-gabcdef0", ofTest, "is of Espalier v1.3.0-4-gabcdef0"},
		{"a candidate after the release", nil, "v1.3.0", Options{"test", "v1.3.0-rc.1", false}, "is of Espalier v1.3.0"},
		{"a field, no version", names(withField), "abcdef0", ofTest, "such as spec.later"},
	} {
		t.Run(test.name, func(t *testing.T) {
			there := test.there
			if there == nil {
				there = names(func(*apiextensionsv1.CustomResourceDefinition) {})
			}
			if _, err := install(t.Context(), server.Config(), there, Options{"test", test.version, true}); err != nil {
				t.Fatal(err)
			}
			before := listed(t, server)
			_, err := install(t.Context(), server.Config(), crds, test.own)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "without --install-crds") {
				t.Errorf("it is said: %v", err)
			}
			after := listed(t, server)
			if len(after) != len(before) || after[there[0].Name].ResourceVersion != before[there[0].Name].ResourceVersion {
				t.Errorf("something was written: %v", slices.Collect(maps.Keys(after)))
			}
			if _, err := install(t.Context(), server.Config(), there, Options{"test", test.own.Version, true}); err != nil {
				t.Errorf("although it is permitted: %v", err)
			}
		})
	}
	t.Run("a stored version", func(t *testing.T) {
		if _, err := install(t.Context(), server.Config(), names(unmarked), Options{"test", "v1.0.0", true}); err != nil {
			t.Fatal(err)
		}
		existing := listed(t, server)[crds[len(crds)-1].Name]
		existing.Status.StoredVersions = append(existing.Status.StoredVersions, "v9")
		if err := server.Client().Status().Update(t.Context(), &existing); err != nil {
			t.Fatal(err)
		}
		_, err := install(t.Context(), server.Config(), crds, Options{"test", "v1.2.3", true})
		if err == nil || !strings.Contains(err.Error(), "stored in version v9") {
			t.Errorf("it is said: %v", err)
		}
	})
}

// A CRD of the controllers that are taken over from has additional fields, and is replaced.
func TestForeignDefinitionsAreReplaced(t *testing.T) {
	existing := all(t)[0]
	existing.Spec.Names.Categories = nil
	existing.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["theirs"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	if err := Refusal(existing, all(t)[0], ofTest); err != nil {
		t.Error(err)
	}
	existing.DeletionTimestamp = new(metav1.Now())
	if err := Refusal(existing, all(t)[0], ofTest); err == nil || !strings.Contains(err.Error(), "is being deleted") {
		t.Errorf("one that is being deleted: %v", err)
	}
}

// The role has the necessary rights, and an error names it if it is missing.
func TestTheRoleIsEnough(t *testing.T) {
	server := testkit.NewServer(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "installer"}}
	testkit.Create(t, server, account)
	token := &authenticationv1.TokenRequest{}
	if err := server.Client().SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(server.Config())
	config.BearerToken = token.Status.Token
	if _, err := Install(t.Context(), config, ofTest); err == nil || !strings.Contains(err.Error(), "espalier-definitions") {
		t.Errorf("without the role: %v", err)
	}
	roles, err := rbac.All()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(roles, func(role rbac.Role) bool { return role.Name == "espalier-definitions" })
	testkit.Create(t, server,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "espalier-definitions"}, Rules: roles[at].Rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "espalier-definitions"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "espalier-definitions"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "installer"}},
		})
	for range 2 {
		if _, err := Install(t.Context(), config, ofTest); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInstallationGivesUpWithItsContext(t *testing.T) {
	server := testkit.Server(t)
	broken := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "nonsense"}}
	_, err := install(t.Context(), server.Config(), []*apiextensionsv1.CustomResourceDefinition{broken}, ofTest)
	if err == nil || !strings.Contains(err.Error(), "install CRD nonsense") {
		t.Errorf("a definition that the server refuses: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	clientset, err := apiextensions.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := awaitEstablished(ctx, clientset, map[string]bool{"never": true}); err == nil {
		t.Error("it has not waited")
	}
	never := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "ghosts"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}},
	}}
	if err := awaitDiscovery(ctx, server.Config(), []*apiextensionsv1.CustomResourceDefinition{never}); err == nil ||
		!strings.Contains(err.Error(), "ghosts of example.com/v1") {
		t.Errorf("what is never served: %v", err)
	}
}

func TestDiscoveryHasToNameEverything(t *testing.T) {
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]*metav1.APIResourceList{}
	for _, definition := range crds {
		version := definition.Spec.Group + "/" + definition.Spec.Versions[0].Name
		if lists[version] == nil {
			lists[version] = &metav1.APIResourceList{GroupVersion: version}
		}
		lists[version].APIResources = append(lists[version].APIResources, metav1.APIResource{Name: definition.Spec.Names.Plural})
	}
	all := slices.Collect(maps.Values(lists))
	if missing := FirstMissing(crds, all); missing != "" {
		t.Errorf("of everything %s is missing", missing)
	}
	for _, list := range all {
		last := list.APIResources[len(list.APIResources)-1]
		list.APIResources = list.APIResources[:len(list.APIResources)-1]
		if missing, want := FirstMissing(crds, all), last.Name+" of "+list.GroupVersion; missing != want {
			t.Errorf("without %s %q is missing", want, missing)
		}
		list.APIResources = append(list.APIResources, last)
	}
	if missing := FirstMissing(crds, nil); missing == "" {
		t.Error("of nothing nothing is missing")
	}
}

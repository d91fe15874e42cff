// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/web/mirror"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// stage is a running mirror.
type stage struct {
	*mirror.Mirror
	t       *testing.T
	changed chan struct{}
}

func newStage(t *testing.T, config *rest.Config, namespaces ...string) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{api.AddToScheme, eventsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, changed: make(chan struct{}, 1)}
	s.Mirror = mirror.New(mirror.Options{Client: c, Namespaces: namespaces, Log: logr.Discard(), Changed: func(string) {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

// until waits for a state of the mirror.
func (s *stage) until(good func() bool) {
	s.t.Helper()
	for !good() {
		select {
		case <-s.changed:
		case <-s.t.Context().Done():
			s.t.Fatal("the mirror does not get there")
		}
	}
}

func all(mirror.Resource, string) bool { return true }

func (s *stage) names(namespace string, see func(mirror.Resource, string) bool) []string {
	var names []string
	s.Each(namespace, see, func(object client.Object) { names = append(names, object.GetName()) })
	slices.Sort(names)
	return names
}

func TestAMirrorFollowsTheCluster(t *testing.T) {
	server := testkit.Server(t)
	one, two := server.Namespace(t), server.Namespace(t)
	first := testkit.Installation(one, "first").Build()
	testkit.Create(t, server, first, testkit.Installation(two, "second").Build())
	s := newStage(t, server.Config(), one, two)
	s.until(s.Ready)
	if got := s.names("", all); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("at first: %v", got)
	}
	if got := s.names(one, all); !slices.Equal(got, []string{"first"}) {
		t.Errorf("of one namespace: %v", got)
	}
	if got := s.names("", func(_ mirror.Resource, namespace string) bool { return namespace == two }); !slices.Equal(got, []string{"second"}) {
		t.Errorf("who may see one namespace sees %v", got)
	}
	if got := s.names("elsewhere", all); len(got) != 0 {
		t.Errorf("of a namespace that is not mirrored: %v", got)
	}
	if got := s.Namespaces(); len(got) != 2 || !slices.Contains(got, one) {
		t.Errorf("namespaces %v", got)
	}
	testkit.Create(t, server, testkit.Installation(one, "third").Build())
	s.until(func() bool { return slices.Contains(s.names(one, all), "third") })
	if err := server.Client().Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	s.until(func() bool { return !slices.Contains(s.names(one, all), "first") })
	if s.Problem() != nil {
		t.Errorf("%+v", s.Problem())
	}
}

// No value stays in a mirror, whatever object holds it.
func TestAMirrorHoldsNoValues(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	const secret = "swordfish"
	data := testkit.DataObject(namespace, "data", secret).Build()
	data.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": secret}
	item := testkit.DeployItem(namespace, "item").Build()
	item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"a/v1","kind":"K","password":"` + secret + `"}`)}
	execution := testkit.Execution(namespace, "execution").Item(lsv1alpha1.DeployItemTemplate{
		Name: "a", Type: "b", Configuration: item.Spec.Configuration.DeepCopy(),
	}).Build()
	testkit.Create(t, server, data, item, execution, testkit.Target(namespace, "target").Kubeconfig(secret).Build())
	installation := testkit.Installation(namespace, "installation").Build()
	testkit.Create(t, server, installation)
	installation.Status.History = []lsv1alpha1.SpecRevision{{Revision: 1, StartTime: metav1.Now(), SpecHash: secret}}
	if err := server.Client().Status().Update(t.Context(), installation); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, server.Config(), namespace)
	s.until(s.Ready)
	if got := s.names(namespace, all); len(got) != 5 {
		t.Fatalf("%v", got)
	}
	s.Each(namespace, all, func(object client.Object) {
		text, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(join(text)), secret) {
			t.Errorf("%s holds the value: %v", object.GetName(), text)
		}
	})
}

// join formats everything in a value.
func join(value any) string {
	switch v := value.(type) {
	case map[string]any:
		text := ""
		for key, inner := range v {
			text += key + join(inner)
		}
		return text
	case []any:
		text := ""
		for _, inner := range v {
			text += join(inner)
		}
		return text
	case string:
		return v
	}
	return ""
}

// A kind that the account may not list is empty, is no problem, and is read as soon as the right is granted.
func TestKindsThatMayNotBeListed(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	testkit.Create(t, server, testkit.Installation(namespace, "shop").Build())
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"targets"}, Verbs: []string{"list", "watch"}}},
	}
	name := "mirror-of-" + namespace
	testkit.Create(t, server, role, &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	})
	config := server.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	s := newStage(t, config, namespace)
	s.until(s.Ready)
	if s.Lists(lsv1alpha1.GroupName, "installations") || s.Lists("example.org", "others") || len(s.names("", all)) != 0 || s.Problem() != nil {
		t.Errorf("%v %+v", s.names("", all), s.Problem())
	}
	role.Rules[0].Resources = []string{"*"}
	if err := server.Client().Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	s.until(func() bool {
		return s.Lists(lsv1alpha1.GroupName, "installations") && slices.Equal(s.names("", all), []string{"shop"})
	})
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/web/rights"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

var (
	getSecrets   = rights.Right{Verb: "get", Resource: "secrets"}
	patchSecrets = rights.Right{Verb: "patch", Resource: "secrets"}
	podLogs      = rights.Right{Verb: "get", Resource: "pods/log"}
)

// somebody returns a user who may get Secrets and logs in one namespace, and patch one Secret there.
func somebody(t *testing.T, server *testkit.APIServer, namespace string) rights.User {
	t.Helper()
	user := rights.User{Name: "reader-of-" + namespace, Groups: []string{"system:authenticated"}}
	core := []string{""}
	testkit.Create(t, server,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: core, Resources: []string{"secrets", "pods/log"}, Verbs: []string{"get"}},
			{APIGroups: core, Resources: []string{"secrets"}, ResourceNames: []string{"one"}, Verbs: []string{"patch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user.Name}},
		},
	)
	return user
}

// reviewer returns a client that creates reviews, as the server or as another user.
func reviewer(t *testing.T, server *testkit.APIServer, as string) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config := server.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: as}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// settled waits until the API server knows the new roles.
func settled(t *testing.T, ask rights.Ask, namespace string) rights.Ask {
	t.Helper()
	for {
		known, err := ask(t.Context(), getSecrets, rights.Place{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		if known {
			return ask
		}
	}
}

func TestTheAPIServerSaysWhatSomebodyMay(t *testing.T) {
	server := testkit.Server(t)
	namespace, other := server.Namespace(t), server.Namespace(t)
	user := somebody(t, server, namespace)
	for name, ask := range map[string]rights.Ask{
		"of another": rights.Of(reviewer(t, server, ""), user), "of oneself": rights.Self(reviewer(t, server, user.Name)),
	} {
		settled(t, ask, namespace)
		for _, test := range []struct {
			right rights.Right
			at    rights.Place
			want  bool
		}{
			{getSecrets, rights.Place{Namespace: namespace}, true}, {getSecrets, rights.Place{Namespace: other}, false},
			{getSecrets, rights.Place{}, false}, {podLogs, rights.Place{Namespace: namespace}, true},
			{rights.Right{Verb: "get", Resource: "pods"}, rights.Place{Namespace: namespace}, false},
			{patchSecrets, rights.Place{Namespace: namespace}, false}, {patchSecrets, rights.Place{Namespace: namespace, Name: "one"}, true},
			{patchSecrets, rights.Place{Namespace: namespace, Name: "two"}, false},
		} {
			if got, err := ask(t.Context(), test.right, test.at); err != nil || got != test.want {
				t.Errorf("%s: %+v %+v: %v, %v", name, test.right, test.at, got, err)
			}
		}
	}
}

func TestClasses(t *testing.T) {
	server := testkit.Server(t)
	namespace, other := server.Namespace(t), server.Namespace(t)
	reader := settled(t, rights.Of(reviewer(t, server, ""), somebody(t, server, namespace)), namespace)
	nobody := rights.Of(reviewer(t, server, ""), rights.User{Name: "nobody"})
	class := func(ask rights.Ask, page rights.Page) *rights.Class {
		made, err := rights.NewBook(ask, time.Now).ClassFor(t.Context(), []rights.Right{getSecrets, patchSecrets}, []string{namespace, other}, page)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	page := func(name string) rights.Page {
		return rights.Page{Place: rights.Place{Namespace: namespace, Name: name}, Rights: []rights.Right{getSecrets, patchSecrets}}
	}
	plain, none, one, two := class(reader, rights.Page{}), class(nobody, rights.Page{}), class(reader, page("one")), class(reader, page("two"))
	if here, known := plain.May(getSecrets, namespace); !here || !known {
		t.Error("the right is not there")
	}
	if there, _ := plain.May(getSecrets, other); there {
		t.Error("the right counts in another namespace")
	}
	if _, known := plain.May(podLogs, namespace); known {
		t.Error("what nobody has asked about is known")
	}
	for name, c := range map[string]*rights.Class{"one": one, "two": two} {
		at := rights.Place{Namespace: namespace, Name: name}
		if may, _ := c.MayOne(patchSecrets, at); may != (name == "one") {
			t.Errorf("the right to patch %s: %v", name, may)
		}
		if general, _ := c.May(patchSecrets, namespace); general {
			t.Error("a right to one object counts for all")
		}
		if may, _ := c.MayOne(getSecrets, at); !may {
			t.Error("a right to all objects does not count for one")
		}
	}
	if one.Key == plain.Key || plain.Key == none.Key || two.Key != plain.Key || plain.Key != class(reader, rights.Page{}).Key {
		t.Error("classes are told apart by something else than rights")
	}
}

// count is an Ask that allows everything in all namespaces, and counts the queries.
type count struct {
	mutex sync.Mutex
	asked []rights.Place
	fail  error
}

func (c *count) ask(_ context.Context, _ rights.Right, at rights.Place) (bool, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.asked = append(c.asked, at)
	return at.Namespace == "all", c.fail
}

func TestAnswersCountForAWhile(t *testing.T) {
	now := time.Unix(0, 0)
	asker := &count{}
	book := rights.NewBook(asker.ask, func() time.Time { return now })
	may := func() bool {
		allowed, err := book.May(t.Context(), getSecrets, "all")
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	first := may()
	if again := may(); !first || !again || !slices.Equal(asker.asked, []rights.Place{{}, {Namespace: "all"}}) {
		t.Errorf("asked %v", asker.asked)
	}
	now = now.Add(rights.Lifetime)
	if may(); len(asker.asked) != 4 {
		t.Errorf("an answer that is too old counts: asked %v", asker.asked)
	}
	asker.fail = errors.New("away")
	if _, err := book.Class(t.Context(), []rights.Right{podLogs}, nil); !errors.Is(err, asker.fail) {
		t.Errorf("the error is %v", err)
	}
	asker.fail = nil
	if _, err := book.May(t.Context(), podLogs, ""); err != nil {
		t.Errorf("an error was remembered: %v", err)
	}
}

func TestCommands(t *testing.T) {
	for want, got := range map[string]string{
		"kubectl auth can-i get secrets -n a":                          getSecrets.Command("a"),
		"kubectl auth can-i get pods --subresource=log -n a":           podLogs.Command("a"),
		"kubectl auth can-i list targets.example.org --all-namespaces": rights.Right{Verb: "list", Group: "example.org", Resource: "targets"}.Command(""),
	} {
		if got != want || strings.Contains(got, "  ") {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

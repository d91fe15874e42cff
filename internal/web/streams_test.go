// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

func TestAStreamBeginsWithASnapshotAndGoesOnWithChanges(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	key := []byte("a key that outlives the process")
	s := serve(t, cluster, Options{Key: key, Namespaces: []string{namespace}})
	v := s.local(t)
	stream := v.follow("overview")
	first := stream.next()
	if first.name != "snapshot" || first.id == "" || !slices.Equal(installationsIn(t, first), []string{namespace + "/shop"}) {
		t.Fatalf("%+v", first)
	}
	clitest.Blog(t, cluster, namespace)
	change := stream.until(func(e event) bool { return slices.Contains(installationsIn(t, e), namespace+"/blog") })
	if change.name != "change" || change.id == first.id || slices.Contains(installationsIn(t, change), namespace+"/shop") {
		t.Errorf("%+v", change)
	}
	if again := v.follow("overview", "Last-Event-ID", first.id).next(); again.name != "change" {
		t.Errorf("who has missed a change gets %+v", again)
	}
	// The session continues with a new process that has the same key, and so does the page.
	s.stop()
	v.at = serve(t, cluster, Options{Key: key, Namespaces: []string{namespace}}).address
	resumed := v.follow("overview", "Last-Event-ID", change.id).next()
	if resumed.name != "snapshot" || len(installationsIn(t, resumed)) != 2 || resumed.id == change.id {
		t.Errorf("%+v", resumed)
	}
}

// Each page has its document, and one that does not exist says so.
func TestPagesAreStreamed(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	clitest.Line(t, cluster, namespace)
	testkit.Create(t, cluster, testkit.Target(namespace, "prod").Build())
	v := serve(t, cluster, Options{}).local(t)
	var shop, none view.Installation
	read(t, v.follow("installations/"+namespace+"/shop"), &shop)
	read(t, v.follow("installations/"+namespace+"/none"), &none)
	if !shop.Exists || len(shop.Rows) < 3 || len(shop.Actions) == 0 || shop.Now.IsZero() || none.Exists {
		t.Errorf("%+v\n%+v", shop, none)
	}
	for _, action := range shop.Actions {
		if action.Denied != "" {
			t.Errorf("%s is denied: %s", action.ID, action.Denied)
		}
	}
	var line view.Pipeline
	read(t, v.follow("pipelines/"+namespace+"/shop"), &line)
	if !line.Exists || len(line.Environments) != 3 {
		t.Errorf("%+v", line)
	}
	var targets view.Targets
	read(t, v.follow("targets"), &targets)
	if !slices.ContainsFunc(targets.Rows, func(r view.TargetRow) bool { return r.Ref.Namespace == namespace && r.Ref.Name == "prod" }) {
		t.Errorf("%+v", targets)
	}
}

// read reads documents until the rights that the view needs are known, which takes at most one more.
func read(t *testing.T, stream *reading, into any) {
	t.Helper()
	e := stream.next()
	if strings.Contains(e.data, "You may not") {
		e = stream.next()
	}
	if err := json.Unmarshal([]byte(e.data), into); err != nil || e.name != "snapshot" {
		t.Fatalf("%+v: %v", e, err)
	}
}

// A page is sent again when a change in its namespace affects it, and deleted objects disappear.
func TestAPageFollows(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	stored := testkit.Installation(namespace, "shop").Build()
	stored.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(t, cluster, stored)
	stream := serve(t, cluster, Options{}).local(t).follow("installations/" + namespace + "/shop")
	stream.until(func(e event) bool { return strings.Contains(e.data, `"word":"Progressing"`) })
	clitest.Controller{Server: cluster}.Write(t, stored, func(s *lsv1alpha1.RunStatus) {
		*s = clitest.Status(lsv1alpha1.PhaseSucceeded)
	})
	stream.until(func(e event) bool { return e.name == "snapshot" && strings.Contains(e.data, `"word":"Succeeded"`) })
	if err := cluster.Client().Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	stream.until(func(e event) bool { return strings.Contains(e.data, `"exists":false`) })
}

func TestReadersSeeWhatTheyMay(t *testing.T) {
	cluster := testkit.Server(t)
	one, two := cluster.Namespace(t), cluster.Namespace(t)
	clitest.Shop(t, cluster, one)
	clitest.Blog(t, cluster, two)
	clitest.Line(t, cluster, two)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	ann := s.login(t, tokenFor(t, cluster, one, looking()))
	bob := s.login(t, tokenFor(t, cluster, two, looking(), rule("patch delete", "installations")))
	eve := s.login(t, tokenFor(t, cluster, two))

	for who, test := range map[*visitor]struct {
		name string
		want []string
	}{ann: {"ann", []string{one + "/shop"}}, bob: {"bob", []string{two + "/blog"}}, eve: {"eve", nil}} {
		first := who.follow("overview").next()
		if got := installationsIn(t, first); !slices.Equal(got, test.want) {
			t.Errorf("%s sees %v", test.name, got)
		}
		if strings.Contains(first.data, `"hidden":[]`) || strings.Contains(first.data, "1.3.0") != (who == bob) {
			t.Errorf("%s: %s", test.name, first.data)
		}
	}
	var bobs view.Installation
	if e := ann.follow("installations/" + two + "/blog").next(); !strings.Contains(e.data, `"exists":false`) {
		t.Errorf("ann sees the page of bob's installation: %s", e.data)
	}
	e := bob.follow("installations/" + two + "/blog").until(func(e event) bool { return !strings.Contains(e.data, "You may not patch") })
	if err := json.Unmarshal([]byte(e.data), &bobs); err != nil || !bobs.Exists {
		t.Errorf("%v %s", err, e.data)
	}
}

// A reader who is granted a right sees more without reloading the page, and one who loses a right sees less.
func TestRightsChangeWhileSomebodyLooks(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	clock := newClock()
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}, Now: clock.now})
	v := s.login(t, tokenFor(t, cluster, namespace))
	if got := installationsIn(t, v.follow("overview").next()); len(got) != 0 {
		t.Fatalf("at first he sees %v", got)
	}
	set, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	roles, err := set.RbacV1().Roles(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(roles.Items) != 1 {
		t.Fatal(err, roles)
	}
	role := &roles.Items[0]
	for _, rules := range [][]rbacv1.PolicyRule{{looking()}, nil} {
		role.Rules = rules
		if role, err = set.RbacV1().Roles(namespace).Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for { // The API server needs a moment to apply the change.
			clock.advance(tokenCheck)
			stream := v.follow("overview")
			got := len(installationsIn(t, stream.next()))
			stream.body.Close()
			if got == len(rules) {
				break
			}
		}
	}
}

// No document contains a value, whatever object holds it.
func TestNoDocumentHasAValue(t *testing.T) {
	const secret = "swordfish"
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	clitest.Line(t, cluster, namespace)
	testkit.Create(t, cluster,
		testkit.DataObject(namespace, "password", secret).Annotate("kubectl.kubernetes.io/last-applied-configuration", secret).Build(),
		testkit.Target(namespace, "prod").Kubeconfig(secret).Build(),
		testkit.DeployItem(namespace, "item").Config("test/none", map[string]string{"apiVersion": "a/v1", "kind": "B", "password": secret}).Build(),
		testkit.Installation(namespace, "uses").ImportData("password", "password").ImportTarget("cluster", "prod").Build(),
	)
	v := serve(t, cluster, Options{}).local(t)
	for _, path := range []string{
		"overview", "targets", "installations/" + namespace + "/shop", "installations/" + namespace + "/uses", "pipelines/" + namespace + "/shop",
	} {
		if e := v.follow(path).next(); e.name != "snapshot" || strings.Contains(e.data, secret) {
			t.Errorf("%s: %+v", path, e)
		}
	}
}

// An API server without our kinds shows nothing, which is no problem; nor is one that serves them later.
func TestKindsThatAreNotServed(t *testing.T) {
	cluster := testkit.NewServer(t)
	v := serve(t, cluster, Options{}).local(t)
	stream := v.follow("overview")
	if first := stream.next(); first.name != "snapshot" || len(installationsIn(t, first)) != 0 {
		t.Fatalf("%+v", first)
	}
}

func TestAnAPIServerThatGoesAndComesBack(t *testing.T) {
	cluster := testkit.NewServer(t, testkit.Persistent(), testkit.ProjectCRDs())
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	v := serve(t, cluster, Options{}).local(t)
	stream := v.follow("overview")
	if first := stream.next(); first.name != "snapshot" {
		t.Fatalf("%+v", first)
	}
	cluster.Kill()
	problem := stream.until(func(e event) bool { return e.name == "problem" })
	var said struct{ Message, Since string }
	if err := json.Unmarshal([]byte(problem.data), &said); err != nil || !strings.Contains(said.Message, "does not answer") ||
		said.Since == "" {
		t.Errorf("%v %+v", err, problem)
	}
	newcomer := v.follow("overview")
	if e := newcomer.next(); e.name != "problem" {
		t.Errorf("who comes now gets %+v", e)
	}
	wish := wish{Action: "reconcile", Ref: view.Ref{Kind: "Installation", Namespace: namespace, Name: "shop"}}
	if answer := v.post("/api/v1/actions", wish); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("an action meanwhile: %s %s", answer.Status, answer.text)
	}
	cluster.Start(t)
	for _, one := range []*reading{stream, newcomer} {
		back := one.until(func(e event) bool { return e.name == "snapshot" })
		if !slices.Equal(installationsIn(t, back), []string{namespace + "/shop"}) {
			t.Errorf("%+v", back)
		}
	}
	clitest.Blog(t, cluster, namespace)
	stream.until(func(e event) bool {
		return e.name != "problem" && slices.Contains(installationsIn(t, e), namespace+"/blog")
	})
}

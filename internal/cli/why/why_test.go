// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/traffic"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// scene stores objects and asks about one of them.
type scene struct {
	server    *testkit.APIServer
	namespace string
}

func (s scene) root(name string) *testkit.InstallationBuilder {
	return testkit.Installation(s.namespace, name)
}

func (s scene) ask(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, s.server, s.namespace, clitest.Call{Command: why.New, Args: args})
}

// hideTimes replaces the times that messages name.
func hideTimes(text string) string {
	at := clitest.Ago(20 * time.Hour)
	for _, shift := range []time.Duration{0, 5 * time.Minute, 10 * time.Minute} {
		text = strings.ReplaceAll(text, at.Add(shift).UTC().Format(time.RFC3339), "<then+"+shift.String()+">")
	}
	return text
}

// TestAnswers compares the whole answer in scenes of all sorts.
func TestAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		build func(*testing.T, scene)
		about string
	}{
		"readiness":          {func(t *testing.T, s scene) { clitest.Shop(t, s.server, s.namespace) }, "shop"},
		"readiness-item":     {func(t *testing.T, s scene) { clitest.Shop(t, s.server, s.namespace) }, "deployitem/shop-web-nginx"},
		"dependency":         {func(t *testing.T, s scene) { clitest.Shop(t, s.server, s.namespace) }, "di/shop-web-smoke-test"},
		"done":               {func(t *testing.T, s scene) { clitest.Shop(t, s.server, s.namespace) }, "shop-database"},
		"failed":             {func(t *testing.T, s scene) { clitest.Blog(t, s.server, s.namespace) }, "blog"},
		"not-started":        {notStarted, "fresh"},
		"requested":          {notStarted, "asked"},
		"outdated":           {notStarted, "outdated"},
		"missing-import":     {missingImport, "shop"},
		"retrying":           {retrying, "shop"},
		"predecessor":        {predecessor, "shop"},
		"predecessor-nested": {predecessor, "shop-web"},
		"predecessor-failed": {predecessorFailed, "web"},
		"cycle":              {cycle, "hen"},
		"no-deployer":        {noDeployer, "shop"},
		"no-target":          {noTarget, "shop"},
		"template":           {badTemplate, "shop"},
		"several":            {several, "shop"},
		"behind":             {behind, "shop"},
		"successors":         {successorsLeft, "database"},
		"deletion-job":       {deletionDuringAJob, "shop"},
		"deletion-target":    {deletionWithoutTarget, "shop"},
		"deletion-failed":    {deletionFailed, "shop"},
		"deletion-item":      {deletionOfAnItem, "shop"},
		"deletion-frozen":    {deletionOfFrozen("shop"), "shop"},
		"deletion-frozen-in": {deletionOfFrozen("shop-web"), "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			s := scene{server, server.Namespace(t)}
			test.build(t, s)
			got := s.ask(t, test.about)
			if got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			testkit.Golden(t, name, hideTimes(got.Stdout))
		})
	}
}

func notStarted(t *testing.T, s scene) {
	t.Helper()
	outdated := s.root("outdated").Build()
	outdated.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseSucceeded,
		func(status *lsv1alpha1.RunStatus) { status.ObservedGeneration = 0 },
	)
	clitest.Store(t, s.server, s.root("fresh").Build(), s.root("asked").Reconcile().Build(), outdated)
}

// missingImport is found while preparing, so only the status knows of it.
func missingImport(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").ImportData("address", "address").Build()
	shop.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseInit,
		clitest.Waits(lsv1alpha1.ReasonWaitingForImports, "waiting for DataObject "+s.namespace+"/address"),
	)
	clitest.Store(t, s.server, shop)
}

func retrying(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Build()
	shop.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseInit,
		clitest.Error("RegistryUnreachable", "read the component: connection refused"),
	)
	clitest.Store(t, s.server, shop)
}

// predecessor is a tree whose second installation waits for the first, whose deploy item waits for a pod.
func predecessor(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Build()
	database := clitest.Nested(shop, "database").ExportData("address", "address").Build()
	web := clitest.Nested(shop, "web").ImportData("address", "address").Build()
	shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	shop.Status.SubInstCache = &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{
		{SpecName: "web", ObjectName: web.Name}, {SpecName: "database", ObjectName: database.Name},
	}}
	web.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit)
	database.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	execution := clitest.ExecutionOf(database, "postgres")
	execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	item := clitest.ItemOf(execution, "postgres")
	item.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseProgressing,
		clitest.Waits(lsv1alpha1.ReasonWaitingForReadiness, "waiting for StatefulSet db/postgres in target cluster: 0 of 1 pods are ready"),
	)
	clitest.Store(t, s.server, shop, database, web, execution, item)
	testkit.Create(t, s.server, testkit.Target(s.namespace, "cluster").Build())
}

func predecessorFailed(t *testing.T, s scene) {
	t.Helper()
	database := s.root("database").ExportData("address", "address").Build()
	database.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseFailed,
		clitest.Error("TemplateError", "deployExecutions[0]: line 3: there is no import \"size\""),
	)
	web := s.root("web").ImportData("address", "address").Build()
	web.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseFailed,
		clitest.Error("PredecessorFailed", "installation database, from which this one imports, is in phase Failed"),
	)
	clitest.Store(t, s.server, database, web)
}

// badTemplate has failed with a message of several lines, in which a caret points to a place.
func badTemplate(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Build()
	shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error(
		"TemplateError",
		"deploy execution \"items\", line 3: there is no import \"size\"\ntemplate:\n     2 | deployItems:\n>    3 | - name: {{ .size }}\x1b[2J\n       |            ^",
	))
	clitest.Store(t, s.server, shop)
}

func cycle(t *testing.T, s scene) {
	t.Helper()
	hen := s.root("hen").ImportData("egg", "egg").ExportData("hen", "hen").Build()
	egg := s.root("egg").ImportData("hen", "hen").ExportData("egg", "egg").Build()
	hen.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit)
	egg.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit)
	clitest.Store(t, s.server, hen, egg)
}

// oneItem is an installation with one deploy item.
func oneItem(t *testing.T, s scene, change func(*lsv1alpha1.DeployItem)) {
	t.Helper()
	shop := s.root("shop").Build()
	shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	execution := clitest.ExecutionOf(shop, "web")
	execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	item := clitest.ItemOf(execution, "web")
	item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	change(item)
	clitest.Store(t, s.server, shop, execution, item)
}

func noDeployer(t *testing.T, s scene) {
	t.Helper()
	oneItem(t, s, func(item *lsv1alpha1.DeployItem) {
		at := metav1.NewTime(clitest.Ago(20 * time.Hour))
		item.Status.RunStatus = lsv1alpha1.RunStatus{JobID: clitest.Job}
		item.Status.JobIDGenerationTime = &at
	})
}

var unlimited = lsv1alpha1.Duration("none")

// noTarget has a status in which nobody has written down yet what is missing.
func noTarget(t *testing.T, s scene) {
	t.Helper()
	oneItem(t, s, func(item *lsv1alpha1.DeployItem) {
		at := metav1.NewTime(clitest.Ago(20 * time.Hour))
		item.Status.LastReconcileTime = &at
		item.Spec.Timeout = &unlimited
	})
}

func several(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Build()
	shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	execution := clitest.ExecutionOf(shop, "a", "b", "c", "d", "e", "f", "g", "h")
	execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(t, s.server, shop, execution)
	for _, name := range strings.Fields("a b c d e f g h") {
		item := clitest.ItemOf(execution, name)
		item.Status.RunStatus = clitest.Status(
			lsv1alpha1.PhaseProgressing,
			clitest.Waits(lsv1alpha1.ReasonWaitingForReadiness, "waiting for Deployment "+name),
		)
		if name == "f" {
			item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("ProgressingTimeout", "it took too long"))
		}
		clitest.Store(t, s.server, item)
	}
	testkit.Create(t, s.server, testkit.Target(s.namespace, "cluster").Build())
}

// behind has a status that speaks of a wait which is over.
func behind(t *testing.T, s scene) {
	t.Helper()
	shop := s.root("shop").Build()
	web := clitest.Nested(shop, "web").Build()
	shop.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseProgressing,
		clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for one nested installation"),
	)
	web.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	clitest.Store(t, s.server, shop, web)
}

func successorsLeft(t *testing.T, s scene) {
	t.Helper()
	database := s.root("database").ExportData("address", "address").Finalizer(lsv1alpha1.Finalizer).Build()
	database.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInitDelete)
	web := s.root("web").ImportData("address", "address").Build()
	web.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	clitest.Store(t, s.server, database, web)
	if err := s.server.Client().Delete(t.Context(), &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "database"}}); err != nil {
		t.Fatal(err)
	}
}

// doomed stores a tree of one deploy item in a phase, and asks for its deletion.
func doomed(t *testing.T, s scene, phase lsv1alpha1.Phase, told func(*lsv1alpha1.RunStatus)) {
	t.Helper()
	shop := s.root("shop").Finalizer(lsv1alpha1.Finalizer).Build()
	execution := clitest.ExecutionOf(shop, "web")
	item := clitest.ItemOf(execution, "web")
	item.Spec.Timeout = &unlimited
	shop.Status.RunStatus, execution.Status.RunStatus, item.Status.RunStatus = clitest.Status(
		phase,
		told,
	), clitest.Status(
		phase,
		told,
	), clitest.Status(
		phase,
		told,
	)
	item.Status.ObservedGeneration = 1
	objects := []client.Object{shop, execution, item}
	for _, object := range objects {
		object.SetFinalizers([]string{lsv1alpha1.Finalizer})
	}
	clitest.Store(t, s.server, objects...)
	if !phase.IsDeletion() {
		objects = objects[:1] // those below are told when the job has ended
	}
	for _, object := range objects {
		if err := s.server.Client().Delete(t.Context(), object.DeepCopyObject().(client.Object)); err != nil {
			t.Fatal(err)
		}
	}
}

func deletionDuringAJob(t *testing.T, s scene) {
	t.Helper()
	testkit.Create(t, s.server, testkit.Target(s.namespace, "cluster").Build())
	doomed(
		t,
		s,
		lsv1alpha1.PhaseProgressing,
		clitest.Waits(lsv1alpha1.ReasonWaitingForReadiness, "waiting for Deployment web/nginx in target cluster: 0 of 2 pods are available"),
	)
}

func deletionWithoutTarget(t *testing.T, s scene) {
	t.Helper()
	doomed(t, s, lsv1alpha1.PhaseDeleting, clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting"))
}

func deletionFailed(t *testing.T, s scene) {
	t.Helper()
	doomed(t, s, lsv1alpha1.PhaseDeleteFailed, clitest.Error("TargetUnreachable", "connect to Target cluster: connection refused"))
}

// deletionOfAnItem is a tree in which a user has deleted a deploy item, and nothing else.
func deletionOfAnItem(t *testing.T, s scene) {
	t.Helper()
	testkit.Create(t, s.server, testkit.Target(s.namespace, "cluster").Build())
	shop := s.root("shop").Finalizer(lsv1alpha1.Finalizer).Build()
	execution := clitest.ExecutionOf(shop, "web")
	item := clitest.ItemOf(execution, "web")
	shop.Status.RunStatus, execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded), clitest.Status(lsv1alpha1.PhaseSucceeded)
	item.Status.RunStatus, item.Finalizers = clitest.Status(lsv1alpha1.PhaseSucceeded), []string{lsv1alpha1.Finalizer}
	clitest.Store(t, s.server, shop, execution, item)
	if err := s.server.Client().Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
}

// deletionOfFrozen is a tree of the continuous flow whose deletion was requested, in which an installation is frozen.
func deletionOfFrozen(frozen string) func(*testing.T, scene) {
	return func(t *testing.T, s scene) {
		t.Helper()
		shop := s.root("shop").Continuous().Finalizer(lsv1alpha1.Finalizer).Build()
		web := clitest.Nested(shop, "web").Continuous().Finalizer(lsv1alpha1.Finalizer).Build()
		shop.Status.RunStatus, web.Status.RunStatus = flowing(lsv1alpha1.PhaseSucceeded), flowing(lsv1alpha1.PhaseSucceeded)
		shop.Status.ConfigGeneration, web.Status.ConfigGeneration = "1", "1"
		shop.Status.SubInstCache = &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{{SpecName: "web", ObjectName: web.Name}}}
		deleted := []client.Object{shop}
		for _, installation := range []*lsv1alpha1.Installation{shop, web} {
			if installation.Name == frozen {
				installation.Annotations = map[string]string{lsv1alpha1.IgnoreAnnotation: "true"}
			}
		}
		if frozen == web.Name {
			shop.Status.Phase, deleted = lsv1alpha1.PhaseDeleting, append(deleted, web)
		}
		clitest.Store(t, s.server, shop, web)
		for _, object := range deleted {
			if err := s.server.Client().Delete(t.Context(), object.DeepCopyObject().(client.Object)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// In a namespace that is being deleted, neither jobs nor what is deployed matter. A user who may not read namespaces is told the rest.
func TestInANamespaceThatIsBeingDeleted(t *testing.T) {
	server := testkit.Server(t)
	s := scene{server, server.Namespace(t)}
	clitest.Shop(t, server, s.namespace)
	// Nothing finishes the deletion of a namespace on this server.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if err := server.Client().Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", "deployitem/shop-web-nginx"} {
		got := s.ask(t, name)
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, "the namespace is being deleted") || !strings.Contains(got.Stdout, "kubectl describe namespace") ||
			strings.Contains(got.Stdout, "uninstall") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	front := clitest.Front(t, server, func(r *http.Request) *http.Response {
		if strings.TrimSuffix(r.URL.Path, "/"+s.namespace) != "/api/v1/namespaces" {
			return nil
		}
		return traffic.Refusal(r, http.StatusForbidden, metav1.StatusReasonForbidden)
	})
	if got := s.ask(t, "shop", "--kubeconfig="+front); got.Code != cli.ExitOK || strings.Contains(got.Stdout, "namespace is being") ||
		!strings.Contains(got.Stdout, "WaitingForReadiness") {
		t.Errorf("without the right to read namespaces: %+v", got)
	}
}

func TestJSON(t *testing.T) {
	server := testkit.Server(t)
	s := scene{server, server.Namespace(t)}
	clitest.Shop(t, server, s.namespace)
	got := s.ask(t, "shop", "-o", "json")
	type link struct{ Kind, Name, Reason string }
	type cause struct {
		Somebody bool
		Chain    []link
		Next     []string
	}
	type answer struct {
		Subject struct{ Name string }
		Causes  []cause
	}
	var printed answer
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil || got.Code != cli.ExitOK {
		t.Fatalf("%v in %s", err, got.Stdout)
	}
	want := answer{Causes: []cause{{
		Chain: []link{
			{Kind: "Installation", Name: "shop", Reason: lsv1alpha1.ReasonWaitingForSubObjects},
			{Kind: "Installation", Name: "shop-web", Reason: lsv1alpha1.ReasonWaitingForSubObjects},
			{Kind: "Execution", Name: "shop-web", Reason: lsv1alpha1.ReasonWaitingForSubObjects},
			{Kind: "DeployItem", Name: "shop-web-nginx", Reason: lsv1alpha1.ReasonWaitingForReadiness},
		},
		Next: []string{
			"kubectl describe deployitem shop-web-nginx -n <namespace> --kubeconfig=<kubeconfig>",
			"espalier tree shop --live -n <namespace> --kubeconfig=<kubeconfig>",
			"espalier wait shop -n <namespace> --kubeconfig=<kubeconfig>",
		},
	}}}
	want.Subject.Name = "shop"
	if diff := cmp.Diff(want, printed); diff != "" {
		t.Errorf("what is printed (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	server := testkit.Server(t)
	s := scene{server, server.Namespace(t)}
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"absent":        {[]string{"nope"}, cli.ExitNotFound, "installation nope does not exist"},
		"an absent one": {[]string{"deployitem/nope"}, cli.ExitNotFound, "deployitem nope does not exist"},
		"another kind":  {[]string{"pod/nope"}, cli.ExitError, `"pod/nope" is not valid`},
		"a pipeline":    {[]string{"pipelines/nope"}, cli.ExitError, "espalier pipeline why nope -n <namespace>"},
		"no name":       {nil, cli.ExitError, "name installations, or choose them by their labels with --selector"},
		"forbidden":     {[]string{"nope", "--as=nobody"}, cli.ExitNotFound, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.ask(t, test.args...)
			if got.Code != test.code || got.Stdout != "" || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Targets hold credentials. Only their names may be asked for.
func TestCredentialsOfTargetsAreNotRead(t *testing.T) {
	server := testkit.Server(t)
	s := scene{server, server.Namespace(t)}
	oneItem(t, s, func(*lsv1alpha1.DeployItem) {})
	target := testkit.Target(s.namespace, "cluster").Kubeconfig("swordfish").Build()
	if err := server.Client().Create(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	if got := s.ask(t, "shop", "-o", "json"); got.Code != cli.ExitOK || strings.Contains(got.Stdout+got.Stderr, "swordfish") {
		t.Errorf("%+v", got)
	}
	if err := server.Client().Delete(t.Context(), target, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
}

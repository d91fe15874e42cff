// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

func TestAnInstallationThatIsNotThere(t *testing.T) {
	page := view.NewInstallation(view.Scene{Now: now}, "a", "shop")
	noNulls(t, page)
	expect(t, "verdict", page.Verdict, "There is no installation shop in namespace a that you may see.")
	expect(t, "exists", page.Exists, false)
}

func TestThePageOfATree(t *testing.T) {
	page := view.NewInstallation(sceneOf(shop("a")...), "a", "shop")
	noNulls(t, page)
	expect(t, "verdict", page.Verdict, "shop cannot finish: payments failed.")
	expect(t, "job", page.Job.ID, clitest.Job)
	expect(t, "start", page.Job.Start.Equal(now.Add(-20*time.Minute)), true)
	var outline []string
	for _, row := range page.Rows {
		outline = append(outline, strings.Repeat(".", row.Depth)+row.Title)
	}
	expect(t, "rows", strings.Join(outline, " "), "shop .mail .network .orders .payments ..shop-payments ...schema ...api .storefront")
	expect(t, "waits for", rowOf(t, page, "Installation", "shop").WaitsFor, "1 of 2 deploy items done, 1 failed")
	expect(t, "waits for", rowOf(t, page, "Installation", "shop-orders").WaitsFor, "waits for payments")
	expect(t, "waited for", rowOf(t, page, "Installation", "shop-payments").WaitedFor, []string{"Installation/a/shop-network"})
	expect(t, "waited for", rowOf(t, page, "DeployItem", "shop-payments-api").WaitedFor, []string{"DeployItem/a/shop-payments-schema"})
	expect(t, "target", rowOf(t, page, "DeployItem", "shop-payments-api").Target, "cluster")
}

func TestTheAnswerToWhy(t *testing.T) {
	w := view.NewInstallation(sceneOf(shop("a")...), "a", "shop").Why
	expect(t, "answer", w.Answer,
		"Installation/shop is not done because of DeployItem/shop-payments-api (ProgressingTimeout): no match for platform <script> …")
	expect(t, "quote", w.Quote, "no match for platform <script>\nsecond line")
	expect(t, "speaker", w.QuotedBy, "deployer helm")
	expect(t, "reference", w.Reference, "docs/reference/errors.md#progressingtimeout")
	var chain []string
	for _, link := range w.Chain {
		chain = append(chain, link.Ref.Kind+"/"+link.Ref.Name)
	}
	expect(t, "chain", strings.Join(chain, " "),
		"Installation/shop Installation/shop-payments Execution/shop-payments DeployItem/shop-payments-api")
	expect(t, "holds up", w.HoldsUp, []view.Ref{
		{Kind: "Installation", Namespace: "a", Name: "shop-orders"}, {Kind: "Installation", Namespace: "a", Name: "shop-storefront"},
	})
	expect(t, "others", len(w.Others), 1)
	expect(t, "next", w.Next, "fix the problem above, then start a new job")
	expect(t, "commands", strings.Join(w.Commands, "; "),
		"espalier why shop -n a; kubectl describe deployitem shop-payments-api -n a; espalier reconcile shop --wait -n a")
}

// Each object that has an error leads to what explains it, and no other.
func TestErrorsLeadToTheDocumentation(t *testing.T) {
	page := view.NewInstallation(sceneOf(shop("a")...), "a", "shop")
	for name, want := range map[string]string{
		"DeployItem shop-payments-api": "progressingtimeout", "Execution shop-payments": "deployitemsfailed",
		"Installation shop-payments": "subobjectfailed", "Installation shop-mail": "importnotfound",
		"Installation shop": "", "Installation shop-network": "", "DeployItem shop-payments-schema": "",
	} {
		kind, object, _ := strings.Cut(name, " ")
		if want != "" {
			want = "docs/reference/errors.md#" + want
		}
		expect(t, name, rowOf(t, page, kind, object).Status.Reference, want)
	}
}

func TestSpans(t *testing.T) {
	page := view.NewInstallation(sceneOf(shop("a")...), "a", "shop")
	told := func(row view.Row) string {
		var parts []string
		for _, span := range row.Spans {
			end := "now"
			if span.End != nil {
				end = now.Sub(*span.End).String()
			}
			parts = append(parts, span.What+" "+string(span.Tone)+" "+now.Sub(span.Start).String()+"-"+end)
		}
		return strings.Join(parts, ", ")
	}
	for name, want := range map[string]string{
		"shop":            "waits not-yet 20m0s-19m0s, init done 19m0s-18m0s, works works 18m0s-now",
		"shop-network":    "init done 18m0s-17m0s, works done 17m0s-15m0s",
		"shop-payments":   "waits not-yet 18m0s-15m0s, init done 15m0s-14m0s, works failed 14m0s-4m0s",
		"shop-orders":     "waits not-yet 20m0s-now",
		"shop-mail":       "waits waits 18m0s-now",
		"shop-storefront": "waits not-yet 20m0s-now",
	} {
		expect(t, name, told(rowOf(t, page, "Installation", name)), want)
	}
	expect(t, "api", told(rowOf(t, page, "DeployItem", "shop-payments-api")), "waits not-yet 14m0s-13m0s, works failed 13m0s-4m0s")
}

func TestValues(t *testing.T) {
	page := view.NewInstallation(sceneOf(shop("a")...), "a", "shop")
	root := rowOf(t, page, "Installation", "shop").Imports[0]
	expect(t, "secret", *root.Source, view.Ref{Kind: "Secret", Namespace: "a", Name: "db"})
	expect(t, "key", root.Key, "key")
	expect(t, "masked", root.Secret, true)
	handed := rowOf(t, page, "Installation", "shop-network").Imports[0]
	expect(t, "a secret that is passed on", handed.Secret, true)
	expect(t, "its giver", handed.Giver.Name, "shop")
	expect(t, "its state", handed.State, "there")
	subnet := rowOf(t, page, "Installation", "shop-payments").Imports[0]
	expect(t, "giver", subnet.Giver.Name, "shop-network")
	expect(t, "state", subnet.State, "there")
	expect(t, "an export that is not there", rowOf(t, page, "Installation", "shop-payments").Exports[0].State, "not-written")
	expect(t, "an import that is to come", rowOf(t, page, "Installation", "shop-orders").Imports[0].State, "not-written")
	expect(t, "an import without a source", rowOf(t, page, "Installation", "shop-mail").Imports[0].State, "missing")
	target := rowOf(t, page, "DeployItem", "shop-payments-api").Imports[0]
	expect(t, "target", target.Kind+" "+target.Source.Name, "target cluster")
}

// Values are shown with what an inline blueprint declares about them: types, and defaults of imports that are not provided.
func TestTypesAndDefaults(t *testing.T) {
	const blueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: replicas, type: data, schema: {type: integer}}
- {name: at, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: size, type: data, required: false, schema: {type: string}, default: {value: small}}
- {name: mapped, type: data, required: false, schema: {type: string}, default: {value: small}}
- {name: optional, type: data, required: false, schema: {type: string}}
- name: extra
  type: data
  required: false
  schema: {type: object}
  imports:
  - {name: below, type: data, required: false, schema: {type: array, items: {type: integer}}, default: {value: [1, 2]}}
- name: other
  type: data
  required: false
  schema: {type: object}
  imports:
  - {name: idle, type: data, required: false, schema: {type: integer}, default: {value: 1}}
exports:
- {name: url, type: data, schema: {type: string}}
- {name: host, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
`
	giver := testkit.Installation("a", "giver").Blueprint(blueprint).ImportData("replicas", "count").ImportData("extra", "more").
		ImportTarget("at", "cluster").ExportData("url", "shopUrl").ExportTarget("host", "shopHost").ExportData("unknown", "nowhere").Build()
	giver.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"mapped": {Raw: []byte(`"large"`)}}
	objects := []client.Object{giver, testkit.Installation("a", "onlooker").ImportTarget("at", "shopHost").Build()}
	for i := range 7 {
		objects = append(objects, testkit.Installation("a", fmt.Sprintf("taker-%d", i)).ImportData("address", "shopUrl").Build())
	}
	row := rowOf(t, view.NewInstallation(sceneOf(objects...), "a", "giver"), "Installation", "giver")
	var imports, exports []string
	for _, value := range row.Imports {
		imports = append(imports, strings.Join([]string{value.Name, value.Type, value.State, value.Default}, " "))
	}
	for _, value := range row.Exports {
		var takers []string
		for _, taker := range value.Takers {
			takers = append(takers, taker.Name)
		}
		exports = append(exports, fmt.Sprintf("%s %s into %s for %v and %d", value.Name, value.Type, value.Reference, takers, value.OtherTakers))
	}
	expect(t, "imports", strings.Join(imports, "; "),
		"replicas integer missing ; extra object missing ; at kubernetes-cluster missing ; "+
			`size string default "small"; below list of integer default [1,2]`)
	expect(t, "exports", strings.Join(exports, "; "),
		"url string into shopUrl for [taker-0 taker-1 taker-2 taker-3 taker-4] and 2; unknown  into nowhere for [] and 0; "+
			"host kubernetes-cluster into shopHost for [onlooker] and 0")
}

// A blueprint that is unreadable or external does not prevent the page.
func TestBlueprintsThatCannotBeRead(t *testing.T) {
	broken := testkit.Installation("a", "broken").Blueprint("imports: [").ImportData("size", "size").Build()
	odd := testkit.Installation("a", "odd").Build()
	odd.Spec.Blueprint = lsv1alpha1.BlueprintDefinition{Inline: &lsv1alpha1.InlineBlueprint{Filesystem: lsv1alpha1.AnyJSON{Raw: []byte("[]")}}}
	far := testkit.Installation("a", "far").BlueprintRef("blueprint").Component("example.com/far", "1.0.0").ImportData("size", "size").Build()
	for _, name := range []string{"broken", "odd", "far"} {
		for _, value := range rowOf(t, view.NewInstallation(sceneOf(broken, odd, far), "a", name), "Installation", name).Imports {
			expect(t, name, value.Name+value.Type, "size")
		}
	}
}

// The user in the URL of a blueprint may be a token.
func TestTheBlueprintIsShownWithoutTokens(t *testing.T) {
	for _, user := range []string{"t0ken@", "me:t0ken@", ""} {
		inst := testkit.Installation("a", "far").Build()
		inst.Spec.Blueprint = lsv1alpha1.BlueprintDefinition{Git: &lsv1alpha1.GitBlueprint{URL: "https://" + user + "git.example.com/b.git"}}
		expect(t, "blueprint", view.NewInstallation(sceneOf(inst), "a", "far").Blueprint, "https://git.example.com/b.git")
	}
}

func TestTheGraph(t *testing.T) {
	page := view.NewInstallation(sceneOf(shop("a")...), "a", "shop")
	states := map[string]string{}
	for _, edge := range page.Graph.Edges {
		states[edge.From+" "+edge.To] = edge.Label + ":" + edge.State
		if edge.Path == "" {
			t.Errorf("an edge without a path: %+v", edge)
		}
	}
	ghost := ""
	for _, node := range page.Graph.Nodes {
		if node.Ghost {
			ghost = node.ID
			expect(t, "ghost", node.Title+", "+node.Detail, "smtp, DataObject, not found")
		} else {
			rowOf(t, page, "Installation", strings.TrimPrefix(node.ID, "Installation/a/"))
		}
		if node.ID == "Installation/a/shop-network" {
			expect(t, "detail", node.Detail, "3 min")
		}
	}
	for edge, want := range map[string]string{
		"Installation/a/shop-network Installation/a/shop-payments":  "subnet:there",
		"Installation/a/shop-payments Installation/a/shop-orders":   "apiUrl:cut",
		"Installation/a/shop-orders Installation/a/shop-storefront": "queue:cut",
		ghost + " Installation/a/shop-mail":                         "smtp:missing",
	} {
		expect(t, edge, states[edge], want)
	}
	expect(t, "edges", len(page.Graph.Edges), 4)
	nested := view.NewInstallation(sceneOf(shop("a")...), "a", "shop-payments")
	expect(t, "items", len(nested.Graph.Nodes), 2)
	expect(t, "dependency", nested.Graph.Edges[0].From+" "+nested.Graph.Edges[0].State, "DeployItem/a/shop-payments-schema there")
	expect(t, "parent", nested.Parent.Name, "shop")
}

func TestARootThatLacksAnImportIsDrawn(t *testing.T) {
	root := testkit.Installation("a", "mail").ImportSecret("smtp", "credentials", "").Build()
	root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseInit,
		clitest.Error("ImportNotFound", `import "smtp": Secret a/credentials does not exist: create it`))
	page := view.NewInstallation(sceneOf(root), "a", "mail")
	expect(t, "nodes", len(page.Graph.Nodes), 2)
	expect(t, "edge", page.Graph.Edges[0].State, "missing")
	expect(t, "verdict", page.Verdict, "mail waits for import smtp.")
}

func TestActions(t *testing.T) {
	find := func(page view.Installation, id string) view.Action {
		for _, a := range page.Actions {
			if a.ID == id {
				return a
			}
		}
		t.Fatalf("no action %s", id)
		return view.Action{}
	}
	s := sceneOf(shop("a")...)
	page := view.NewInstallation(s, "a", "shop")
	expect(t, "interrupt", find(page, "interrupt").Unavailable, "")
	expect(t, "command", find(page, "reconcile").Command, "espalier reconcile shop -n a")
	nested := view.NewInstallation(s, "a", "shop-mail")
	if u := find(nested, "delete").Unavailable; !strings.Contains(u, "Use its root, shop.") {
		t.Errorf("a nested one: %q", u)
	}
	s.Rights = without("patch installations")
	denied := view.NewInstallation(s, "a", "shop")
	if d := find(denied, "reconcile").Denied; !strings.Contains(d, "You may not patch installations.landscaper.gardener.cloud in namespace a.") {
		t.Errorf("denied: %q", d)
	}
	expect(t, "delete", find(denied, "delete").Denied, "")
	flowing := testkit.Installation("a", "flow").Continuous().Build()
	flowing.Status.RunStatus = lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseSucceeded}
	continuous := view.NewInstallation(sceneOf(flowing), "a", "flow")
	expect(t, "abort", find(continuous, "abort").Unavailable, "Nothing is in progress.")
	expect(t, "force", find(continuous, "force").Command,
		"kubectl annotate --overwrite installation flow -n a landscaper.gardener.cloud/operation=force-reconcile")
	expect(t, "flow", continuous.Flow, "Continuous")
	expect(t, "verdict", continuous.Verdict, "flow is done.")
	flowing.DeletionTimestamp, flowing.Finalizers = &metav1.Time{Time: now}, []string{lsv1alpha1.Finalizer}
	flowing.Status.Phase = lsv1alpha1.PhaseFailed
	undeleted := view.NewInstallation(sceneOf(flowing), "a", "flow")
	for _, action := range []string{"reconcile", "force", "delete"} {
		expect(t, action+" after a failed deletion", find(undeleted, action).Unavailable, "")
	}
	expect(t, "verdict", undeleted.Verdict, "flow could not be deleted.")
	expect(t, "tone", view.NewOverview(sceneOf(flowing)).Installations[0].Status.Tone, view.GoingFailed)
}

func TestEventsAreFolded(t *testing.T) {
	s := sceneOf(shop("a")...)
	event := func(name, reason, kind string, at time.Duration, count int32) *eventsv1.Event {
		e := &eventsv1.Event{
			Reason: reason, Note: "<b>hostile</b>", Type: kind, ReportingController: "helm", EventTime: metav1.NewMicroTime(now.Add(-at)),
			Regarding: corev1.ObjectReference{Kind: "DeployItem", Namespace: "a", Name: name},
		}
		if count > 1 {
			e.Series = &eventsv1.EventSeries{Count: count, LastObservedTime: metav1.NewMicroTime(now.Add(-at))}
		}
		return e
	}
	s.Events = []*eventsv1.Event{
		event("shop-payments-api", "TakenOver", "Warning", time.Hour, 3), event("shop-payments-api", "TakenOver", "Warning", time.Minute, 1),
		event("shop-payments-api", "Succeeded", "Normal", time.Second, 1), event("of-somebody-else", "TakenOver", "Warning", 0, 1),
	}
	events := view.NewInstallation(s, "a", "shop").Events
	if len(events) != 2 {
		t.Fatalf("events: %+v", events)
	}
	expect(t, "newest", events[0].Reason+" "+string(events[0].Tone), "Succeeded done")
	expect(t, "folded", events[1].Count, 4)
	expect(t, "time", now.Sub(events[1].Time), time.Minute)
	expect(t, "message", events[1].Message, "<b>hostile</b>")
}

func TestDeployedObjects(t *testing.T) {
	root := testkit.Installation("a", "blog").Build()
	execution := clitest.ExecutionOf(root, "site")
	site := clitest.ItemOf(execution, "site")
	site.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(
		`{"managedResources":[{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"web","name":"site"}}]}`,
	)}
	site.Status.ExportReference = &lsv1alpha1.ObjectReference{Namespace: "a", Name: "exported"}
	page := view.NewInstallation(sceneOf(root, execution, site), "a", "blog")
	row := rowOf(t, page, "DeployItem", "blog-site")
	expect(t, "objects", row.Objects, []view.Deployed{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "site"}})
	expect(t, "export", row.Exports[0].Source.Name+" "+row.Exports[0].Key, "exported config")
	expect(t, "verdict", page.Verdict, "No job requested for blog yet.")
}

// TestTheSameAnswerAsTheCommandLine compares the page with what `espalier why` prints about the same objects in an API server.
func TestTheSameAnswerAsTheCommandLine(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	objects, err := objecttree.Read(context.Background(), server.Client(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	s := view.Scene{Objects: objects, Now: clitest.Now(), Targets: []*lsv1alpha1.Target{testkit.Target(namespace, "cluster").Build()}}
	for _, name := range []string{"shop", "shop-web", "blog"} {
		page := view.NewInstallation(s, namespace, name)
		printed := clitest.Run(t, server, namespace, clitest.Call{Command: why.New, Args: []string{name}})
		clean := strings.ReplaceAll(page.Why.Answer, "\x1b", "")
		if !strings.HasPrefix(strings.ReplaceAll(printed.Stdout, "\x1b", ""), clean) {
			t.Errorf("the page of %s says %q, the command says:\n%s", name, page.Why.Answer, printed.Stdout)
		}
		for _, command := range page.Why.Commands[1:] {
			if own := strings.TrimSuffix(command, " -n "+namespace); !strings.Contains(printed.Stdout, own) {
				t.Errorf("the page of %s suggests %q, the command says:\n%s", name, command, printed.Stdout)
			}
		}
	}
}

func TestPastJobsAreShown(t *testing.T) {
	root := testkit.Installation("a", "shop").Build()
	end := metav1.NewTime(now.Add(-time.Hour))
	begin := metav1.NewTime(end.Add(-time.Minute))
	root.Status.LastRuns = []lsv1alpha1.EndedRun{
		{ID: "job-2", Phase: lsv1alpha1.PhaseFailed, StartTime: &begin, EndTime: end, Message: "the registry is away"},
		{ID: "job-1", Phase: lsv1alpha1.PhaseSucceeded, EndTime: end},
	}
	past := view.NewInstallation(sceneOf(root), "a", "shop").Past
	expect(t, "number", len(past), 2)
	expect(t, "first", past[0].ID+" "+past[0].Status.Word+" "+string(past[0].Status.Tone)+" "+past[0].Status.Message,
		"job-2 Failed failed the registry is away")
	expect(t, "duration", past[0].End.Sub(*past[0].Start), time.Minute)
	expect(t, "without a beginning", past[1].Start == nil, true)
}

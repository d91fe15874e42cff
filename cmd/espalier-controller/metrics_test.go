// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// mockItem returns a blueprint with one deploy item, with an addition to its configuration.
func mockItem(configuration string) string {
	return `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration` + configuration + `}
`
}

const waiting = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- name: missing
  type: data
  schema: {type: string}
`

// awaitMetrics polls, as a Prometheus does, until all lines appear.
func (p *process) awaitMetrics(t *testing.T, lines ...string) (body string) {
	t.Helper()
	var missing []string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		var err error
		if _, body, err = fetch("http://" + p.metrics + "/metrics"); err != nil {
			return false, nil
		}
		missing = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(body, "\n"+line+"\n") })
		return len(missing) == 0, nil
	})
	if err != nil {
		ours := regexp.MustCompile(`(?m)^espalier_.*$`).FindAllString(body, -1)
		t.Fatalf("the metrics lack\n%s\nthey are\n%s", strings.Join(missing, "\n"), strings.Join(ours, "\n"))
	}
	return body
}

// manifestItem creates a deploy item for a Target and starts a job.
func manifestItem(t *testing.T, server *testkit.APIServer, namespace, target string) *landscaper.DeployItem {
	t.Helper()
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "medlar"},
	}
	item := testkit.DeployItem(namespace, "medlar-on-"+target).Manifests(object).Target(target).Build()
	testkit.Create(t, server, item)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"jobID":"by-hand"}}`))
	if err := server.Client().Status().Patch(t.Context(), item, patch); err != nil {
		t.Fatal(err)
	}
	return item
}

// Metrics aggregate what the status of objects shows; alerts and the dashboard use only existing metrics.
func TestMetricsTellOfJobs(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	p := launch(t, "--namespaces", namespace, "--leader-elect-namespace", namespace, "--system-namespace", namespace)
	testkit.Eventually(t, server, defaultContext(namespace), exists)
	kubeconfig, err := os.ReadFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	nowhere := regexp.MustCompile(`server: .*`).ReplaceAllString(string(kubeconfig), "server: https://"+testkit.FreeAddress(t))
	good := testkit.Installation(namespace, "medlar-good").Blueprint(mockItem("")).Reconcile().Build()
	bad := testkit.Installation(namespace, "medlar-bad").Blueprint(mockItem(", phase: Failed")).Reconcile().Build()
	testkit.Create(t, server, testkit.Target(namespace, "near").Kubeconfig(string(kubeconfig)).Build(),
		testkit.Target(namespace, "nowhere").Kubeconfig(nowhere).Build(), good, bad,
		testkit.Installation(namespace, "medlar-waiting").ImportData("missing", "medlar-missing").Blueprint(waiting).Reconcile().Build(),
		testkit.Pipeline(namespace, "medlar-line").Environment("dev", namespace).Environment("prod", namespace).Notification().Build())
	near := manifestItem(t, server, namespace, "near")
	manifestItem(t, server, namespace, "nowhere")
	testkit.EventuallyFinished(t, server, good, landscaper.PhaseSucceeded)
	testkit.EventuallyFinished(t, server, bad, landscaper.PhaseFailed)
	testkit.EventuallyFinished(t, server, near, landscaper.PhaseSucceeded)

	body := p.awaitMetrics(t,
		`espalier_job_duration_seconds_count{result="Succeeded"} 1`,
		`espalier_job_duration_seconds_count{result="Failed"} 1`,
		`espalier_job_phase_seconds_count{kind="Installation",phase="working"} 2`,
		`espalier_deployitem_duration_seconds_count{deployer="deployer-mock",result="Succeeded"} 1`,
		`espalier_deployitem_duration_seconds_count{deployer="deployer-mock",result="Failed"} 1`,
		`espalier_deployitem_duration_seconds_count{deployer="deployer-manifest",result="Succeeded"} 1`,
		`espalier_deployitem_duration_seconds_count{deployer="deployitems",result="Failed"} 0`,
		`espalier_objects{kind="Installation",phase="Succeeded"} 1`,
		`espalier_objects{kind="Installation",phase="Failed"} 1`,
		`espalier_waiting_objects{kind="Installation",reason="ImportNotFound"} 1`,
		fmt.Sprintf(`espalier_target_up{target="near",target_namespace=%q} 1`, namespace),
		fmt.Sprintf(`espalier_target_up{target="nowhere",target_namespace=%q} 0`, namespace),
		`espalier_pipelines{ready="False"} 1`,
		`espalier_pipeline_pull_requests_open 0`,
	)
	body += shardMetrics(t, server)
	t.Run("names of users' objects are no labels", func(t *testing.T) {
		if at := strings.Index(body, "medlar"); at >= 0 {
			t.Errorf("the metrics have %s", body[at:min(len(body), at+100)])
		}
	})
	t.Run("the reference has all", func(t *testing.T) { checkReference(t, familiesOf(body)) })
	t.Run("alerts and dashboard", func(t *testing.T) { checkExpressions(t, familiesOf(body)) })
	t.Run("the end of an installation counts", func(t *testing.T) {
		if err := server.Client().Delete(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		p.awaitMetrics(t, `espalier_job_duration_seconds_count{result="Deleted"} 1`, `espalier_job_duration_seconds_count{result="Succeeded"} 1`)
	})
	t.Run("the log is calm", func(t *testing.T) { p.checkCalm(t) })
}

// checkCalm stops a process whose objects had finalizers, waited and were retried. Nobody can follow the advice on the names of finalizers,
// which the API server sends with each write of them; and a stack says nothing about why something is retried.
func (p *process) checkCalm(t *testing.T) {
	t.Helper()
	p.stop(t)
	log := p.log.String()
	if !strings.Contains(log, "Not done yet; retrying") {
		t.Errorf("nothing was retried, so the test shows nothing of it:\n%s", log)
	}
	for _, unwanted := range []string{"domain-qualified finalizer name", `"stacktrace"`, "goroutine "} {
		if at := strings.Index(log, unwanted); at >= 0 {
			t.Errorf("the log has %s", log[max(0, at-200):min(len(log), at+200)])
		}
	}
}

// shardMetrics returns the metrics of a process that works on one of two shards; nobody works on the other one.
func shardMetrics(t *testing.T, server *testkit.APIServer) string {
	t.Helper()
	namespace := server.Namespace(t)
	p := launch(t, "--namespaces", namespace, "--leader-elect-namespace", namespace, "--system-namespace", namespace, "--shard", "1/2")
	body := p.awaitMetrics(t, `espalier_shard{shard="1",shards="2"} 1`, `leader_election_master_status{name="espalier-controller"} 1`)
	for _, number := range []string{"1", "2"} {
		series := fmt.Sprintf(`espalier_shard_renewed_timestamp_seconds{lease="espalier-controller",shard=%q,shards="2"} `, number)
		if !strings.Contains(body, "\n"+series) {
			t.Errorf("the process of shard 1 does not report when shard %s was last renewed", number)
		}
	}
	return body
}

// Only the leader counts, so that sums over all replicas are right.
func TestAStandbyCountsNothing(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	args := []string{"--namespaces", namespace, "--leader-elect-namespace", namespace, "--system-namespace", namespace}
	leader := launch(t, args...)
	testkit.Eventually(t, server, defaultContext(namespace), exists)
	standby := launch(t, args...)
	one := testkit.Installation(namespace, "one").Blueprint(mockItem("")).Reconcile().Build()
	testkit.Create(t, server, one)
	testkit.EventuallyFinished(t, server, one, landscaper.PhaseSucceeded)
	standby.awaitReady(t)
	leader.awaitMetrics(t, `espalier_objects{kind="Installation",phase="Succeeded"} 1`, `espalier_objects{kind="Execution",phase="Succeeded"} 1`,
		`espalier_objects{kind="DeployItem",phase="Succeeded"} 1`)
	_, body, err := fetch("http://" + standby.metrics + "/metrics")
	if err != nil || strings.Contains(body, "espalier_objects{") || !strings.Contains(body, "espalier_job_duration_seconds_count") {
		t.Errorf("the standby tells %v:\n%s", err, body)
	}
}

// family is a metric that is served.
type family struct {
	kind   string
	labels map[string]bool
}

var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	seriesLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_]+)="(?:[^"\\]|\\.)*"`)
)

// familiesOf parses the text format of Prometheus.
func familiesOf(body string) map[string]*family {
	all := map[string]*family{}
	for _, match := range typeLine.FindAllStringSubmatch(body, -1) {
		all[match[1]] = &family{kind: match[2], labels: map[string]bool{}}
	}
	for _, match := range seriesLine.FindAllStringSubmatch(body, -1) {
		f := familyOf(all, match[1])
		for _, pair := range labelPair.FindAllStringSubmatch(match[2], -1) {
			if f != nil {
				f.labels[pair[1]] = true
			}
		}
	}
	return all
}

// familyOf finds the family of a series; the series of histograms have suffixes.
func familyOf(all map[string]*family, series string) *family {
	if f := all[series]; f != nil {
		return f
	}
	for _, ending := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(series, ending); ok && all[name] != nil && all[name].kind == "histogram" {
			return all[name]
		}
	}
	return nil
}

func checkReference(t *testing.T, families map[string]*family) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, f := range families {
		if !strings.HasPrefix(name, "espalier_") {
			continue
		}
		found++
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\| (\\w+) \\| (.*?) \\|").FindStringSubmatch(string(page))
		if row == nil || row[1] != f.kind {
			t.Errorf("docs/reference/metrics.md has no row for the %s %s: %q", f.kind, name, row)
			continue
		}
		for label := range f.labels {
			if label != "le" && !strings.Contains(row[2], "`"+label+"`") {
				t.Errorf("docs/reference/metrics.md does not tell of the label %s of %s", label, name)
			}
		}
	}
	if found < 15 {
		t.Errorf("there are only %d metrics of our own: %q", found, slices.Sorted(maps.Keys(families)))
	}
}

// expressions returns the expressions of alerts and of the dashboard, by their location.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr, For    string
					Labels, Annotations map[string]string
				}
			}
		}
	}
	page := readComponent(t, "alerts/rules.yaml", &rules)
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			if _, twice := all[rule.Alert]; twice || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" ||
				rule.Annotations["description"] == "" {
				t.Errorf("the alert %q is there twice, or lacks severity, summary or description", rule.Alert)
			}
			if _, err := time.ParseDuration(rule.For); rule.For != "" && err != nil {
				t.Errorf("the alert %s: %v", rule.Alert, err)
			}
			if !strings.Contains(page, "| `"+rule.Alert+"` |") {
				t.Errorf("docs/observability.md does not say what %s means", rule.Alert)
			}
			all[rule.Alert] = rule.Expr
		}
	}
	var holder struct{ Data map[string]string }
	readComponent(t, "dashboard/dashboard.yaml", &holder)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(holder.Data["espalier.json"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			all[fmt.Sprintf("panel %s, query %d", panel.Title, i)] = target.Expr
		}
	}
	if len(all) < 25 {
		t.Fatalf("found only %d expressions", len(all))
	}
	return all
}

// readComponent reads a file of the Kustomizations, and returns the page about it.
func readComponent(t *testing.T, name string, into any) (page string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "components", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(filepath.Join("..", "..", "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(told)
}

func checkExpressions(t *testing.T, families map[string]*family) {
	t.Helper()
	literals := ownLiterals(t)
	for where, text := range expressions(t) {
		parsed, err := parseQuery(text)
		if err != nil || len(parsed.metrics) == 0 {
			t.Errorf("%s: %s: %v", where, text, err)
			continue
		}
		served := map[string]bool{}
		for _, s := range parsed.metrics {
			f := familyOf(families, s.metric)
			if f == nil {
				t.Errorf("%s asks for %s, which is not served", where, s.metric)
				continue
			}
			maps.Copy(served, f.labels)
			for label, values := range s.labels {
				if !f.labels[label] {
					t.Errorf("%s selects by %s, which %s does not have", where, label, s.metric)
				}
				for _, value := range values {
					if !literals[value] {
						t.Errorf("%s selects %s=%q, which stands nowhere in the code", where, label, value)
					}
				}
			}
		}
		for _, label := range parsed.grouped {
			if !served[label] {
				t.Errorf("%s groups by %s, which no metric there has", where, label)
			}
		}
	}
}

// ownLiterals returns all quoted words in our code; each value of a label must be one of them.
func ownLiterals(t *testing.T) map[string]bool {
	t.Helper()
	quoted, all := regexp.MustCompile(`"([A-Za-z-]+)"`), map[string]bool{}
	for _, folder := range []string{"api", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range quoted.FindAllSubmatch(text, -1) {
				all[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestQueriesThatAreWrongAreFound(t *testing.T) {
	for text, want := range map[string]string{
		`sum(rate(a[5m])`: "not closed", `summ(a)`: "unknown function", `a)`: "too many", `sum by (a`: "no )", `a{b="c"`: "no }", `a ; b`: "unexpected",
	} {
		if got, err := parseQuery(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v, %v", text, got, err)
		}
	}
	got, err := parseQuery(`sum by (x) (rate(a_count{b=~"c|d", e="f"}[$__rate_interval])) / 2 > 0.5`)
	if err != nil || fmt.Sprint(got) != `{[{a_count map[b:[c d] e:[f]]}] [x]}` {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestProfilesStayOnTheMachine(t *testing.T) {
	address := testkit.FreeAddress(t)
	namespace := testkit.Server(t).Namespace(t)
	p := launch(t, "--namespaces", namespace, "--leader-elect-namespace", namespace, "--profiling-address", address)
	p.awaitReady(t)
	if status, body, err := fetch("http://" + address + "/debug/pprof/"); status != http.StatusOK || !strings.Contains(body, "goroutine") {
		t.Errorf("status %d, %v", status, err)
	}
	if status, _, _ := fetch("http://" + p.metrics + "/debug/pprof/"); status == http.StatusOK {
		t.Error("the address of the metrics serves profiles, too")
	}
}

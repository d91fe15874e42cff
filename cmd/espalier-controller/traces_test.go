// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// collector accepts traces as an OpenTelemetry collector does.
type collector struct {
	*httptest.Server
	mutex    sync.Mutex
	spans    []*tracepb.Span
	services map[string]bool
	refused  []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{services: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

// await waits until count spans have arrived.
func (c *collector) await(t *testing.T, count int) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		return len(c.spans) >= count, nil
	})
	if err != nil {
		t.Fatalf("fewer than %d spans arrive: %v", count, err)
	}
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			c.refused = append(c.refused, err.Error())
			return
		}
		body = unpacked
	}
	raw, err := io.ReadAll(body)
	var request coltracepb.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &request) != nil {
		c.refused = append(c.refused, r.URL.Path)
		return
	}
	for _, resource := range request.ResourceSpans {
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.name" {
				c.services[attribute.Value.GetStringValue()] = true
			}
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	answer, _ := proto.Marshal(&coltracepb.ExportTraceServiceResponse{})
	_, _ = w.Write(answer)
}

// tree has a nested installation whose deploy item waits for readiness.
const tree = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
subinstallations:
- file: /inner.yaml
`

// spansOfATree are the kinds of its spans, each after those of its parents.
var spansOfATree = func() []string {
	const inner = "Installation/Installation/Execution"
	return []string{
		"Installation", "Installation/Installation", inner, inner + "/DeployItem", inner + "/DeployItem/apply", inner + "/DeployItem/readiness",
	}
}()

func treeBlueprint(end string) string {
	return `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: InstallationTemplate
name: inner
blueprint:
  filesystem:
    blueprint.yaml: |
` + indented(mockItem(", initialPhase: Progressing, phase: "+end))
}

func indented(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n      ") + "\n"
}

// A job has one trace, however many processes work on it: each span has its parent, and lies within its parent's time.
func TestAJobIsOneTrace(t *testing.T) {
	collected := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	common := []string{"--namespaces", namespace, "--leader-elect-namespace", namespace, "--system-namespace", namespace}
	processes := []*process{
		launch(t, append(common, "--controllers=-deployer-mock")...),
		launch(t, append(common, "--controllers=deployer-mock", "--deployer-identity=apart")...),
	}
	testkit.Eventually(t, server, defaultContext(namespace), exists)
	for _, end := range []landscaper.Phase{landscaper.PhaseSucceeded, landscaper.PhaseFailed} {
		name := "tree-" + strings.ToLower(string(end))
		root := testkit.Installation(namespace, name).Blueprint(tree).BlueprintFile("inner.yaml", treeBlueprint(string(end))).Reconcile().Build()
		testkit.Create(t, server, root)
		testkit.EventuallyFinished(t, server, root, end)
	}
	jobs := map[string]*landscaper.Installation{}
	var roots landscaper.InstallationList
	if err := server.Client().List(t.Context(), &roots, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range roots.Items {
		if root := &roots.Items[i]; strings.HasPrefix(root.Name, "tree-") && root.Labels[landscaper.EncompassedByLabel] == "" {
			jobs[strings.ReplaceAll(root.Status.JobID, "-", "")] = root
		}
	}
	collected.await(t, 2*len(spansOfATree)) // A process that is stopped as soon as a job has finished may not have received its end.
	for _, p := range processes {
		p.stop(t)
	}
	collected.mutex.Lock()
	defer collected.mutex.Unlock()
	if len(collected.refused) > 0 || !collected.services[program] {
		t.Errorf("refused %q, services %v", collected.refused, collected.services)
	}
	byTrace := map[string][]*tracepb.Span{}
	for _, span := range collected.spans {
		trace := hex.EncodeToString(span.TraceId)
		byTrace[trace] = append(byTrace[trace], span)
	}
	if len(jobs) != 2 || len(byTrace) != 2 {
		t.Fatalf("%d jobs gave %d traces", len(jobs), len(byTrace))
	}
	for job, root := range jobs {
		checkTrace(t, byTrace[job], root)
	}
}

func checkTrace(t *testing.T, spans []*tracepb.Span, root *landscaper.Installation) {
	t.Helper()
	byID := map[string]*tracepb.Span{}
	for _, span := range spans {
		byID[string(span.SpanId)] = span
	}
	kindOf := func(span *tracepb.Span) string { kind, _, _ := strings.Cut(span.Name, " "); return kind }
	var chains []string
	for _, span := range spans {
		chain := kindOf(span)
		for at := span; len(at.ParentSpanId) > 0; {
			parent := byID[string(at.ParentSpanId)]
			if parent == nil {
				t.Fatalf("%s of %s has a parent that does not exist", span.Name, root.Name)
			}
			if at.StartTimeUnixNano < parent.StartTimeUnixNano || at.EndTimeUnixNano > parent.EndTimeUnixNano {
				t.Errorf("%s lies outside of %s", at.Name, parent.Name)
			}
			chain, at = kindOf(parent)+"/"+chain, parent
		}
		chains = append(chains, chain)
		failed := span.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR
		if isPart := kindOf(span) == span.Name; !isPart && failed != (root.Status.Phase == landscaper.PhaseFailed) {
			t.Errorf("%s of a job that ended as %s has the status %v", span.Name, root.Status.Phase, span.Status)
		}
	}
	slices.Sort(chains)
	if !slices.Equal(chains, spansOfATree) {
		t.Errorf("the spans of %s are %q", root.Name, chains)
	}
}

// A collector that does not answer has no effect: jobs finish, and the process ends.
func TestACollectorThatIsDownHoldsNothingUp(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+testkit.FreeAddress(t))
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	p := launch(t, "--namespaces", namespace, "--leader-elect-namespace", namespace, "--system-namespace", namespace)
	one := testkit.Installation(namespace, "one").Blueprint(mockItem("")).Reconcile().Build()
	testkit.Create(t, server, one)
	testkit.EventuallyFinished(t, server, one, landscaper.PhaseSucceeded)
	p.stop(t)
	if !strings.Contains(p.log.String(), "Sending traces of jobs") {
		t.Errorf("nothing was to be sent:\n%s", p.log.String())
	}
}

func TestVariablesThatAreWrong(t *testing.T) {
	for name, test := range map[string]struct{ variable, want string }{
		"another exporter": {"OTEL_TRACES_EXPORTER=zipkin", `OTEL_TRACES_EXPORTER is "zipkin": set it to otlp or none`},
		"another protocol": {"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": only http/protobuf is supported`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "--kubeconfig", testkit.Server(t).Kubeconfig())
			cmd.Env = append(os.Environ(), runMain+"=1", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", test.variable)
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("it ended with %v: %s", err, out)
			}
		})
	}
}

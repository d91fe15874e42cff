// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/telemetry"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/web"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a namespace in which all controllers run, with everything that they output.
type world struct {
	*managed.World
	kubeconfig string
	spans      *stream
	// approvals is the address of the server for approvals, and answers are its answers, if it was called.
	approvals string
	answers   *stream
}

// process is the log of the controllers, at the highest level, and what the web UI keeps of it. All tests share it: a process has one
// logger, and goroutines of a stopped manager still use it when the next test starts.
type process struct {
	written *stream
	logger  logr.Logger
	kept    *web.LogKeeper
}

var processLog = sync.OnceValue(func() process {
	p := process{written: &stream{}, kept: web.NewLogKeeper()}
	log, err := manager.NewLogger(p.written, manager.LogOptions{Format: manager.LogJSON, Level: "10"})
	if err != nil {
		panic(err)
	}
	p.logger = p.kept.Beside(log)
	manager.UseLogger(p.logger)
	return p
})

func newWorld(t *testing.T, change ...func(*manager.Options)) *world {
	t.Helper()
	w := &world{World: managed.NewWorld(t, managed.SystemNamespace), spans: &stream{}, answers: &stream{}}
	for _, f := range change {
		f(&w.Options)
	}
	w.InstallCRD(t, testkit.FluxKinds(t)...)
	kubeconfig, err := os.ReadFile(w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	w.kubeconfig, w.approvals = string(kubeconfig), w.Options.Pipelines.ApprovalAddress
	telemetry.UseTracer(tracer{written: w.spans})
	mgr, err := manager.New(w.Config(), w.Options, processLog().logger)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr.Start)
	return w
}

// stream records what is written to it.
type stream struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *stream) Write(text []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(text)
}

func (s *stream) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

// tracer records the content of traces.
type tracer struct {
	noop.Tracer
	written *stream
}

func (t tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(options...)
	fmt.Fprintln(t.written, name, config.Attributes())
	s := span{written: t.written}
	return trace.ContextWithSpan(ctx, s), s
}

type span struct {
	noop.Span
	written *stream
}

func (s span) AddEvent(name string, options ...trace.EventOption) {
	config := trace.NewEventConfig(options...)
	fmt.Fprintln(s.written, name, config.Attributes())
}
func (s span) RecordError(err error, _ ...trace.EventOption) { fmt.Fprintln(s.written, err) }
func (s span) SetStatus(code codes.Code, description string) {
	fmt.Fprintln(s.written, code, description)
}
func (s span) SetAttributes(attributes ...attribute.KeyValue) { fmt.Fprintln(s.written, attributes) }

// everythingSaid returns all output, by its location.
func (w *world) everythingSaid() map[string]string {
	w.Helper()
	said := map[string]string{"the metrics": w.metrics()}
	for _, list := range []client.ObjectList{
		&lsv1alpha1.InstallationList{}, &lsv1alpha1.ExecutionList{}, &lsv1alpha1.DeployItemList{}, &lsv1alpha1.TargetSyncList{},
		&pipelines.PipelineList{},
	} {
		w.each(list, func(name string, object map[string]any) { said[name+": status"] = asJSON(object["status"]) })
	}
	for _, list := range []client.ObjectList{&corev1.EventList{}, &eventsv1.EventList{}} {
		w.each(list, func(name string, object map[string]any) { said[name] = asJSON(object) })
	}
	if len(w.names(&lsv1alpha1.InstallationList{})) > 0 {
		said["the traces"] = w.spans.String()
	}
	if w.approvals != manager.Disabled {
		said["the answers to approvals"] = w.answers.String()
	}
	maps.Copy(said, w.pages())
	maps.Copy(said, w.commands())
	said["the log"] = processLog().written.String() // The web UI has written to it, too.
	return said
}

// names returns the names of all objects of a kind.
func (w *world) names(list client.ObjectList) []string {
	w.Helper()
	var names []string
	w.each(list, func(_ string, object map[string]any) {
		names = append(names, object["metadata"].(map[string]any)["name"].(string))
	})
	return names
}

func (w *world) each(list client.ObjectList, do func(name string, object map[string]any)) {
	w.Helper()
	if err := w.Client().List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
		do(fmt.Sprintf("%T %s", item, item.(client.Object).GetName()), object)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *world) metrics() string {
	w.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		fmt.Fprintln(&text, family.String())
	}
	return text.String()
}

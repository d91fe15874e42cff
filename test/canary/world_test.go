// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
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
	"espalier.dev/internal/archive"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/bugreport"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/cli/job"
	"espalier.dev/internal/cli/pipeline"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/telemetry"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/web"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a namespace in which all controllers run, and everything that they say.
type world struct {
	*managed.World
	kubeconfig string
	log        *stream
	spans      *stream
	// approvals is where the server for approvals listens, and answers is what it has said, if it was asked.
	approvals string
	answers   *stream
}

// processLog is what the controllers log, as much as they can be asked to. It is one for all tests: a process has one logger, and
// goroutines of a manager that was stopped still use it when the next test begins.
var processLog = sync.OnceValues(func() (*stream, logr.Logger) {
	written := &stream{}
	log, err := manager.NewLogger(written, manager.LogOptions{Format: manager.LogJSON, Level: "10"})
	if err != nil {
		panic(err)
	}
	manager.UseLogger(log)
	return written, log
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
	var log logr.Logger
	w.log, log = processLog()
	mgr, err := manager.New(w.Config(), w.Options, log)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr.Start)
	return w
}

// stream keeps what is written to it.
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

// tracer writes down all that traces would carry.
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

// everythingSaid is all that can be read of what has happened, by the place where it is read.
func (w *world) everythingSaid() map[string]string {
	w.Helper()
	said := map[string]string{
		"the log":     w.log.String(),
		traces:        w.spans.String(),
		"the metrics": w.metrics(),
	}
	for _, list := range []client.ObjectList{
		&lsv1alpha1.InstallationList{}, &lsv1alpha1.ExecutionList{}, &lsv1alpha1.DeployItemList{}, &pipelines.PipelineList{},
	} {
		w.each(list, func(name string, object map[string]any) { said[name+": status"] = asJSON(object["status"]) })
	}
	for _, list := range []client.ObjectList{&corev1.EventList{}, &eventsv1.EventList{}} {
		w.each(list, func(name string, object map[string]any) { said[name] = asJSON(object) })
	}
	maps.Copy(said, w.documents())
	said["espalier get"], said["espalier tree"] = w.command(get.New), w.command(tree.New)
	said["espalier tree -o json"] = w.command(tree.New, "-o", "json", "--objects") // Other commands print the same facts.
	said["espalier inventory"] = w.command(inventory.New, "-o", "yaml")
	said["espalier bug-report"] = w.bugReport()
	w.each(&lsv1alpha1.InstallationList{}, func(_ string, object map[string]any) {
		name := object["metadata"].(map[string]any)["name"].(string)
		said["espalier why "+name] = w.command(why.New, name)
		said["espalier timeline "+name] = w.command(job.NewTimeline, name, "-o", "json")
	})
	w.each(&pipelines.PipelineList{}, func(_ string, object map[string]any) {
		name := object["metadata"].(map[string]any)["name"].(string)
		for _, command := range []string{"status", "why", "history"} {
			said["espalier pipeline "+command+" "+name] = w.command(pipeline.New, command, name)
		}
		said["the answers to approvals"] = w.answers.String()
	})
	return said
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

// documents are what the pages of the web UI show.
func (w *world) documents() map[string]string {
	w.Helper()
	server, err := web.New(web.Options{Config: w.Config(), Mode: web.Local, Log: logr.Discard()})
	if err != nil {
		w.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	browser, place := &http.Client{Jar: jar}, "http://"+listener.Addr().String()
	opened, err := browser.Get(server.NewAddress(listener.Addr()))
	if err != nil {
		w.Fatal(err)
	}
	opened.Body.Close()
	shown := map[string]string{}
	for _, path := range w.views() {
		shown["the web UI: "+path] = w.document(browser, place+"/api/v1/stream/"+path)
	}
	stop()
	if err := <-served; err != nil {
		w.Error(err)
	}
	return shown
}

// views are the pages of everything in the namespace.
func (w *world) views() []string {
	w.Helper()
	paths := []string{"overview", "targets"}
	for kind, list := range map[string]client.ObjectList{
		"installations": &lsv1alpha1.InstallationList{}, "pipelines": &pipelines.PipelineList{},
	} {
		w.each(list, func(_ string, object map[string]any) {
			paths = append(paths, fmt.Sprintf("%s/%s/%s", kind, w.Namespace, object["metadata"].(map[string]any)["name"]))
		})
	}
	return paths
}

// document is the first one of a stream.
func (w *world) document(browser *http.Client, address string) string {
	w.Helper()
	stream, err := browser.Get(address)
	if err != nil {
		w.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			w.Fatalf("%s is answered with %s, and ends: %v", address, stream.Status, err)
		}
		if data, found := strings.CutPrefix(line, "data: "); found {
			return data
		}
	}
}

// bugReport is all that an archive of facts contains.
func (w *world) bugReport() string {
	w.Helper()
	name := filepath.Join(w.TempDir(), "report.tar.gz")
	var text strings.Builder
	text.WriteString(w.command(bugreport.New, "--file", name, "--system-namespace", w.Namespace))
	packed, err := os.Open(name)
	if err != nil {
		w.Fatalf("%v\n%s", err, text.String())
	}
	defer packed.Close()
	files, err := archive.Read(packed, archive.Default)
	if err != nil {
		w.Fatal(err)
	}
	for _, file := range files.Names() {
		fmt.Fprintf(&text, "%s\n%s\n", file, files[file])
	}
	return text.String()
}

func (w *world) command(command func(cli.Environment) *cobra.Command, args ...string) string {
	w.Helper()
	result := clitest.Run(w.T, w.APIServer, w.Namespace, clitest.Call{Command: command, Args: args})
	return result.Stdout + result.Stderr
}

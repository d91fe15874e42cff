// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/job"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/kubelet"
)

// entry is a line of a log.
type entry struct {
	at   time.Time
	text string
}

// book holds the logs of all containers of a node, by pod and container. It serves them as a kubelet does.
type book struct {
	mutex sync.Mutex
	logs  map[string][]entry
	// open are the logs that do not end when they are followed, and changed is closed when something changes.
	open    map[string]bool
	changed chan struct{}
	// asked tells which logs were asked for.
	asked chan string
}

func newBook() *book {
	return &book{logs: map[string][]entry{}, open: map[string]bool{}, changed: make(chan struct{}), asked: make(chan string, 1000)}
}

// change changes the book, and wakes those who follow it.
func (b *book) change(how func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	how()
	close(b.changed)
	b.changed = make(chan struct{})
}

// add writes a line, some minutes before now.
func (b *book) add(log string, minutes int, text string) {
	b.change(func() {
		b.logs[log] = append(b.logs[log], entry{clitest.Ago(time.Duration(minutes) * time.Minute).Truncate(time.Second), text})
	})
}

func (b *book) read(log string) (lines []entry, open bool, changed <-chan struct{}) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.logs[log], b.open[log], b.changed
}

// serve writes the lines that are wanted, and goes on with new ones if they are followed.
func (b *book) serve(w io.Writer, request kubelet.LogRequest) error {
	log := request.Pod + "/" + request.Container
	if strings.HasPrefix(log, "unreadable") {
		return errors.New("the disk of the node is broken")
	}
	b.asked <- log
	for done := 0; ; {
		lines, open, changed := b.read(log)
		if done == 0 && request.Tail >= 0 {
			done = max(0, len(lines)-request.Tail)
		}
		for _, l := range lines[done:] {
			if done++; l.at.Before(request.Since) {
				continue
			}
			if _, err := fmt.Fprintf(w, "%s %s\n", l.at.UTC().Format(time.RFC3339Nano), l.text); err != nil {
				return nil
			}
		}
		if !request.Follow || !open {
			return nil
		}
		select {
		case <-changed:
		case <-request.Context.Done():
			return nil
		}
	}
}

// until waits until a log was asked for.
func (b *book) until(t *testing.T, log string) {
	t.Helper()
	limit := time.After(testkit.Patience)
	for {
		select {
		case asked := <-b.asked:
			if asked == log {
				return
			}
		case <-limit:
			t.Fatalf("nobody asked for the log %s", log)
		}
	}
}

// logStage is an installation with a container deploy item and one of manifests, whose target is the same cluster.
type logStage struct {
	*testing.T
	server       *testkit.APIServer
	namespace    string
	node         string
	book         *book
	shop         *lsv1alpha1.Installation
	migrate, web *lsv1alpha1.DeployItem
	deployment   *appsv1.ReplicaSet
}

func newLogStage(t *testing.T) *logStage {
	t.Helper()
	s := &logStage{T: t, server: testkit.Server(t), book: newBook()}
	s.namespace = s.server.Namespace(t)
	s.node = kubelet.ServeLogs(t, s.server.Config(), s.book.serve)
	s.shop = testkit.Installation(s.namespace, "shop").Build()
	execution := clitest.ExecutionOf(s.shop, "migrate", "web")
	s.migrate, s.web = clitest.ItemOf(execution, "migrate"), clitest.ItemOf(execution, "web")
	s.migrate.Spec.Type, s.web.Spec.Type = lsv1alpha1.DeployItemTypeContainer, lsv1alpha1.DeployItemTypeManifest
	s.shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing, minutes(20, 19, 18, -1))
	for _, status := range []*lsv1alpha1.RunStatus{&execution.Status.RunStatus, &s.migrate.Status.RunStatus, &s.web.Status.RunStatus} {
		*status = clitest.Status(lsv1alpha1.PhaseProgressing, minutes(17, 16, 15, -1))
	}
	s.web.Status.ProviderStatus = s.inventory("Deployment", "web")
	clitest.Store(t, s.server, s.shop, execution, s.migrate, s.web)
	testkit.Create(t, s.server, testkit.Target(s.namespace, "cluster").Cluster(t, s.server).Build())
	s.createWorkload()
	return s
}

// inventory is what a deployer records that has deployed an object, a ConfigMap and a Secret.
func (s *logStage) inventory(kind, name string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil,
		`{"apiVersion":"manifest.deployer.landscaper.gardener.cloud/v1alpha2","kind":"ProviderStatus",`+`"managedResources":[{"resource":{"apiVersion":"apps/v1","kind":%q,"namespace":%q,"name":%q}},`+
			`{"resource":{"apiVersion":"v1","kind":"Secret","namespace":%q,"name":"password"}}]}`, kind, s.namespace, name, s.namespace)}
}

// createWorkload creates a Deployment with a ReplicaSet, and a pod of somebody else with the same labels.
func (s *logStage) createWorkload() {
	s.Helper()
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "example.org/i:1"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "web", Labels: labels}
	web := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}
	testkit.Create(s, s.server, web)
	s.deployment = &appsv1.ReplicaSet{
		ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(1)), Selector: selector, Template: template},
	}
	s.own(web, s.deployment)
	s.run(metav1.ObjectMeta{Name: "stranger", Labels: labels}, nil, kubelet.Running("nginx"))
}

func (s *logStage) own(owner, object client.Object) {
	s.Helper()
	if err := controllerutil.SetControllerReference(owner, object, s.server.Client().Scheme()); err != nil {
		s.Fatal(err)
	}
	testkit.Create(s, s.server, object)
}

// run has a pod on the node with containers in some states. The last one is no init container.
func (s *logStage) run(meta metav1.ObjectMeta, owner client.Object, states ...corev1.ContainerStatus) *corev1.Pod {
	s.Helper()
	meta.Namespace = s.namespace
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: s.node}}
	for _, state := range states {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: state.Name, Image: "example.org/i:1"})
	}
	last := len(states) - 1
	pod.Spec.InitContainers, pod.Spec.Containers = pod.Spec.Containers[:last], pod.Spec.Containers[last:]
	if owner == nil {
		testkit.Create(s, s.server, pod)
	} else {
		s.own(owner, pod)
	}
	s.report(pod, states...)
	return pod
}

// report tells the states of a pod's containers.
func (s *logStage) report(pod *corev1.Pod, states ...corev1.ContainerStatus) {
	s.Helper()
	last := len(states) - 1
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, InitContainerStatuses: states[:last], ContainerStatuses: states[last:]}
	if err := s.server.Client().Status().Update(s.Context(), pod); err != nil {
		s.Fatal(err)
	}
}

// ofMigrate is the metadata of the pod that a container deploy item runs in.
func (s *logStage) ofMigrate() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "migrate-0", Labels: map[string]string{containerv1alpha1.DeployItemUIDLabel: string(s.migrate.UID)}}
}

func (s *logStage) ofWeb(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}
}

func (s *logStage) logs(terminal *clitest.Terminal, args ...string) clitest.Result {
	s.Helper()
	return clitest.Run(s, s.server, s.namespace, clitest.Call{Command: job.NewLogs, Args: args, Terminal: terminal})
}

func waiting(container, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func TestLogsOfAJob(t *testing.T) {
	s := newLogStage(t)
	s.run(s.ofMigrate(), nil, kubelet.Terminated("init", 0, ""), kubelet.Running("wait"), kubelet.Terminated("main", 0, ""))
	s.run(s.ofWeb("web-0"), s.deployment, kubelet.Running("nginx"))
	s.run(s.ofWeb("web-1"), s.deployment, waiting("nginx", "ImagePullBackOff"))
	s.book.add("migrate-0/init", 17, "prepared")
	s.book.add("migrate-0/main", 15, "  indented\twords \x1b[31mred\x1b[0m \x1b]0;title\x07")
	s.book.add("migrate-0/main", 11, "migrated")
	s.book.add("migrate-0/wait", 9, "stored")
	s.book.add("web-0/nginx", 24*60*3, "long before the job")
	s.book.add("web-0/nginx", 16, "listening")
	s.book.add("web-0/nginx", 10, "GET / 200")
	s.book.add("stranger/nginx", 10, "not yours")
	other := metav1.ObjectMeta{Name: "other-0", Labels: map[string]string{containerv1alpha1.DeployItemUIDLabel: "of-another-item"}}
	s.run(other, nil, kubelet.Running("main"))
	s.book.add("other-0/main", 10, "not yours either")

	all := []string{
		"[migrate <namespace>/migrate-0/init] prepared",
		"[web <namespace>/web-0/nginx] listening",
		"[migrate <namespace>/migrate-0/main]   indented\twords red ]0;title",
		"[migrate <namespace>/migrate-0/main] migrated",
		"[web <namespace>/web-0/nginx] GET / 200",
		"[migrate <namespace>/migrate-0/wait] stored",
	}
	say(t, s.server, s.web, "DeployItem", "Progressing", 12)
	say(t, s.server, s.web, "DeployItem", "Succeeded", 60) // before the job
	say(t, s.server, s.web, "Pod", "Killing", 12)          // of the same name
	say(t, s.server, s.web, "DeployItem", "Progressing", 14, func(e *eventsv1.Event) {
		e.Series = &eventsv1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(clitest.Ago(8 * time.Minute))}
	})
	const event = "[event DeployItem/shop-web] Progressing: of shop-web"
	const again = event + " (3 times)"
	const older = "[web <namespace>/web-0/nginx] long before the job"
	const starting = "web <namespace>/web-1/nginx has not started: ImagePullBackOff\n"
	for name, test := range map[string]struct {
		args   []string
		lines  []string
		stderr string
	}{
		"everything":          {[]string{"shop"}, all, starting},
		"of an execution":     {[]string{"execution/shop"}, all, starting},
		"of a container item": {[]string{"deployitem/shop-migrate"}, []string{all[0], all[2], all[3], all[5]}, ""},
		"of manifests":        {[]string{"deployitem/shop-web"}, []string{all[1], all[4]}, starting},
		"the last lines":      {[]string{"shop", "--tail", "1"}, []string{all[0], all[3], all[4], all[5]}, starting},
		"with events":         {[]string{"shop", "--events"}, append(slices.Insert(slices.Clone(all), 3, event), again), starting},
		"events of one item":  {[]string{"deployitem/shop-web", "--events"}, []string{all[1], event, all[4], again}, starting},
		"events of another":   {[]string{"deployitem/shop-migrate", "--events"}, []string{all[0], all[2], all[3], all[5]}, ""},
		"older ones":          {[]string{"deployitem/shop-web", "--since", "96h"}, []string{older, all[1], all[4]}, starting},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.logs(nil, test.args...)
			if diff := cmp.Diff(strings.Join(test.lines, "\n")+"\n", got.Stdout); diff != "" || got.Code != cli.ExitOK || got.Stderr != test.stderr {
				t.Errorf("exit code %d:\n%s%s", got.Code, got.Stderr, diff)
			}
		})
	}
	var told []string
	for line := range strings.Lines(s.logs(nil, "shop", "--events", "-o", "json").Stdout) {
		var of struct{ Source, DeployItem, Namespace, Pod, Container, Text string }
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if of.Pod != "" && of.Source != of.DeployItem+" "+of.Namespace+"/"+of.Pod+"/"+of.Container {
			t.Errorf("its parts are others than those of the source: %+v", of)
		}
		told = append(told, "["+of.Source+"] "+of.Text)
	}
	want := append(slices.Insert(slices.Clone(all), 3, event), again)
	want[2] = "[migrate <namespace>/migrate-0/main]   indented\twords \x1b[31mred\x1b[0m \x1b]0;title\x07"
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error("for programs", diff)
	}
	texts := s.logs(nil, "deployitem/shop-migrate", "-o", `go-template={{.container}}: {{.text}}{{"\n"}}`)
	if !strings.HasPrefix(texts.Stdout, "init: prepared\nmain: ") || !strings.HasSuffix(texts.Stdout, "\nmain: migrated\nwait: stored\n") {
		t.Errorf("by a template: %+v", texts)
	}
	documents := s.logs(nil, "deployitem/shop-migrate", "-o", "yaml")
	if strings.Count(documents.Stdout, "---\n") != 4 || !strings.Contains(documents.Stdout, "\ntext: migrated\n") {
		t.Errorf("as YAML: %+v", documents)
	}
	none := s.logs(nil, "deployitem/shop-web", "--tail", "0")
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stderr: starting}, none); diff != "" {
		t.Errorf("no lines (-want +got):\n%s", diff)
	}
	screen := s.logs(&clitest.Terminal{Width: 80, Height: 24}, "deployitem/shop-web")
	for _, text := range strings.Split(strings.TrimSpace(screen.Stdout), "\n") {
		if !strings.HasPrefix(text, "\x1b[3") || strings.Count(text, "\x1b") != 2 {
			t.Errorf("on a terminal: %q", text)
		}
	}
}

// Why a container does not start is said by its node, which quotes its command.
func TestWhyAContainerDoesNotStartShowsNoSecret(t *testing.T) {
	s := newLogStage(t)
	imports := `{"spec":{"imports":{"data":[{"name":"password","secretRef":{"name":"login","key":"password"}}]}}}`
	if err := s.server.Client().Patch(t.Context(), s.shop, client.RawPatch(types.MergePatchType, []byte(imports))); err != nil {
		t.Fatal(err)
	}
	login := metav1.ObjectMeta{Namespace: s.namespace, Name: "login"}
	testkit.Create(t, s.server, &corev1.Secret{ObjectMeta: login, StringData: map[string]string{"password": "swordfish"}})
	stuck := func(container string) corev1.ContainerStatus {
		status := waiting(container, "CreateContainerError")
		status.State.Waiting.Message = "exec: swordfish: not found"
		return status
	}
	s.run(s.ofMigrate(), nil, kubelet.Terminated("init", 0, ""), stuck("main"))
	s.run(s.ofWeb("web-0"), s.deployment, stuck("nginx"))
	const why = " has not started: CreateContainerError: exec: <masked>: not found\n"
	got := s.logs(nil, "shop")
	want := "migrate <namespace>/migrate-0/main" + why + "web <namespace>/web-0/nginx" + why
	if got.Code != cli.ExitOK || !strings.HasPrefix(got.Stderr, want) || strings.Contains(got.Stdout+got.Stderr, "swordfish") {
		t.Errorf("exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// What cannot be read is told, and the others are shown.
func TestLogsThatCannotBeRead(t *testing.T) {
	s := newLogStage(t)
	s.run(s.ofMigrate(), nil, kubelet.Running("main"))
	s.book.add("migrate-0/main", 5, "working")
	s.run(s.ofWeb("unreadable-0"), s.deployment, kubelet.Running("nginx"))
	lost := clitest.ItemOf(&lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}}, "lost")
	lost.Spec.Type, lost.Spec.Target.Name = lsv1alpha1.DeployItemTypeManifest, "nowhere"
	lost.Status.RunStatus, lost.Status.ProviderStatus = clitest.Status(lsv1alpha1.PhaseProgressing), s.inventory("Deployment", "web")
	clitest.Store(t, s.server, lost)
	got := s.logs(nil, "shop")
	if got.Code != cli.ExitError || got.Stdout != "[migrate <namespace>/migrate-0/main] working\n" {
		t.Errorf("exit code %d:\n%s", got.Code, got.Stdout)
	}
	for _, want := range []string{
		"cannot read the log of container nginx in Pod <namespace>/unreadable-0, deploy item web: ",
		"deploy item shop-lost: cannot look into its target cluster: read Target <namespace>/nowhere: ",
	} {
		if strings.Count(got.Stderr, want) != 1 {
			t.Errorf("standard error does not say %q once:\n%s", want, got.Stderr)
		}
	}
	allow(t, s.server, s.namespace, lsv1alpha1.GroupName, "installations", "executions", "deployitems")
	refused := s.logs(nil, "deployitem/shop-migrate", "--as", visitor)
	if refused.Code != cli.ExitError || refused.Stdout != "" ||
		!strings.Contains(refused.Stderr, "cannot find the pods of deploy item shop-migrate: pods is forbidden") {
		t.Errorf("who may not list pods: exit code %d:\n%s%s", refused.Code, refused.Stdout, refused.Stderr)
	}
	fresh := testkit.Installation(s.namespace, "fresh").Build()
	testkit.Create(t, s.server, fresh)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"without pods":   {[]string{"fresh"}, cli.ExitOK, "fresh has no pods."},
		"none":           {[]string{"nope"}, cli.ExitNotFound, "installation nope does not exist"},
		"no item":        {[]string{"deployitem/nope"}, cli.ExitNotFound, "deployitem nope does not exist"},
		"no object":      {[]string{"secret/x"}, cli.ExitError, "is not valid"},
		"no time at all": {[]string{"shop", "--since", "0s"}, cli.ExitError, "--since takes a positive duration"},
		"few lines":      {[]string{"shop", "--tail", "-5"}, cli.ExitError, "--tail takes a number of lines"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.logs(nil, test.args...); got.Code != test.code || !strings.Contains(got.Stderr, test.want) || got.Stdout != "" {
				t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
		})
	}
}

// end finishes the job.
func (s *logStage) end() {
	s.Helper()
	before := s.shop.DeepCopy()
	s.shop.Status.Phase, s.shop.Status.JobIDFinished = lsv1alpha1.PhaseSucceeded, clitest.Job
	if err := s.server.Client().Status().Patch(s.Context(), s.shop, client.MergeFrom(before)); err != nil {
		s.Fatal(err)
	}
}

// Ctrl-C ends the command as it does later, even before there is anything to show.
func TestLogsThatAreGivenUpEarly(t *testing.T) {
	server := testkit.Server(t)
	started := make(chan *clitest.Running, 1)
	interrupt := sync.OnceFunc(func() { (<-started).Interrupt() })
	front := clitest.Front(t, server, func(request *http.Request) *http.Response {
		interrupt()
		clitest.AwaitAbandoned(request)
		return nil
	})
	call := clitest.Call{Command: job.NewLogs, Args: []string{"shop", "--kubeconfig=" + front}}
	running := clitest.Start(t, server, server.Namespace(t), call)
	started <- running
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitDetached}, running.Wait(t)); diff != "" {
		t.Error(diff)
	}
}

func TestLogsAreFollowed(t *testing.T) {
	s := newLogStage(t)
	pod := s.run(s.ofMigrate(), nil, kubelet.Running("main"))
	s.book.add("migrate-0/main", 9, "first")
	s.book.change(func() { s.book.open["migrate-0/main"], s.book.open["web-0/nginx"] = true, true })
	following := clitest.Start(t, s.server, s.namespace, clitest.Call{Command: job.NewLogs, Args: []string{"shop", "-f", "--events"}})
	s.book.until(t, "migrate-0/main")
	s.book.add("migrate-0/main", 8, "second")

	// The connection is lost, and the log goes on where it was.
	s.book.change(func() { s.book.open["migrate-0/main"] = false })
	s.book.until(t, "migrate-0/main")
	s.book.add("migrate-0/main", 7, "third")
	s.book.change(func() { s.book.open["migrate-0/main"] = true })

	// A pod starts later, in the target cluster.
	web := s.run(s.ofWeb("web-0"), s.deployment, kubelet.Running("nginx"))
	s.book.add("web-0/nginx", 6, "listening")
	s.book.until(t, "web-0/nginx")
	say(t, s.server, s.web, "DeployItem", "Progressing", 5)

	// Another reader has enough.
	other := clitest.Start(t, s.server, s.namespace, clitest.Call{Command: job.NewLogs, Args: []string{"deployitem/shop-web", "-f"}})
	s.book.until(t, "web-0/nginx")
	other.Interrupt()
	if left := other.Wait(t); left.Code != cli.ExitDetached {
		t.Errorf("after Ctrl-C: exit code %d:\n%s%s", left.Code, left.Stdout, left.Stderr)
	}

	// The installation goes while somebody reads.
	fresh := testkit.Installation(s.namespace, "fresh").Build()
	fresh.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing, minutes(2, 1, -1, -1))
	clitest.Store(t, s.server, fresh)
	last := clitest.Start(t, s.server, s.namespace, clitest.Call{Command: job.NewLogs, Args: []string{"fresh", "-f"}})
	if err := s.server.Client().Delete(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	if gone := last.Wait(t); gone.Code != cli.ExitOK && gone.Code != cli.ExitNotFound { // The latter if it went before the command began.
		t.Errorf("of an installation that went: exit code %d:\n%s%s", gone.Code, gone.Stdout, gone.Stderr)
	}

	// The job ends, and with it all containers.
	s.end()
	s.report(pod, kubelet.Terminated("main", 0, ""))
	s.report(web, kubelet.Terminated("nginx", 0, ""))
	s.book.change(func() { clear(s.book.open) })
	got := following.Wait(t)
	of := map[string][]string{}
	for text := range strings.Lines(got.Stdout) {
		title, words, _ := strings.Cut(strings.TrimSpace(text), "] ")
		of[title] = append(of[title], words)
	}
	want := map[string][]string{
		"[migrate <namespace>/migrate-0/main": {"first", "second", "third"}, "[web <namespace>/web-0/nginx": {"listening"},
		"[event DeployItem/shop-web": {"Progressing: of shop-web"},
	}
	if diff := cmp.Diff(want, of); diff != "" || got.Code != cli.ExitOK || got.Stderr != "" {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stderr, diff)
	}
}

// While logs are followed, a list of events that fails is tried again, and only the last one counts.
func TestEventsOfFollowedLogs(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	s := &logStage{T: t, server: server, namespace: namespace, shop: testkit.Installation(namespace, "shop").Build()}
	s.shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing, minutes(20, 19, 18, -1))
	clitest.Store(t, server, s.shop)
	say(t, server, s.shop, "Installation", "Progressing", 5)
	allow(t, server, namespace, lsv1alpha1.GroupName, "installations", "executions", "deployitems")
	args := []string{"shop", "--events", "--as", visitor}
	if got := s.logs(nil, args...); got.Code != cli.ExitError || !strings.Contains(got.Stderr, "cannot list the events of namespace <namespace>: ") {
		t.Errorf("who may not list events: %+v", got)
	}
	done := testkit.Installation(namespace, "done").Build()
	done.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, minutes(20, 19, 18, 5))
	clitest.Store(t, server, done)
	if got := s.logs(nil, "done", "--events", "--as", visitor, "-f"); got.Code != cli.ExitError {
		t.Errorf("who may not list events at the end: %+v", got)
	}
	following := clitest.Start(t, server, namespace, clitest.Call{Command: job.NewLogs, Args: append(args, "-f")})
	following.Until(t, "cannot list the events of namespace "+namespace+", retrying: ")
	allow(t, server, namespace, eventsv1.GroupName, "events")
	s.end()
	if got := following.Wait(t); got.Code != cli.ExitOK || got.Stdout != "[event Installation/shop] Progressing: of shop\n" {
		t.Errorf("%+v", got)
	}
}

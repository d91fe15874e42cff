// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/job"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/kubelet"
)

// logged is what the controllers of a process log about an object, or about nothing if it has no name.
func logged(t *testing.T, format, kind, namespace, name string, failed error) string {
	t.Helper()
	var text bytes.Buffer
	log, err := manager.NewLogger(&text, manager.LogOptions{Format: format, Level: "info"})
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		log = log.WithValues("controller", strings.ToLower(kind), "controllerKind", kind, kind, klog.KRef(namespace, name), "namespace", namespace, "name", name)
	}
	if failed != nil {
		log.Error(failed, "Not \x1b[31mdone", "attempt", 3)
	} else {
		log.Info("Working on " + name)
	}
	return strings.TrimSpace(text.String())
}

// controllersIn has a process of the controllers in a namespace of its own, which it returns, beside a pod of another program.
func (s *logStage) controllersIn() (namespace string) {
	s.Helper()
	system := *s
	system.namespace = s.server.Namespace(s.T)
	labels := map[string]string{"app.kubernetes.io/name": "espalier-controller"}
	system.run(metav1.ObjectMeta{Name: "controller-0", Labels: labels}, nil, kubelet.Running("controller"))
	system.run(metav1.ObjectMeta{Name: "ui-0"}, nil, kubelet.Running("ui"))
	return system.namespace
}

func TestLogsOfTheControllers(t *testing.T) {
	s := newLogStage(t)
	system := s.controllersIn()
	s.run(s.ofMigrate(), nil, kubelet.Running("main"))
	s.book.add("migrate-0/main", 15, "first")
	s.book.add("migrate-0/main", 13, "second")
	const of, pod = manager.LogJSON, "controller-0/controller"
	s.book.add(pod, 60, logged(t, of, "Installation", s.namespace, "shop", nil)) // before the job
	s.book.add(pod, 16, logged(t, of, "Installation", s.namespace, "shop", nil))
	s.book.add(pod, 16, logged(t, of, "Installation", s.namespace, "blog", nil))    // another tree
	s.book.add(pod, 16, logged(t, of, "Installation", "elsewhere", "shop", nil))    // another namespace
	s.book.add(pod, 16, logged(t, of, "Pipeline", s.namespace, "shop", nil))        // another kind
	s.book.add(pod, 16, logged(t, of, "", "", "", nil))                             // no object
	s.book.add(pod, 16, "panic: {not json")                                         // no line of ours
	s.book.add("ui-0/ui", 16, logged(t, of, "Execution", s.namespace, "shop", nil)) // another program
	s.book.add(pod, 14, logged(t, of, "DeployItem", s.namespace, "shop-web", errors.New("two\nlines")))
	s.book.add(pod, 12, logged(t, manager.LogConsole, "Execution", s.namespace, "shop", nil))
	own := []string{
		"[controllers Installation/shop] Working on shop", "[controllers DeployItem/shop-web] error Not done: two lines attempt=3",
		"[controllers Execution/shop] Working on shop",
	}
	first, second := "[migrate <namespace>/migrate-0/main] first", "[migrate <namespace>/migrate-0/main] second"
	for name, test := range map[string]struct {
		args  []string
		lines []string
	}{
		"of a tree":        {[]string{"shop"}, []string{own[0], first, own[1], second, own[2]}},
		"of one item":      {[]string{"deployitem/shop-web"}, own[1:2]},
		"the last lines":   {[]string{"shop", "--tail", "1"}, []string{second, own[2]}},
		"longer ago":       {[]string{"installation/shop", "--since", "2h"}, slices.Insert([]string{first, own[1], second, own[2]}, 0, own[0], own[0])},
		"not of an item":   {[]string{"deployitem/shop-migrate"}, []string{first, second}},
		"only if demanded": {[]string{"shop", "--controllers=false"}, []string{first, second}},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.logs(nil, append([]string{"--controllers", "--system-namespace", system}, test.args...)...)
			if diff := cmp.Diff(strings.Join(test.lines, "\n")+"\n", got.Stdout); diff != "" || got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d:\n%s%s", got.Code, got.Stderr, diff)
			}
		})
	}
}

// What cannot be read of the controllers is told, and other logs are shown.
func TestLogsOfTheControllersThatCannotBeRead(t *testing.T) {
	s := newLogStage(t)
	s.run(s.ofMigrate(), nil, kubelet.Running("main"))
	s.book.add("migrate-0/main", 15, "first")
	broken := *s
	broken.namespace = s.server.Namespace(t)
	labels := map[string]string{"app.kubernetes.io/name": "espalier-controller"}
	broken.run(metav1.ObjectMeta{Name: "unreadable-0", Labels: labels}, nil, kubelet.Running("controller"))
	done := testkit.Installation(s.namespace, "done").Build()
	done.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, minutes(20, 19, 18, 5))
	clitest.Store(t, s.server, done)
	allow(t, s.server, s.namespace, lsv1alpha1.GroupName, "installations", "executions", "deployitems")
	allow(t, s.server, s.namespace, corev1.GroupName, "pods", "pods/log")
	for name, test := range map[string]struct {
		system, want string
		args         []string
	}{
		"no pods": {s.server.Namespace(t), "has the label app.kubernetes.io/name=espalier-controller, so the controllers run elsewhere: ", nil},
		"no right": {
			broken.namespace, "cannot find the pods of the controllers in namespace " + broken.namespace + ": pods is forbidden: ", []string{"--as", visitor},
		},
		"a broken node": {broken.namespace, "cannot read the log of the controllers in Pod " + broken.namespace + "/unreadable-0: ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, more := range [][]string{nil, {"--follow"}} {
				item := "deployitem/shop-migrate"
				if more != nil {
					item = "done" // It has ended, so that the command does, too.
				}
				got := s.logs(nil, slices.Concat([]string{item, "--controllers", "--system-namespace", test.system}, test.args, more)...)
				if got.Code != cli.ExitError || strings.Count(got.Stderr, test.want) < 1 || more == nil && got.Stdout != "[migrate <namespace>/migrate-0/main] first\n" {
					t.Errorf("%v: exit code %d:\n%s%s", more, got.Code, got.Stdout, got.Stderr)
				}
			}
		})
	}
}

// printed waits until a command that follows a log has printed what it contains: it does before it asks for it again.
func (s *logStage) printed(log string) {
	s.Helper()
	s.book.until(s.T, log)
	s.book.until(s.T, log)
}

// While the job runs, new lines are printed, also those about objects that did not exist before.
func TestLogsOfTheControllersAreFollowed(t *testing.T) {
	s := newLogStage(t)
	system := s.controllersIn()
	const of, pod = manager.LogJSON, "controller-0/controller"
	s.book.add(pod, 16, logged(t, of, "Installation", s.namespace, "shop", nil))
	s.book.add(pod, 15, logged(t, of, "DeployItem", s.namespace, "shop-late", nil)) // The command has not seen it yet.
	following := clitest.Start(t, s.server, s.namespace, clitest.Call{
		Command: job.NewLogs, Args: []string{"shop", "--controllers", "-f", "--system-namespace", system},
	})
	s.printed(pod)
	late := clitest.ItemOf(&lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}}, "late")
	clitest.Store(t, s.server, late)
	s.book.add(pod, 9, logged(t, of, "DeployItem", s.namespace, "shop-late", errors.New("no")))
	s.printed(pod)
	s.book.add(pod, 8, logged(t, of, "Installation", s.namespace, "shop", errors.New("over")))
	s.end()
	got := following.Wait(t)
	want := "[controllers Installation/shop] Working on shop\n[controllers DeployItem/shop-late] Working on shop-late\n" +
		"[controllers DeployItem/shop-late] error Not done: no attempt=3\n" +
		"[controllers Installation/shop] error Not done: over attempt=3\n"
	if got.Stdout != want || got.Code != cli.ExitOK || got.Stderr != "" {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// The controllers of "espalier up" have no pods. They log to a file beside the kubeconfig.
func TestLogsOfTheControllersOnThisMachine(t *testing.T) {
	s := newLogStage(t)
	system, looked := s.server.Namespace(t), make(chan struct{}, 1000)
	kubeconfig := clitest.Front(t, s.server, func(request *http.Request) *http.Response {
		if strings.HasSuffix(request.URL.Path, "/namespaces/"+system+"/pods") {
			looked <- struct{}{}
		}
		return nil
	})
	log := filepath.Join(filepath.Dir(kubeconfig), cli.LogOfUp)
	write := func(path string, minutes int, name string, failed error) {
		_, rest, _ := strings.Cut(logged(t, manager.LogConsole, "Installation", s.namespace, name, failed), "\t")
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintf(file, "%s\t%s\n", clitest.Ago(time.Duration(minutes)*time.Minute).UTC().Format(time.RFC3339Nano), rest)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write(log+".1", 60, "shop", nil)
	write(log+".1", 18, "shop", nil)
	write(log, 16, "shop", errors.New("no"))
	write(log, 15, "blog", nil)
	args := []string{"shop", "--controllers", "--system-namespace", system, "--kubeconfig", kubeconfig}
	want := "[controllers Installation/shop] Working on shop\n[controllers Installation/shop] error Not done: no attempt=3\n"
	if got := s.logs(nil, args...); got.Code != cli.ExitOK || got.Stdout != want {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	<-looked
	following := clitest.Start(t, s.server, s.namespace, clitest.Call{Command: job.NewLogs, Args: append(args, "-f")})
	<-looked
	<-looked // The first look has been printed.
	write(log, 14, "shop", errors.New("again"))
	s.end()
	if got := following.Wait(t); got.Code != cli.ExitOK || got.Stdout != want+"[controllers Installation/shop] error Not done: again attempt=3\n" {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// A log beside a kubeconfig is not that of the cluster if a flag leads elsewhere.
func TestLogsOfTheControllersOfAnotherCluster(t *testing.T) {
	s := newLogStage(t)
	var addresses []string
	kubeconfig := ""
	for range 2 {
		kubeconfig = clitest.Front(t, s.server, func(*http.Request) *http.Response { return nil })
		known, err := clientcmd.LoadFromFile(kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		for _, cluster := range known.Clusters {
			addresses = append(addresses, cluster.Server)
		}
	}
	text := logged(t, manager.LogConsole, "Installation", s.namespace, "shop", nil) + "\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(kubeconfig), cli.LogOfUp), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"shop", "--controllers", "--since", "100000h", "--system-namespace", s.server.Namespace(t), "--kubeconfig", kubeconfig, "--server"}
	for i, want := range []int{cli.ExitError, cli.ExitOK} {
		got := s.logs(nil, append(args, addresses[i])...)
		if got.Code != want || strings.Contains(got.Stdout, "Working on shop") != (want == cli.ExitOK) {
			t.Errorf("at address %d: %+v", i, got)
		}
	}
}

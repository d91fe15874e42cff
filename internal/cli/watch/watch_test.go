// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// width of the screen.
const width = 100

// screen is a terminal with somebody before it.
type screen struct {
	*testing.T
	keys  *io.PipeWriter
	ended chan int
	// passed is how much time has passed for the command.
	passed atomic.Int64

	mutex  sync.Mutex
	shown  string
	raw    bytes.Buffer
	errors bytes.Buffer
	drawn  chan struct{}
}

// start runs the command on a screen.
func start(t *testing.T, server *testkit.APIServer, args ...string) *screen {
	t.Helper()
	s := &screen{T: t, ended: make(chan int, 1), drawn: make(chan struct{}, 1)}
	var in *io.PipeReader
	in, s.keys = io.Pipe()
	t.Cleanup(func() { _ = s.keys.Close() })
	env := cli.NewEnvironment(genericiooptions.IOStreams{In: in, Out: s, ErrOut: &s.errors})
	env.SilenceLogs = func() {}
	env.Now = func() time.Time { return clitest.Now().Add(time.Duration(s.passed.Load())) }
	env.Size = func(io.Writer) (int, int, bool) { return width, 30, true }
	env.Getenv = func(name string) string { return map[string]string{"TERM": "xterm", "NO_COLOR": "1"}[name] }
	root := cli.NewRoot(env.IOStreams, newCommand(env, tea.WithFilter(s.look)))
	root.SetArgs(append([]string{"watch", "--kubeconfig=" + server.Kubeconfig()}, args...))
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		code := cli.Run(ctx, root)
		_ = in.Close() // Whoever types now learns that nobody reads it.
		s.ended <- code
	}()
	return s
}

// look keeps what the screen shows.
func (s *screen) look(model tea.Model, message tea.Msg) tea.Msg {
	s.mutex.Lock()
	s.shown = model.View().Content
	s.mutex.Unlock()
	select {
	case s.drawn <- struct{}{}:
	default:
	}
	return message
}

// Write implements io.Writer.
func (s *screen) Write(text []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.raw.Write(text)
}

func (s *screen) text() (shown, raw string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.shown, s.raw.String()
}

// until returns what the screen shows once it satisfies a condition.
func (s *screen) until(what string, is func(string) bool) string {
	s.Helper()
	timeout := time.After(testkit.Patience)
	for {
		shown, _ := s.text()
		if is(shown) {
			return shown
		}
		select {
		case <-s.drawn:
		case code := <-s.ended:
			s.Fatalf("the command has ended with code %d before the screen showed %s: %s\n%s", code, what, s.errors.String(), shown)
		case <-timeout:
			s.Fatalf("the screen has not shown %s within %s:\n%s", what, testkit.Patience, shown)
		}
	}
}

// shows waits for texts on the screen.
func (s *screen) shows(texts ...string) string {
	s.Helper()
	return s.until(strings.Join(texts, " and "), func(shown string) bool {
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	})
}

// showsRow waits for the row of an object with a phase.
func (s *screen) showsRow(title, phase string) string {
	s.Helper()
	return s.until(title+" "+phase, func(shown string) bool {
		for line := range strings.Lines(shown) {
			words := strings.Fields(line)
			i := slices.Index(words, title)
			if i >= 0 && i+1 < len(words) && words[i+1] == phase {
				return true
			}
		}
		return false
	})
}

// press types keys.
func (s *screen) press(keys string) {
	s.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.Fatal(err)
	}
}

// end waits for the end of the command.
func (s *screen) end() int {
	s.Helper()
	select {
	case code := <-s.ended:
		return code
	case <-time.After(testkit.Patience):
		shown, _ := s.text()
		s.Fatalf("the command has not ended within %s:\n%s", testkit.Patience, shown)
		return 0
	}
}

// Somebody watches a tree, sees a phase change, asks why, looks at events, starts a job and interrupts it, and quits.
func TestWatching(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	controller := clitest.Controller{Server: server}
	shop := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}

	takeOver(t, server, namespace, "shop-database-postgres")
	s := start(t, server, "shop", "-n", namespace)
	s.shows("Installation/shop in namespace "+namespace+": 1 of 3 deploy items finished", ">  Installation/shop ", "? help")
	s.showsRow("DeployItem/shop-web-nginx", "Progressing")

	nginx := &lsv1alpha1.DeployItem{}
	if err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shop-web-nginx"}, nginx); err != nil {
		t.Fatal(err)
	}
	nginx.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", "the pods \x1b[31mcrash"))
	if err := server.Client().Status().Update(t.Context(), nginx); err != nil {
		t.Fatal(err)
	}
	s.showsRow("DeployItem/shop-web-nginx", "Failed")
	s.shows("the pods [31mcrash", "2 of 3 deploy items finished, 1 failed")
	drawn := clitest.Run(t, server, namespace, clitest.Call{
		Command: tree.New, Args: []string{"shop"}, Variables: map[string]string{"NO_COLOR": "1"}, Terminal: &clitest.Terminal{Width: width - gutter, Height: 24},
	})
	s.shows(append(strings.Split(strings.TrimSpace(drawn.Stdout), "\n"), "release web/db")...)

	s.press("jjjw")
	told := clitest.Run(t, server, namespace, clitest.Call{Command: why.New, Args: []string{"deployitem/shop-web-nginx"}})
	s.shows("── Why: DeployItem/shop-web-nginx ──", strings.SplitN(told.Stdout, "\n", 2)[0])
	s.press("e")
	s.shows("── Events: DeployItem/shop-web-nginx ──", "There are no events.")
	say(t, server, nginx, "CrashLoop") // Nothing else changes.
	s.passed.Add(int64(rereading))
	s.shows("CrashLoop", "event of shop-web-nginx")
	s.press("\x1b[D\x1b[D") // Left: to the execution, which is then closed.
	s.until("a closed execution", func(shown string) bool { return !strings.Contains(shown, "DeployItem/shop-web-nginx  ") })

	controller.Settle(t, shop, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	s.showsRow("Installation/shop", "Succeeded")
	s.press("r")
	s.shows("y/n: reconcile installation " + namespace + "/shop?")
	s.press("n")
	s.shows("Not sent: reconcile Installation/shop")
	s.press("ry")
	s.shows("installation shop will run a job")
	s.showsRow("Installation/shop", "Requested")
	controller.Grant(t, shop, "22222222-2222-4222-8222-222222222222")
	controller.Adopt(t, shop, "22222222-2222-4222-8222-222222222222")
	s.showsRow("Installation/shop", "Init")
	s.press("iy")
	s.shows("installation shop is interrupted")
	asked := &lsv1alpha1.Installation{}
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(shop), asked); err != nil {
		t.Fatal(err)
	}
	if asked.Annotations[lsv1alpha1.OperationAnnotation] != string(lsv1alpha1.OperationInterrupt) {
		t.Errorf("annotations are %v", asked.Annotations)
	}

	s.press("q")
	if code := s.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	_, raw := s.text()
	for _, want := range []string{"\x1b[?1049h", "Installation/shop", "\x1b[?1049l"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the terminal did not get %q: %q", want, raw)
		}
	}
	if strings.Contains(raw, "\x1b[31m") {
		t.Errorf("a message has steered the terminal: %q", raw)
	}
}

// takeOver says that another deploy item has the release of one.
func takeOver(t *testing.T, server *testkit.APIServer, namespace, name string) {
	t.Helper()
	item := &lsv1alpha1.DeployItem{}
	if err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, item); err != nil {
		t.Fatal(err)
	}
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"release": {"name": "db", "namespace": "web", "takenOverBy": "other/db"}}`)}
	if err := server.Client().Status().Update(t.Context(), item); err != nil {
		t.Fatal(err)
	}
}

// say records an event.
func say(t *testing.T, server *testkit.APIServer, about client.Object, reason string) {
	t.Helper()
	set, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.EventsV1().Events(about.GetNamespace()).Create(t.Context(), &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "event-"}, EventTime: metav1.NewMicroTime(clitest.Ago(time.Minute)),
		ReportingController: "espalier", ReportingInstance: "test", Action: "Reconcile", Reason: reason, Type: corev1.EventTypeWarning,
		Note:      "event of " + about.GetName(),
		Regarding: corev1.ObjectReference{Kind: "DeployItem", Namespace: about.GetNamespace(), Name: about.GetName()},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// What cannot be watched is told without a screen.
func TestNothingToWatch(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Blog(t, server, namespace)
	terminal := &clitest.Terminal{Width: 80, Height: 24}
	for name, test := range map[string]struct {
		call clitest.Call
		code int
		want []string
	}{
		"no terminal": {clitest.Call{Args: []string{"blog"}}, cli.ExitError, []string{
			"error: cannot watch: standard input or output is not a terminal that can be drawn on\n", "next:  espalier tree blog -n <namespace> --kubeconfig=", "espalier wait blog",
		}},
		"no terminal and no name": {clitest.Call{}, cli.ExitError, []string{"next:  espalier tree -n <namespace>", "espalier get -n <namespace>"}},
		"of all namespaces": {clitest.Call{Args: []string{"-A"}}, cli.ExitError, []string{
			"next:  espalier tree --all-namespaces --kubeconfig=", "espalier get --all-namespaces --kubeconfig=",
		}},
		"a dumb terminal":   {clitest.Call{Terminal: terminal, Variables: map[string]string{"TERM": "dumb"}}, cli.ExitError, []string{"cannot watch"}},
		"unknown":           {clitest.Call{Args: []string{"nope"}, Terminal: terminal}, cli.ExitNotFound, []string{"installation nope does not exist"}},
		"another kind":      {clitest.Call{Args: []string{"deployitem/blog-site"}, Terminal: terminal}, cli.ExitError, []string{"does not name an installation"}},
		"a name everywhere": {clitest.Call{Args: []string{"blog", "-A"}, Terminal: terminal}, cli.ExitError, []string{"names and --all-namespaces do not go together"}},
		"forbidden":         {clitest.Call{Args: []string{"--as=nobody"}, Terminal: terminal}, cli.ExitNotFound, []string{"forbidden"}},
		"two names":         {clitest.Call{Args: []string{"blog", "shop"}, Terminal: terminal}, cli.ExitError, []string{"accepts at most 1 arg"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.call.Command = New
			got := clitest.Run(t, server, namespace, test.call)
			if got.Code != test.code || got.Stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.Code, got.Stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
				}
			}
		})
	}
}

// From the list of all namespaces, trees are opened. The deletion of an installation is told, and so is a server that is away for a while:
// neither ends the command.
func TestWatchingAllNamespaces(t *testing.T) {
	server := testkit.NewServer(t, testkit.Persistent(), testkit.ProjectCRDs())
	namespace := server.Namespace(t)
	clitest.Blog(t, server, namespace)
	busy := testkit.Installation(namespace, "busy").Build()
	busy.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(t, server, busy)

	s := start(t, server, "-A")
	s.shows("Installations in all namespaces", "NAMESPACE", ">  "+namespace)
	s.showsRow("blog", "Failed")
	s.press("\r")
	s.shows("Installation/blog in namespace "+namespace, "├─ DeployItem/blog-site", "manifest 2: ")
	s.press("w")
	s.shows("Installation/blog has failed because of DeployItem/blog-theme (InvalidManifest)", "kubectl describe deployitem blog-theme -n "+namespace)
	s.press("\x1b[6~") // PgDn
	s.shows("espalier reconcile blog --wait -n " + namespace)
	blog := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blog"}}
	if err := server.Client().Delete(t.Context(), blog); err != nil {
		t.Fatal(err)
	}
	s.shows("Installation/blog has been deleted. Press left to go back to the list.")
	s.press("h")
	s.shows("Installations in all namespaces", ">  "+namespace)
	s.press("l")
	s.shows("Installation/busy in namespace " + namespace)

	server.Stop(t)
	s.shows("! No connection, retrying: ")
	s.showsRow("Installation/busy", "Progressing")
	server.Start(t)
	clitest.Controller{Server: server}.Settle(t, busy, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	s.showsRow("Installation/busy", "Succeeded")
	s.shows("? help")
	s.press("\x03")
	if code := s.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/kubelet"
	"espalier.dev/internal/web/loglines"
	"espalier.dev/internal/web/view"
)

func TestLinesAboutDeployItemsAreKept(t *testing.T) {
	var beside []string
	keeper := NewLogKeeper()
	log := keeper.Beside(funcr.New(func(_, args string) { beside = append(beside, args) }, funcr.Options{Verbosity: 1}))
	web := log.WithName("deployer").WithValues("controller", "mock", "DeployItem", klog.KRef("a", "web"), "namespace", "a", "name", "web")
	web.Info("Deploying", "release", "shop")
	web.V(1).Info("Looking")
	web.Error(errors.New("no such chart"), "Not deployed")
	log.Info("Elected")
	log.Info("Also about it", "DeployItem", map[string]string{"namespace": "a", "name": "web"})
	want := []string{"info Deploying release=shop", "debug Looking", "error Not deployed: no such chart", "info Also about it"}
	for i, line := range keeper.Of(client.ObjectKey{Namespace: "a", Name: "web"}) {
		if i >= len(want) || line.Level+" "+line.Text != want[i] || line.Time == nil {
			t.Errorf("line %d is %+v", i, line)
		}
	}
	if len(beside) != 5 || len(keeper.Of(client.ObjectKey{Namespace: "a", Name: "web"})) != 4 {
		t.Errorf("%q", beside)
	}
	if other := keeper.Of(client.ObjectKey{Namespace: "b", Name: "web"}); other == nil || len(other) != 0 {
		t.Errorf("of another item: %v", other)
	}
}

func TestWhatIsKeptHasLimits(t *testing.T) {
	keeper := NewLogKeeper()
	log := keeper.Beside(logr.New(funcr.New(func(string, string) {}, funcr.Options{}).GetSink()))
	about := func(name string) logr.Logger { return log.WithValues("DeployItem", klog.KRef("a", name)) }
	for i := range maxLogLines + 5 {
		about("busy").Info(strconv.Itoa(i))
	}
	about("busy").Info(strings.Repeat("x", loglines.MaxText+100))
	lines := keeper.Of(client.ObjectKey{Namespace: "a", Name: "busy"})
	if len(lines) != maxLogLines || lines[0].Text != "6" || len(lines[maxLogLines-1].Text) > loglines.MaxText+4 {
		t.Errorf("%d lines, the first is %+v", len(lines), lines[0])
	}
	for i := range maxLogItems {
		about(strconv.Itoa(i)).Info("x")
	}
	if len(keeper.items) != maxLogItems || len(keeper.Of(client.ObjectKey{Namespace: "a", Name: "busy"})) != 0 {
		t.Errorf("%d items", len(keeper.items))
	}
}

func TestLogsOfControllersInThisProcess(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	testkit.Create(t, cluster, testkit.DeployItem(namespace, "web").Build(), testkit.DeployItem(namespace, "calm").Build())
	keeper := NewLogKeeper()
	keeper.Beside(funcr.New(func(string, string) {}, funcr.Options{})).Info("Deploying", "DeployItem", klog.KRef(namespace, "web"))
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}, Logs: keeper})
	may, mayNot := s.login(t, tokenFor(t, cluster, namespace, looking())), s.login(t, tokenFor(t, cluster, namespace))
	var web, calm view.Logs
	may.get("/api/v1/logs?name=web&namespace="+namespace).into(t, &web)
	may.get("/api/v1/logs?name=calm&namespace="+namespace).into(t, &calm)
	if len(web.Lines) != 1 || web.Lines[0].Text != "Deploying" || web.Message != "" || len(calm.Lines) != 0 || calm.Message == "" {
		t.Errorf("%+v %+v", web, calm)
	}
	if answer := mayNot.get("/api/v1/logs?name=web&namespace=" + namespace); answer.StatusCode != http.StatusForbidden {
		t.Errorf("who may not read the item: %s %s", answer.Status, answer.text)
	}
}

func TestLogsOfControllersInPods(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	testkit.Create(t, cluster, testkit.DeployItem(namespace, "web").Build())
	about := func(name string) string {
		return fmt.Sprintf(`"DeployItem":{"name":%q,"namespace":%q}`, name, namespace)
	}
	log := strings.Join([]string{
		`{"level":"info","time":"2026-01-02T03:04:06Z","msg":"Second","release":"shop",` + about("web") + "}",
		"2026-01-02T03:04:05Z\tERROR\tFirst\t{" + about("web") + `, "error": "no such chart"}`,
		`{"level":"info","time":"2026-01-02T03:04:07Z","msg":"Of another",` + about("web-2") + "}",
		"something else", "{broken " + about("web"),
	}, "\n") + "\n"
	node := kubelet.ServeLogs(t, cluster.Config(), func(w io.Writer, _ kubelet.LogRequest) error {
		_, err := io.WriteString(w, log)
		return err
	})
	testkit.Create(t, cluster, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "controller", Labels: map[string]string{"app.kubernetes.io/name": "espalier-controller"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "controller", Image: "example.org/i:1"}}},
	})
	path := "/api/v1/logs?name=web&namespace=" + namespace
	var got view.Logs
	v := serve(t, cluster, Options{}).local(t)
	v.get(path).into(t, &got)
	if len(got.Lines) != 2 || got.Lines[0].Text != "First: no such chart" || got.Lines[0].Level != "error" ||
		got.Lines[1].Text != "Second release=shop" || got.Lines[1].Time == nil || got.Message != "" {
		t.Errorf("%+v", got)
	}
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	var refused view.Logs
	s.login(t, tokenFor(t, cluster, namespace, looking())).get(path).into(t, &refused)
	if len(refused.Lines) != 0 || !strings.Contains(refused.Message, "kubectl auth can-i list pods -n espalier-system") {
		t.Errorf("%+v", refused)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bugreport_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/archive"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/bugreport"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/kubelet"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// collect makes a report and returns what is in it, by the names of files.
func collect(t *testing.T, server *testkit.APIServer, namespace string, args ...string) (map[string]string, clitest.Result) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.tar.gz")
	result := clitest.Run(t, server, namespace, clitest.Call{Command: bugreport.New, Args: append(args, "--output-file", name)})
	if result.Code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", result.Code, result.Stderr)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %v, %v", info.Mode(), err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	files, err := archive.Read(in, archive.Default)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for path, content := range files {
		texts[strings.TrimPrefix(path, "espalier-bug-report/")] = string(content)
		if !strings.Contains(result.Stdout, strings.TrimPrefix(path, "espalier-bug-report/")) {
			t.Errorf("%s is not listed:\n%s", path, result.Stdout)
		}
	}
	return texts, result
}

// canaries are values, each of which is planted once.
type canaries []string

func (c *canaries) plant() string {
	*c = append(*c, fmt.Sprintf("Kq%02d_cAnary+%02dZx", len(*c), len(*c)))
	return (*c)[len(*c)-1]
}

// plantEverywhere fills every field that takes values, and has the controllers and people quote what is in Secrets, Targets and
// DataObjects.
func plantEverywhere(t *testing.T, server *testkit.APIServer, namespace string) canaries {
	t.Helper()
	var c canaries
	quoted := []string{c.plant(), c.plant(), c.plant()}
	data := testkit.DataObject(namespace, "numbers", map[string]any{"password": quoted[1], c.plant(): "x"}).Build()
	data.Annotations = map[string]string{"example.com/note": c.plant()}
	target := testkit.Target(namespace, "cluster").Config(map[string]any{"kubeconfig": "token: " + quoted[2]}).Build()
	target.Labels = map[string]string{"example.com/note": strings.NewReplacer("+", "-").Replace(c.plant())}
	context := testkit.Context(namespace, "own").Configuration("helm", map[string]any{"password": c.plant()}).Build()
	installation := testkit.Installation(namespace, "shop").Annotate("example.com/"+"note", c.plant()).Build()
	installation.Spec.Blueprint.Inline = &lsv1alpha1.InlineBlueprint{
		Filesystem: lsv1alpha1.AnyJSON{Raw: []byte(fmt.Sprintf(`{"blueprint.yaml": %q, %q: "x"}`, c.plant(), c.plant()))},
	}
	installation.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"a": {Raw: []byte(fmt.Sprintf("%q", c.plant()))}}
	said := "cannot use " + strings.Join(quoted, " or ") + " at https://example.com/"
	installation.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", said), clitest.Waits("Broken", said))
	item := testkit.DeployItem(namespace, "shop-item").Target("cluster").
		Config("example.com/odd", map[string]any{
			"apiVersion": "example.com/v1", "kind": "Odd", "values": map[string]any{"name": c.plant(), c.plant(): true},
		}).Build()
	item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", base64.StdEncoding.EncodeToString([]byte(quoted[0]))))
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"apiVersion":"a/v1","kind":"Status","release":%q}`, c.plant()))}
	testkit.Create(t, server, data, target, context,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "password"}, Data: map[string][]byte{
			"password": []byte(quoted[0]), "other": []byte(c.plant()),
		}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"a": c.plant()}},
		&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "told"}, Reason: "Broken", Message: said, Type: "Warning",
			InvolvedObject: corev1.ObjectReference{APIVersion: "landscaper.gardener.cloud/v1alpha1", Kind: "Installation", Namespace: namespace, Name: "shop"},
		},
		&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foreign"}, Reason: "Pulled", Message: c.plant(), Type: "Normal",
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: "other"},
		})
	clitest.Store(t, server, installation, item)
	return c
}

// Nothing of what was planted anywhere is in the archive or on the screen, and what helps is.
func TestNoValueIsInTheReport(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	planted := plantEverywhere(t, server, namespace)
	for name, args := range map[string][]string{
		"one namespace":  nil,
		"all namespaces": {"-A"},
		"somebody else":  {"--as=somebody", "--as-group=system:masters"},
	} {
		t.Run(name, func(t *testing.T) {
			files, result := collect(t, server, namespace, args...)
			files["the screen"] = result.Stdout + result.Stderr
			for path, text := range files {
				for i, canary := range planted {
					forms := []string{canary, strings.ReplaceAll(canary, "+", "-"), base64.StdEncoding.EncodeToString([]byte(canary))}
					if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) }) {
						t.Errorf("%s shows what was planted as number %d:\n%s", path, i, text)
					}
				}
			}
			for path, want := range map[string]string{
				"versions.yaml": "server:", "check.yaml": "findings:", "objects/installations.yaml": "phase: Failed",
				"objects/deployitems.yaml": "type: example.com/odd", "objects/dataobjects.yaml": "name: numbers", "events.yaml": "reason: Broken",
				"objects/targets.yaml": "name: cluster", "controllers/deployments.yaml": "",
			} {
				if text, found := files[path]; !found || !strings.Contains(text, want) {
					t.Errorf("%s lacks %q:\n%s", path, want, text)
				}
			}
			if said := files["objects/installations.yaml"]; !strings.Contains(said, "at https://example.com/") ||
				!strings.Contains(said, "<masked>") {
				t.Errorf("of the error is left:\n%s", said)
			}
		})
	}
}

// Who may not list Secrets gets no texts, because nobody knows what is in them.
func TestTextsAreLeftOutWhereSecretsAreNotKnown(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	planted := plantEverywhere(t, server, namespace)
	testkit.Create(t, server, viewerOf(namespace)...)
	files, _ := collect(t, server, namespace, "--as=somebody")
	for path, text := range files {
		for i, canary := range planted {
			if strings.Contains(text, canary) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(canary))) {
				t.Errorf("%s shows what was planted as number %d:\n%s", path, i, text)
			}
		}
	}
	said := files["objects/installations.yaml"]
	if strings.Contains(said, "cannot use") || !strings.Contains(said, "phase: Failed") || !strings.Contains(said, "is withheld") {
		t.Errorf("the installation is shown as:\n%s", said)
	}
	if !strings.Contains(files["objects/targets.yaml"], "forbidden") {
		t.Errorf("it is not said that Targets cannot be read:\n%s", files["objects/targets.yaml"])
	}
}

// viewerOf lets somebody see installations, deploy items and nothing else.
func viewerOf(namespace string) []client.Object {
	return []client.Object{
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{lsv1alpha1.GroupName}, Resources: []string{"installations", "deployitems"}, Verbs: []string{"list"},
			}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "somebody"}},
		},
	}
}

// Of a process that was killed, the report has the log before the restart, and why it ended; another container of the pod has its own log.
func TestRestartsAreInTheReport(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	const secret = "Kq_cAnary+Zx"
	testkit.Create(t, server, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "password"}, Data: map[string][]byte{"password": []byte(secret)},
	})
	node := kubelet.ServeLogs(t, server.Config(), func(w io.Writer, request kubelet.LogRequest) error {
		run := map[bool]string{false: "now", true: "before"}[request.Previous]
		_, err := fmt.Fprintf(w, "%s of %s is at work %s with %s\n", request.Container, request.Pod, run, secret)
		return err
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "espalier-controller-x"}, Spec: corev1.PodSpec{NodeName: node}}
	for _, name := range []string{"controller", "proxy"} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "example.org/i:1"})
	}
	testkit.Create(t, server, pod)
	killed := kubelet.Running("controller")
	killed.RestartCount = 3
	killed.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "OOMKilled", ExitCode: 137, Message: "while it read " + secret,
	}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{killed, kubelet.Running("proxy")}}
	if err := server.Client().Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	files, _ := collect(t, server, namespace, "--system-namespace", namespace)
	for path, want := range map[string][]string{
		"controllers/pods.yaml":                                     {"reason: OOMKilled", "exitCode: 137", "restarts: 3", "while it read <masked>"},
		"controllers/espalier-controller-x-controller.log":          {"controller of espalier-controller-x is at work now with <masked>"},
		"controllers/espalier-controller-x-controller.previous.log": {"controller of espalier-controller-x is at work before with <masked>"},
		"controllers/espalier-controller-x-proxy.log":               {"proxy of espalier-controller-x is at work now with <masked>"},
	} {
		for _, text := range want {
			if !strings.Contains(files[path], text) {
				t.Errorf("%s lacks %q:\n%s", path, text, files[path])
			}
		}
	}
	if text, found := files["controllers/espalier-controller-x-proxy.previous.log"]; found {
		t.Errorf("there is an earlier log of a container that was never restarted:\n%s", text)
	}
	for path, text := range files {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows the password:\n%s", path, text)
		}
	}
}

func TestAFileThatExistsStays(t *testing.T) {
	server := testkit.Server(t)
	name := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	result := clitest.Run(t, server, server.Namespace(t), clitest.Call{Command: bugreport.New, Args: []string{"--file", name}})
	if !strings.Contains(result.Stderr, "warning: --file and -f are deprecated: use --output-file") {
		t.Errorf("the old name of the flag: %s", result.Stderr)
	}
	if content, err := os.ReadFile(name); err != nil || string(content) != "mine" || result.Code != cli.ExitError {
		t.Errorf("%v, %s, exit code %d", err, content, result.Code)
	}
}

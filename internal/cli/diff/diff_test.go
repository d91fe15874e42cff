// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/diff"
	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/deployer/manifest"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	passwordOne = "swordfish-of-yesterday"
	passwordTwo = "lamprey-of-tomorrow"
)

// chart has an object that changes, one that goes, a Secret and a hook.
var chart = map[string]string{
	"Chart.yaml":             "apiVersion: v2\nname: garden\nversion: 1.0.0\n",
	"templates/bed.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-bed\"}\ndata: {word: \"{{ .Values.word }}\", stays: \"1\"}\n",
	"templates/extra.yaml":   "{{ if .Values.extra }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-extra\"}\n{{ end }}\n",
	"templates/secret.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: \"{{ .Release.Name }}-key\"}\nstringData: {key: \"{{ .Values.password }}\"}\n",
	"templates/sprinkle.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-hook\", annotations: {helm.sh/hook: pre-upgrade}}\n",
}

// kinds has an object of a kind that it defines.
var kinds = map[string]string{
	"Chart.yaml":           "apiVersion: v2\nname: kinds\nversion: 1.0.0\n",
	"templates/plant.yaml": "apiVersion: NAMESPACE.example.org/v1\nkind: Plant\nmetadata: {name: rose}\n",
	"crds/plants.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: plants.NAMESPACE.example.org}\n" +
		"spec: {group: NAMESPACE.example.org, scope: Namespaced, names: {kind: Plant, plural: plants}, versions: [{name: v1, served: true, " +
		"storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n",
}

// world is a namespace with the shop in it, which is deployed to where it is.
type world struct {
	*managed.World
	blueprint string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	text, err := os.ReadFile("testdata/blueprint.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{World: managed.NewWorld(t), blueprint: string(text)}
	w.Create(
		w.secret(passwordOne), w.installation("one"),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "foreign"}, Data: map[string]string{"a": "mine"}},
		testkit.DataObject(w.Namespace, "version", "one").Build(), testkit.DataObject(w.Namespace, "namespace", w.Namespace).Build(),
		w.packed("chart", chart), w.packed("kinds", kinds),
		testkit.Target(w.Namespace, "prod").Cluster(t, w.APIServer).Build(),
	)
	return w
}

// packed is a chart as a DataObject.
func (w *world) packed(name string, files map[string]string) *lsv1alpha1.DataObject {
	w.Helper()
	inside := map[string]string{}
	for file, text := range files {
		inside[file] = strings.ReplaceAll(text, "NAMESPACE", w.Namespace)
	}
	return testkit.DataObject(w.Namespace, name, base64.StdEncoding.EncodeToString(helmcharts.Pack(w.T, inside))).Build()
}

func (w *world) secret(password string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "login"},
		StringData: map[string]string{"password": password},
	}
}

// installation is the shop in a version.
func (w *world) installation(version string) *lsv1alpha1.Installation {
	inst := testkit.Installation(w.Namespace, "shop").Blueprint(w.blueprint).ImportData("version", "version").
		ImportData("chart", "chart").ImportData("kinds", "kinds").ImportData("namespace", "namespace").
		ImportSecret("password", "login", "password").ImportTarget("cluster", "prod").
		MapImport("version", version).Build()
	inst.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("Installation"))
	return inst
}

// file writes objects as a user does.
func (w *world) file(objects ...client.Object) string {
	w.Helper()
	var text strings.Builder
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			w.Fatal(err)
		}
		text.WriteString("---\n" + string(document))
	}
	path := filepath.Join(w.TempDir(), "files.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

// job runs a job to its good end. Nobody works before or after that.
func (w *world) job() {
	w.Helper()
	inst := w.installation("")
	w.Annotate(inst, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
	stop := w.Manage()
	defer stop()
	testkit.EventuallyFinished(w.T, w.APIServer, inst, lsv1alpha1.PhaseSucceeded)
}

// apply stores the installation and the secret of a version.
func (w *world) apply(inst *lsv1alpha1.Installation, secret *corev1.Secret) {
	w.Helper()
	stored := w.installation("")
	w.Read(stored)
	stored.Spec = inst.Spec
	for _, object := range []client.Object{stored, secret} {
		if err := w.Client().Update(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
}

func command(env cli.Environment) *cobra.Command {
	env.Forecasters = map[lsv1alpha1.DeployItemType]forecast.Forecaster{
		lsv1alpha1.DeployItemTypeManifest: manifest.Forecast, lsv1alpha1.DeployItemTypeHelm: helm.Forecast,
	}
	return diff.New(env)
}

// diff runs the command, and fails if it changes anything in the cluster, or shows a secret.
func (w *world) diff(external string, args ...string) clitest.Result {
	w.Helper()
	kinds := w.kinds()
	before := w.everything(kinds)
	got := clitest.Run(w.T, w.APIServer, w.Namespace, clitest.Call{
		Command: command, Args: args, Variables: map[string]string{"KUBECTL_EXTERNAL_DIFF": external},
	})
	if difference := cmp.Diff(before, w.everything(kinds)); difference != "" {
		w.Errorf("the command has written:\n%s", difference)
	}
	for _, secret := range []string{passwordOne, passwordTwo} {
		encoded := base64.StdEncoding.EncodeToString([]byte(secret))
		if text := got.Stdout + got.Stderr; strings.Contains(text, secret) || strings.Contains(text, encoded) {
			w.Errorf("%s is shown:\n%s", secret, text)
		}
	}
	return got
}

// restless are groups of the API whose objects the API server itself writes at any time.
var restless = []string{
	"apiregistration.k8s.io", "coordination.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io",
}

// kinds are those that can be listed.
func (w *world) kinds() []schema.GroupVersionKind {
	w.Helper()
	asker, err := discovery.NewDiscoveryClientForConfig(w.Config())
	if err != nil {
		w.Fatal(err)
	}
	lists, err := asker.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		w.Fatal(err)
	}
	var kinds []schema.GroupVersionKind
	for _, list := range lists {
		for _, resource := range list.APIResources {
			kind := schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind)
			changes := slices.Contains(restless, kind.Group) || kind.Kind == "Event" || kind.Kind == "ComponentStatus"
			if slices.Contains(resource.Verbs, "list") && !changes {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// everything are the versions of all objects of some kinds in the cluster. Of definitions it is the generation, for their status follows
// later.
func (w *world) everything(kinds []schema.GroupVersionKind) map[string]string {
	w.Helper()
	reader, err := client.New(w.Config(), client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	found := map[string]string{}
	for _, kind := range kinds {
		all := &metav1.PartialObjectMetadataList{}
		all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := reader.List(w.Context(), all); err != nil {
			w.Fatal(err)
		}
		for _, item := range all.Items {
			version := item.ResourceVersion
			if kind.Kind == "CustomResourceDefinition" {
				version = fmt.Sprint(item.Generation)
			}
			found[strings.Join([]string{kind.String(), item.Namespace, item.Name}, " ")] = version
		}
	}
	if len(found) < 20 {
		w.Errorf("only %d objects were found", len(found))
	}
	return found
}

// sameForPrograms checks that -o json and -o name tell what the text tells, and that no other program is asked to show it.
func (w *world) sameForPrograms(text clitest.Result, file string) {
	w.Helper()
	var printed struct {
		Changes []struct{ Kind, Namespace, Name, Change, Target, DeployItem, Diff string }
		Notes   []string
	}
	got := w.diff("false", "-f", file, "-o", "json")
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil || got.Code != text.Code {
		w.Fatalf("%v: exit code %d\n%s", err, got.Code, got.Stderr)
	}
	var again strings.Builder
	for _, c := range printed.Changes {
		object := c.Name
		if c.Namespace != "" {
			object = c.Namespace + "/" + c.Name
		}
		title := fmt.Sprintf("diff %s %s (%s, Target %s, deploy item %s)\n", c.Kind, object, c.Change, c.Target, c.DeployItem)
		if !strings.Contains(text.Stdout, title) {
			w.Errorf("the text does not tell of %q", title)
		}
		again.WriteString(c.Diff)
	}
	var hunks strings.Builder
	for line := range strings.Lines(text.Stdout) {
		if !strings.HasPrefix(line, "diff ") && !strings.HasPrefix(line, "--- live/") && !strings.HasPrefix(line, "+++ next/") {
			hunks.WriteString(line)
		}
	}
	if difference := cmp.Diff(hunks.String(), again.String()); difference != "" {
		w.Errorf("the diffs (- text, + JSON):\n%s", difference)
	}
	for _, note := range printed.Notes {
		if !strings.Contains(text.Stderr, "note: "+note+"\n") {
			w.Errorf("the text lacks the note %q", note)
		}
	}
	names := w.diff("", "-f", file, "-o", "name")
	if lines := strings.Count(names.Stdout, "\n"); names.Code != text.Code || lines != len(printed.Changes) || lines == 0 {
		w.Errorf("%d names of %d objects: exit code %d\n%s", lines, len(printed.Changes), names.Code, names.Stdout)
	}
}

// TestTheWholeTree goes from nothing to a second version, and compares what was foreseen with what has become.
func TestTheWholeTree(t *testing.T) {
	w := newWorld(t)
	first := w.diff("", "shop")
	if first.Code != diff.ExitDiffers {
		t.Errorf("before the first job: exit code %d\n%s", first.Code, first.Stderr)
	}
	testkit.Golden(t, "first.txt", first.Stderr+first.Stdout)

	w.job()
	if got := w.diff("", "shop"); got.Code != cli.ExitOK || got.Stdout != "" || !strings.Contains(got.Stderr, "A job would change nothing in the targets.") {
		t.Errorf("after the job: exit code %d\n%s%s", got.Code, got.Stderr, got.Stdout)
	}

	inst, secret := w.installation("two"), w.secret(passwordTwo)
	file := w.file(inst, secret)
	second := w.diff("", "-f", file)
	if second.Code != diff.ExitDiffers {
		t.Errorf("of the files: exit code %d\n%s", second.Code, second.Stderr)
	}
	testkit.Golden(t, "second.txt", second.Stderr+second.Stdout)

	w.sameForPrograms(second, file)
	foreseen := t.TempDir()
	if got := w.diff("cp -r -t "+foreseen, "-f", file); got.Code != diff.ExitDiffers || got.Stdout != "" {
		t.Errorf("with another program: exit code %d\n%s%s", got.Code, got.Stderr, got.Stdout)
	}
	w.apply(inst, secret)
	if got := w.diff("", "shop"); got.Stdout != second.Stdout {
		t.Errorf("of what the files were applied to:\n%s", cmp.Diff(second.Stdout, got.Stdout))
	}
	w.job()
	if got := w.diff("", "shop"); got.Code != cli.ExitOK || got.Stdout != "" {
		t.Errorf("after the second job: exit code %d\n%s%s", got.Code, got.Stderr, got.Stdout)
	}
	w.compare(foreseen)
	w.wantGone(foreseen)
	w.drift()
}

// compare looks whether objects have become what was foreseen. What is masked is not compared.
func (w *world) compare(foreseen string) {
	w.Helper()
	files, err := filepath.Glob(filepath.Join(foreseen, "next", "*"))
	if err != nil || len(files) < 12 {
		w.Fatalf("only %d objects were foreseen: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			w.Fatal(err)
		}
		want := &unstructured.Unstructured{}
		document, err := yaml.YAMLToJSON(text)
		if err == nil {
			err = want.UnmarshalJSON(document)
		}
		if err != nil {
			w.Fatal(err)
		}
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(want.GroupVersionKind())
		if err := w.Client().Get(w.Context(), client.ObjectKeyFromObject(want), got); err != nil {
			w.Error(err)
			continue
		}
		for _, name := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"} {
			unstructured.RemoveNestedField(got.Object, "metadata", name)
		}
		delete(got.Object, "status")
		if strings.Contains(string(text), "<masked>") {
			delete(got.Object, "data")
			delete(want.Object, "data")
		}
		if difference := cmp.Diff(want.Object, got.Object); difference != "" {
			w.Errorf("%s (- foreseen, + become):\n%s", filepath.Base(file), difference)
		}
	}
}

// wantGone looks whether objects are gone that were to be deleted.
func (w *world) wantGone(foreseen string) {
	w.Helper()
	gone := 0
	files, err := filepath.Glob(filepath.Join(foreseen, "live", "*"))
	if err != nil {
		w.Fatal(err)
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(foreseen, "next", filepath.Base(file))); err == nil {
			continue
		}
		gone++
		object := &unstructured.Unstructured{}
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, &object.Object)
		}
		if err != nil {
			w.Fatal(err)
		}
		if w.Read(object) {
			w.Errorf("%s is still there", filepath.Base(file))
		}
	}
	if gone < 10 {
		w.Errorf("only %d objects were to be deleted", gone)
	}
}

// drift is what others do to the objects: a job puts it right.
func (w *world) drift() {
	w.Helper()
	for _, name := range []string{"by-update", "release-bed"} {
		w.Patch(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}, `{"data":{"stays":"changed by somebody"}}`)
	}
	w.Delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "template-bed"}})
	got := w.diff("", "shop")
	if got.Code != diff.ExitDiffers || !strings.Contains(got.Stderr, "Objects that a job would change: 1 created, 2 changed.") ||
		strings.Count(got.Stdout, "-  stays: changed by somebody\n+  stays: \"1\"\n") != 2 ||
		!strings.Contains(got.Stdout, "diff ConfigMap <namespace>/template-bed (created, Target prod, deploy item shop/template)") {
		w.Errorf("after a drift: exit code %d\n%s%s", got.Code, got.Stderr, got.Stdout)
	}
}

// TestWhatCannotBeCompared has exit codes that do not say that something differs.
func TestWhatCannotBeCompared(t *testing.T) {
	w := newWorld(t)
	broken := testkit.Target(w.Namespace, "prod").Kubeconfig(strings.Join([]string{
		"apiVersion: v1", "kind: Config", "current-context: c", "contexts: [{name: c, context: {cluster: c, user: u}}]",
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]", "users: [{name: u, user: {token: " + passwordOne + "}}]",
	}, "\n")).Build()
	broken.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("Target"))
	refused := w.installation("refused")
	unrendered := w.installation("one")
	unrendered.Spec.Imports.Data = unrendered.Spec.Imports.Data[:1]
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"nothing named":        {nil, diff.ExitFailed, []string{"name one installation, or files with -f"}},
		"both named":           {[]string{"shop", "-f", "x"}, diff.ExitFailed, []string{"name one installation, or files with -f"}},
		"two named":            {[]string{"shop", "blog"}, diff.ExitFailed, []string{"accepts at most 1 arg"}},
		"an unknown flag":      {[]string{"--nope"}, diff.ExitFailed, []string{"unknown flag: --nope"}},
		"no such one":          {[]string{"blog"}, cli.ExitNotFound, []string{"installation blog does not exist"}},
		"no such file":         {[]string{"-f", "nowhere.yaml"}, diff.ExitFailed, []string{"read manifests"}},
		"files without one":    {[]string{"-f", w.file(w.secret("x"))}, diff.ExitFailed, []string{"there is no Installation among the manifests"}},
		"an object refused":    {[]string{"-f", w.file(refused)}, diff.ExitFailed, []string{"error: Service <namespace>/web, Target prod, deploy item shop/service: the dry run was rejected: ", "spec.ports"}},
		"a target that is off": {[]string{"-f", w.file(w.installation("one"), broken)}, diff.ExitFailed, []string{"error: deploy item shop/update, Target prod: ", "127.0.0.1:1"}},
		"imports missing":      {[]string{"-f", w.file(unrendered)}, diff.ExitFailed, []string{"installation shop: ", "import"}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &world{World: managed.In(&testkit.World{T: t, APIServer: w.APIServer, Namespace: w.Namespace}), blueprint: w.blueprint}
			got := inner.diff("", test.args...)
			if got.Code != test.code {
				t.Errorf("exit code %d:\n%s", got.Code, got.Stderr)
			}
			for _, words := range test.want {
				if !strings.Contains(got.Stderr, words) {
					t.Errorf("no %q in:\n%s", words, got.Stderr)
				}
			}
		})
	}
}

// The others are compared if nothing can be said of one of several installations.
func TestOneOfSeveralThatCannotBeCompared(t *testing.T) {
	w := newWorld(t)
	broken := w.installation("one")
	broken.Name, broken.Spec.Imports.Data = "broken", broken.Spec.Imports.Data[:1]
	file := w.file(broken, w.installation("one"))
	got := w.diff("", "-f", file)
	if got.Code != diff.ExitFailed || strings.Count(got.Stderr, "error: ") != 1 || !strings.Contains(got.Stderr, "error: installation broken: ") ||
		!strings.Contains(got.Stderr, "Not everything could be compared (errors: 1): ") ||
		!strings.Contains(got.Stdout, "diff ConfigMap <namespace>/by-update (created, Target prod, deploy item shop/update)") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stderr, got.Stdout)
	}
	shown := t.TempDir()
	got = w.diff("cp -r -t "+shown, "-f", file)
	files, err := filepath.Glob(filepath.Join(shown, "next", "prod_v1.ConfigMap.*.by-update"))
	if got.Code != diff.ExitFailed || len(files) != 1 || err != nil {
		t.Errorf("with another program, which gets %q: exit code %d:\n%s%s", files, got.Code, got.Stderr, got.Stdout)
	}
}

// A selector chooses installations of the cluster. One of them that cannot be compared does not stop the others.
func TestTheInstallationsOfASelector(t *testing.T) {
	w := newWorld(t)
	broken, other := w.installation("one"), w.installation("one")
	broken.Name, broken.Spec.Imports.Data, broken.Labels = "broken", broken.Spec.Imports.Data[:1], map[string]string{"team": "one"}
	leaving := testkit.Installation(w.Namespace, "leaving").Finalizer("example.org/stays").Label("team", "one").Build()
	other.Name = "other"
	w.Create(broken, other, leaving)
	w.Patch(w.installation("one"), `{"metadata":{"labels":{"team":"one"}}}`)
	if err := w.Client().Delete(t.Context(), leaving.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	got := w.diff("", "-l", "team=one")
	if got.Code != diff.ExitFailed || strings.Count(got.Stderr, "error: ") != 1 || !strings.Contains(got.Stderr, "error: installation broken: ") ||
		!strings.Contains(got.Stderr, "installation leaving is being deleted, and is left out") || strings.Contains(got.Stdout, "deploy item other/") ||
		!strings.Contains(got.Stdout, "diff ConfigMap <namespace>/by-update (created, Target prod, deploy item shop/update)") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stderr, got.Stdout)
	}
	w.Patch(leaving, `{"metadata":{"finalizers":null}}`)
}

// Ctrl-C ends the program that shows the differences, and leaves no files.
func TestAnInterruptEndsTheOtherProgram(t *testing.T) {
	w := newWorld(t)
	temporary, script := t.TempDir(), filepath.Join(t.TempDir(), "show.sh")
	t.Setenv("TMPDIR", temporary)
	if err := os.WriteFile(script, []byte("echo showing >&2\nexec tail -f /dev/null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	running := clitest.Start(t, w.APIServer, w.Namespace, clitest.Call{
		Command: command, Args: []string{"shop"}, Variables: map[string]string{"KUBECTL_EXTERNAL_DIFF": "sh " + script},
	})
	running.Until(t, "showing\n")
	running.Interrupt()
	if got := running.Wait(t); got.Code != cli.ExitDetached || !strings.HasSuffix(got.Stderr, "error: interrupted\n") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stderr, got.Stdout)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "espalier-diff-*")); len(left) > 0 || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}

// A dry run asks for nothing else, and what it does not understand it does not send.
func TestNothingIsSentThatCouldBeStored(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.RawQuery+" "+string(body))
	}))
	defer server.Close()
	client := http.Client{Transport: forecast.DryRun(http.DefaultTransport)}
	for _, test := range []struct{ method, query, body, want string }{
		{"GET", "a=1", "", "GET a=1 "},
		{"POST", "a=1", "x", "POST a=1&dryRun=All x"},
		{"PUT", "dryRun=", "x", "PUT dryRun=All x"},
		{"PATCH", "", "x", "PATCH dryRun=All x"},
		{"DELETE", "", "", "DELETE dryRun=All "},
		{"DELETE", "", `{"dryRun":[],"propagationPolicy":"Background"}`, `DELETE dryRun=All {"dryRun":["All"],"propagationPolicy":"Background"}`},
		{"DELETE", "", "not JSON", ""},
		{"MERGE", "", "", ""},
	} {
		got = nil
		request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+"/?"+test.query, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		if sent := strings.Join(got, ""); sent != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s %s %q: sent %q, %v", test.method, test.query, test.body, sent, err)
		}
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package create_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/create"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/registry"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// planted is a value that no output may show.
const planted = "swordfish"

// greeter has a data import of each sort, and Targets in each form. It deploys a ConfigMap into the namespace that an import names.
var greeter = map[string]string{
	"blueprint.yaml": `
localTypes:
  word: {type: string, minLength: 2}
imports:
  - {name: where, schema: {type: string}}
  - {name: greeting, schema: {$ref: "local://word", description: "What to say first."}}
  - {name: password, schema: {type: string, format: password}}
  - {name: times, required: false, default: {value: 2}, schema: {type: integer, minimum: 1}}
  - name: colour
    required: false
    schema: {type: string}
    imports:
      - {name: shade, schema: {type: object}}
  - {name: cluster, type: target, targetType: kubernetes-cluster}
exports:
  - {name: said, schema: {type: string}}
  - {name: where-it-is, type: target, targetType: kubernetes-cluster}
deployExecutions:
  - {name: deploy, type: GoTemplate, file: templates/deploy.yaml}
exportExecutions:
  - name: export
    type: GoTemplate
    template: |
      exports:
        said: {{ .imports.greeting }}
        where-it-is: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {}}
`,
	"templates/deploy.yaml": `
deployItems:
  - name: shown
    type: landscaper.gardener.cloud/kubernetes-manifest
    target: {import: cluster}
    config:
      apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
      kind: ProviderConfiguration
      updateStrategy: update
      manifests:
        - policy: manage
          manifest:
            apiVersion: v1
            kind: ConfigMap
            metadata: {namespace: {{ .imports.where }}, name: shown}
            data: {text: {{ printf "%s %s %v" .imports.greeting .imports.password .imports.times | toJson }}}
`,
}

// folder writes a blueprint into a directory.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// file writes a value into a file, and returns how flags name it.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return "@" + path
}

// made is the installation in an output, and the values that it imports, as manifests have them.
type made struct {
	installation lsv1alpha1.Installation
	configMap    corev1.ConfigMap
	secret       corev1.Secret
}

func read(t *testing.T, result clitest.Result) (m made) {
	t.Helper()
	if result.Code != 0 {
		t.Fatalf("exit code %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	for document := range strings.SplitSeq(result.Stdout, "---\n") {
		into := any(&m.installation)
		switch {
		case strings.Contains(document, "\nkind: ConfigMap\n"):
			into = &m.configMap
		case strings.Contains(document, "\nkind: Secret\n"):
			into = &m.secret
		}
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
	}
	return m
}

// alone runs the command without a cluster. Nothing that it prints may show a secret.
func alone(t *testing.T, stdin string, terminal *clitest.Terminal, args ...string) clitest.Result {
	t.Helper()
	result := clitest.RunAlone(t, clitest.Call{
		Command: create.New, Stdin: stdin, Terminal: terminal,
		Args: append([]string{"installation", "shop", "-n", "shops", "--dry-run=client", "-o", "yaml"}, args...),
	})
	if strings.Contains(result.Stdout+result.Stderr, planted) {
		t.Errorf("it shows a secret:\n%s%s", result.Stdout, result.Stderr)
	}
	return result
}

// An installation from a component runs as it was created, wherever the blueprint comes from.
func TestCreatedInstallationsRun(t *testing.T) {
	w := managed.NewWorld(t)
	w.Manage()
	server := registry.Start(t, registry.Options{})
	store := components.Store(t, server, oci.Credential{})
	components.Component{
		Name: "example.com/shop", Version: "1.0.0", Resources: []components.Resource{components.Blueprint(t, "blueprint", greeter)},
	}.Push(t, store)
	w.Create(testkit.Target(w.Namespace, "here").Cluster(t, w.APIServer).Build(),
		testkit.Context(w.Namespace, "ours").Repository(map[string]any{"type": "OCIRegistry", "baseUrl": server.URL}).Build())
	for name, source := range map[string][]string{
		"component": {"--component=example.com/shop:1.0.0", "--repository=" + server.URL},
		"context":   {"--component=example.com/shop:1.0.0", "--use-context=ours"},
		"directory": {"--blueprint=" + folder(t, greeter)},
	} {
		args := append([]string{
			"installation", name, "--import=where=" + w.Namespace, "--import=greeting=" + name, "--secret=password=" + file(t, planted),
			"--target=cluster=here",
		}, source...)
		call := func(more ...string) clitest.Result {
			return clitest.Run(t, w.APIServer, w.Namespace, clitest.Call{Command: create.New, Args: append(args, more...)})
		}
		inst := testkit.Installation(w.Namespace, name).Build()
		if result := call("--dry-run=server"); result.Code != 0 || w.Read(inst) {
			t.Errorf("a dry run ends with %d, and creates %v: %s", result.Code, inst.Spec, result.Stderr)
		}
		result := call()
		if want := "configmap " + name + "-imports created\nsecret " + name + "-imports created\ninstallation " + name + " created\n"; result.Code != 0 ||
			result.Stdout != want || !strings.Contains(result.Stderr, "espalier reconcile "+name+" --wait") {
			t.Fatalf("%s: exit code %d:\n%s%s", name, result.Code, result.Stdout, result.Stderr)
		}
		w.Annotate(inst, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
		testkit.EventuallyFinished(t, w.APIServer, inst, lsv1alpha1.PhaseSucceeded)
		shown := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "shown"}}
		if !w.Read(shown) || shown.Data["text"] != name+" "+planted+" 2" {
			t.Errorf("%s has deployed %v", name, shown.Data)
		}
		if result := call("--import=times=3"); result.Code != cli.ExitError || !strings.Contains(result.Stderr, "exists already") {
			t.Errorf("%s a second time, with exit code %d: %s", name, result.Code, result.Stderr)
		}
	}
	wrong := testkit.Target(w.Namespace, "bucket").Type("example.com/bucket").Config(map[string]any{}).Build()
	w.Create(wrong)
	base := []string{
		"installation", "other", "--blueprint=" + folder(t, greeter), "--import=where=x", "--import=greeting=hello", "--secret=password=p",
	}
	for target, want := range map[string]struct {
		code int
		text string
	}{
		"bucket":  {cli.ExitError, "needs a Target of type landscaper.gardener.cloud/kubernetes-cluster, and bucket is of type example.com/bucket"},
		"nowhere": {0, "warning: target nowhere does not exist yet"},
	} {
		result := clitest.Run(t, w.APIServer, w.Namespace, clitest.Call{Command: create.New, Args: append(base, "--dry-run=server", "--target=cluster="+target)})
		if result.Code != want.code || !strings.Contains(result.Stderr, want.text) {
			t.Errorf("target %s ends with %d: %s", target, result.Code, result.Stderr)
		}
	}
	asked := clitest.Run(t, w.APIServer, w.Namespace, clitest.Call{
		Command: create.New, Args: append(base, "--dry-run=server"), Terminal: &clitest.Terminal{Width: 80, Height: 24}, Stdin: "\n\n\nhere\n",
	})
	if asked.Code != 0 || !strings.Contains(asked.Stderr, "Targets in this namespace: here\n") ||
		!strings.Contains(asked.Stderr, "TARGET:   write TARGET\n") {
		t.Errorf("asked for a Target, it ends with %d: %s", asked.Code, asked.Stderr)
	}
	passOn(t, w)
}

// passOn has one installation export what another one imports.
func passOn(t *testing.T, w *managed.World) {
	t.Helper()
	run := func(name string, args ...string) clitest.Result {
		t.Helper()
		base := []string{
			"installation", name, "--blueprint=" + folder(t, greeter), "--import=where=" + w.Namespace, "--secret=password=" + file(t, planted), "--target=cluster=here",
		}
		return clitest.Run(t, w.APIServer, w.Namespace, clitest.Call{Command: create.New, Args: append(base, args...)})
	}
	finish := func(name string) {
		t.Helper()
		inst := testkit.Installation(w.Namespace, name).Build()
		w.Annotate(inst, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
		testkit.EventuallyFinished(t, w.APIServer, inst, lsv1alpha1.PhaseSucceeded)
	}
	if got := run("second", "--data=greeting=word", "--dry-run=server"); got.Code != 0 ||
		!strings.Contains(got.Stderr, "warning: DataObject word does not exist yet: the first job waits for it") {
		t.Errorf("%+v", got)
	}
	if got := run("first", "--import=greeting=welcome", "--export=said=word", "--export=where-it-is=there"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	finish("first")
	if got := run("second", "--data=greeting=word"); got.Code != 0 || strings.Contains(got.Stderr, "warning") {
		t.Fatalf("%+v", got)
	}
	finish("second")
	shown := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "shown"}}
	if !w.Read(shown) || shown.Data["text"] != "welcome "+planted+" 2" {
		t.Errorf("it has deployed %v", shown.Data)
	}
	if !w.Read(testkit.Target(w.Namespace, "there").Build()) {
		t.Error("the Target that it exports does not exist")
	}
	w.Create(testkit.DataObject(w.Namespace, "short", planted[:1]).Build())
	if got := run("third", "--data=greeting=short"); got.Code != cli.ExitError ||
		!strings.Contains(got.Stderr, "--data greeting: DataObject short: ") || !strings.Contains(got.Stderr, "does not match its schema") {
		t.Errorf("a DataObject that does not fit: %+v", got)
	}
	w.Create(testkit.DataObject(w.Namespace, "odd", "in JSON, not in YAML: \u007f").Build())
	if got := run("third", "--data=greeting=odd", "--dry-run=server"); got.Code != 0 {
		t.Errorf("a DataObject that YAML cannot hold: %+v", got)
	}
}

// In a terminal people are asked, until an answer fits; an empty answer leaves out what is optional.
func TestPeopleAreAskedForImports(t *testing.T) {
	terminal := &clitest.Terminal{Width: 100, Height: 30}
	answers := "\nh\nhello\n" + planted + "\nmany\n0\n3\nred\n12\n{depth: 1}\n\nproduction\n"
	result := alone(t, answers, terminal, "--blueprint="+folder(t, greeter), "--import=where=1.10")
	m := read(t, result)
	if diff := cmp.Diff(map[string]string{
		"where": `"1.10"`, "greeting": `"hello"`, "times": "3", "colour": `"red"`, "shade": `{"depth":1}`,
	}, m.configMap.Data); diff != "" {
		t.Errorf("the values (-want +got):\n%s", diff)
	}
	if m.secret.StringData["password"] != "<masked>" || m.secret.Name != "shop-imports" {
		t.Errorf("the Secret is %+v", m.secret)
	}
	imports := m.installation.Spec.Imports
	if len(imports.Data) != 6 || imports.Data[2].SecretRef == nil || imports.Targets[0].Target != "production" {
		t.Errorf("the imports are %+v", imports)
	}
	for _, text := range []string{
		"greeting: data\n  What to say first.\n  schema: {", "times: data of type integer, optional, default 2\n", "value (not shown): ",
		"does not match its schema", "a value is required", "cluster: target of type landscaper.gardener.cloud/kubernetes-cluster\n",
	} {
		if !strings.Contains(result.Stderr, text) {
			t.Errorf("it does not say %q:\n%s", text, result.Stderr)
		}
	}

	m = read(t, alone(t, "hello\np\n\n\nproduction\n", terminal, "--blueprint="+folder(t, greeter), "--import=where=x"))
	if len(m.configMap.Data) != 2 {
		t.Errorf("without answers for what is optional, the values are %v", m.configMap.Data)
	}
	result = alone(t, "hello\n", terminal, "--blueprint="+folder(t, greeter), "--import=where=x")
	if result.Code != cli.ExitError || result.Stdout != "" || !strings.Contains(result.Stderr, "imports that are not given: password") {
		t.Errorf("when the answers end, it ends with %d: %s", result.Code, result.Stderr)
	}
}

// A value is what the schema takes it for, and controllers read the same.
func TestValuesOfImports(t *testing.T) {
	const pem = "-----BEGIN KEY-----\nabc\n-----END KEY-----\n"
	for name, test := range map[string]struct{ schema, value, want string }{
		"a number":                {"{type: integer}", "12", "12"},
		"a text of digits":        {"{type: string}", "1.10", `"1.10"`},
		"a text like a boolean":   {"{type: string}", "yes", `"yes"`},
		"a quoted @":              {"{type: string}", `"@x"`, `"@x"`},
		"a quoted text":           {"{}", `"1.10"`, `"1.10"`},
		"anything":                {"{}", "1.5", "1.5"},
		"an empty text":           {"{type: string}", "", `""`},
		"nothing":                 {`{type: "null"}`, "null", "null"},
		"an object":               {"{type: object}", "{a: [1, b]}", `{"a":[1,"b"]}`},
		"a file with an object":   {"{type: object}", file(t, "a:\n  b: true\n"), `{"a":{"b":true}}`},
		"a file of lines":         {"{type: string}", file(t, pem), `"-----BEGIN KEY-----\nabc\n-----END KEY-----\n"`},
		"YAML that stays a text":  {"{type: string}", file(t, "a: b\n"), `"a: b\n"`},
		"a large number":          {"{type: integer}", "9007199254740993", "9007199254740993"},
		"a text with a template":  {"{type: string}", "(( x )) {{ y }}", `"(( x )) {{ y }}"`},
		"standard input":          {"{type: string}", "@-", `"typed"`},
		"equals signs and commas": {"{type: string}", "a=b,c=d", `"a=b,c=d"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"blueprint.yaml": "imports: [{name: it, type: data, schema: " + test.schema + "}]"})
			m := read(t, alone(t, "typed", nil, "--blueprint="+dir, "--import=it="+test.value))
			if m.configMap.Data["it"] != test.want {
				t.Errorf("it is %s", m.configMap.Data["it"])
			}
		})
	}
	dir := folder(t, map[string]string{"blueprint.yaml": `
imports:
  - {name: list, type: targetList, targetType: kubernetes-cluster}
  - {name: map, type: targetMap, targetType: kubernetes-cluster}
  - {name: odd name, schema: {type: string, writeOnly: true}}`})
	m := read(t, alone(t, "", nil, "--blueprint="+dir, "--target=list=a, b", "--target=map=eu:a,us:b", "--import=odd name="+planted))
	if diff := cmp.Diff(lsv1alpha1.InstallationImports{
		Data: []lsv1alpha1.DataImport{{Name: "odd name", SecretRef: &lsv1alpha1.LocalSecretReference{Name: "shop-imports", Key: "import-1"}}},
		Targets: []lsv1alpha1.TargetImport{
			{Name: "list", Targets: []string{"a", "b"}}, {Name: "map", TargetMap: map[string]string{"eu": "a", "us": "b"}},
		},
	}, m.installation.Spec.Imports); diff != "" {
		t.Errorf("the imports (-want +got):\n%s", diff)
	}
}

// Mistakes are told before anything is written, with the flag that helps, and without a value.
func TestWhatIsRefused(t *testing.T) {
	good := folder(t, greeter)
	enough := []string{"--blueprint=" + good, "--import=where=x", "--import=greeting=hello", "--secret=password=p", "--target=cluster=here"}
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"no imports": {
			[]string{"--blueprint=" + good},
			[]string{
				"imports that are not given: where, greeting, password, cluster", "--import where=VALUE  (data of type string)", "--secret password=@FILE",
				"--target cluster=TARGET  (target of type landscaper.gardener.cloud/kubernetes-cluster)",
			},
		},
		"a wrong value":          {append(enough, "--import=times="+planted), []string{"--import times: the value of import \"times\" does not match its schema"}},
		"a wrong secret":         {append(enough, "--secret=times="+file(t, "{a: "+planted+"}")), []string{"--secret times", "does not match"}},
		"a typo":                 {append(enough, "--import=tims=2"), []string{"no import of this name: tims; it has where, greeting"}},
		"a conditional import":   {append(enough, "--import=shade={}"), []string{"shade has no effect"}},
		"a missing condition":    {append(enough, "--import=colour=red"), []string{"not given: shade", "--import shade=VALUE"}},
		"data for a target":      {append(enough[:4:4], "--import=cluster=here"), []string{"--target cluster=TARGET"}},
		"a target for data":      {append(enough, "--target=times=here"), []string{"--import times=VALUE"}},
		"data for a target, too": {append(enough[:4:4], "--data=cluster=here"), []string{"--target cluster=TARGET"}},
		"data twice":             {append(enough, "--data=where=x"), []string{"import where is given twice"}},
		"no DataObject":          {append(enough, "--data=times="), []string{"--data times", "does not name a DataObject"}},
		"no form of data":        {append(enough, "--data=times"), []string{"--data number 1 is not of the form NAME=DATAOBJECT"}},
		"data with a typo":       {append(enough, "--data=tims=x"), []string{"no import of this name: tims; it has where, greeting"}},
		"an export with a typo":  {append(enough, "--export=sad=x"), []string{"no export of this name: sad; it has said, where-it-is"}},
		"an export twice":        {append(enough, "--export=said=x", "--export=said=y"), []string{"export said is given twice"}},
		"an export to nowhere":   {append(enough, "--export=said="), []string{"--export said", "does not name a DataObject or Target"}},
		"no name":                {append(enough, "--secret="+planted), []string{"--secret number 2 is not of the form NAME=VALUE"}},
		"twice":                  {append(enough, "--import=where=y"), []string{"import where is given twice"}},
		"a secret with an @":     {append(enough, "--secret=colour=@"+planted), []string{"--secret colour: no such file", `'"@text"'`}},
		"no such file":           {append(enough, "--import=colour=@/nowhere/at/all"), []string{"--import colour", "no such file"}},
		"nothing to install":     {nil, []string{"--component NAME:VERSION, or --blueprint"}},
		"two things to install":  {append(enough, "--component=a:1"), []string{"--component NAME:VERSION, or --blueprint"}},
		"no version":             {[]string{"--component=example.com/shop"}, []string{"write NAME:VERSION"}},
		"a password in a URL":    {[]string{"--component=a.b/c:1", "--repository=https://me:" + planted + "@example.com"}, []string{"no user and password"}},
		"an archive":             {[]string{"--component=a.b/c:1", "--repository=" + t.TempDir()}, []string{"names an archive"}},
		"a repository too many":  {append(enough, "--repository=x"), []string{"go with --component"}},
		"no blueprint":           {[]string{"--blueprint=" + t.TempDir()}, []string{"blueprint.yaml"}},
		"neither":                {[]string{"--blueprint=./nowhere"}, []string{"neither a directory that exists nor an artifact"}},
		"no such dry run":        {append(enough, "--dry-run=both"), []string{"none, client, server"}},
		"a file that is no text": {[]string{"--blueprint=" + folder(t, map[string]string{"blueprint.yaml": "imports: []", "b": "\xff"})}, []string{"b is not a text", "blueprint push"}},
		"a broken blueprint":     {[]string{"--blueprint=" + folder(t, map[string]string{"blueprint.yaml": "import: []"})}, []string{`unknown field "import"`, "blueprint validate"}},
	} {
		t.Run(name, func(t *testing.T) {
			result := alone(t, "", nil, test.args...)
			if result.Code != cli.ExitError || result.Stdout != "" {
				t.Errorf("exit code %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
			}
			said := strings.ReplaceAll(result.Stderr, "\n  ", " ") // YAML breaks long lines.
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q: %s", want, result.Stderr)
				}
			}
		})
	}
	for _, name := range []string{"Shop", "a.b", strings.Repeat("a", 59)} {
		result := clitest.RunAlone(t, clitest.Call{Command: create.New, Args: []string{"installation", name, "--blueprint=" + good}})
		if result.Code != cli.ExitError || !strings.Contains(result.Stderr, "cannot be the name of an installation") {
			t.Errorf("the name %s ends with %d: %s", name, result.Code, result.Stderr)
		}
	}
}

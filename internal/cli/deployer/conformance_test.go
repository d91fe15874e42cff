// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/deployer"
	"espalier.dev/internal/subprocess"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/program"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// limit is far longer than a deployer takes, and shorter than clitest waits.
const limit = "--timeout=5m"

// inputs are what a user knows about a deployer.
type inputs struct {
	itemType              lsv1alpha1.DeployItemType
	config, stuck, broken string
	args                  []string
}

func (in inputs) call(t *testing.T, args ...string) clitest.Call {
	t.Helper()
	call := clitest.Call{Command: deployer.New, Args: append([]string{"conformance", "--type=" + string(in.itemType), limit}, in.args...)}
	for flag, text := range map[string]string{"config": in.config, "stuck": in.stuck, "broken": in.broken} {
		if text == "" {
			continue
		}
		path := filepath.Join(t.TempDir(), flag+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		call.Args = append(call.Args, "--"+flag+"="+path)
	}
	call.Args = append(call.Args, args...)
	return call
}

// outcomes reads what the command has printed as JSON.
func outcomes(t *testing.T, got clitest.Result) map[string]string {
	t.Helper()
	var printed struct {
		Rules []struct{ Name, Outcome, Message string }
	}
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil {
		t.Fatalf("%v in %s\n%s", err, got.Stdout, got.Stderr)
	}
	all := map[string]string{}
	for _, rule := range printed.Rules {
		all[rule.Name] = strings.TrimSuffix(rule.Outcome+": "+rule.Message, ": ")
	}
	return all
}

var everyRule = []string{
	"pick-up", "idle", "again", "unchanged", "failure", "interrupt", "timeout", "exports", "deletion", "delete-without-uninstall", "continuous",
}

// keepsAll checks that a deployer keeps each rule, and that nothing is left in the namespace.
func keepsAll(t *testing.T, world *managed.World, in inputs) {
	t.Helper()
	got := clitest.Run(t, world.APIServer, world.Namespace, in.call(t, "-o", "json"))
	want := map[string]string{}
	for _, name := range everyRule {
		want[name] = "Kept"
	}
	if diff := cmp.Diff(want, outcomes(t, got)); diff != "" || got.Code != cli.ExitOK {
		t.Errorf("exit code %d, rules (-want +got):\n%s\n%s", got.Code, diff, got.Stderr)
	}
	nothingLeft(t, world)
}

func nothingLeft(t *testing.T, world *managed.World) {
	t.Helper()
	left := &lsv1alpha1.DeployItemList{}
	if err := world.Client().List(t.Context(), left, client.InNamespace(world.Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, item := range left.Items {
		t.Errorf("deploy item %s is left", item.Name)
	}
}

func TestOurDeployersKeepTheContract(t *testing.T) {
	chart := base64.StdEncoding.EncodeToString(helmcharts.Pack(t, map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: hello\nversion: 1.0.0\n",
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  greeting: hello\n",
		"values.yaml":           "greeting: hello\n",
	}))
	for name, in := range map[string]inputs{
		"mock": {
			itemType: lsv1alpha1.DeployItemTypeMock,
			config:   mockConfig + "phase: Succeeded\nexport: {greeting: hello}\n",
			stuck:    mockConfig + "phase: Progressing\n",
			broken:   mockConfig + "phase: Failed\n",
			args:     []string{"--export=greeting"},
		},
		"manifest": {
			itemType: lsv1alpha1.DeployItemTypeManifest,
			config:   manifestConfig + configMap + greetingExport,
			stuck:    manifestConfig + neverReady,
			broken:   manifestConfig + "manifests:\n- manifest: {apiVersion: v1, kind: ConfigMap}\n",
			args:     []string{"--export=greeting", "--target=cluster"},
		},
		"helm": {
			itemType: lsv1alpha1.DeployItemTypeHelm,
			config:   helmConfig(chart) + greetingExport,
			stuck:    helmConfig(chart) + "readinessChecks:\n  custom:\n  - " + neverHolds,
			broken:   helmConfig("bm8gY2hhcnQ="),
			args:     []string{"--export=greeting", "--target=cluster"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := managed.NewWorld(t, managed.Controllers("deployitems", "deployer-"+name))
			world.Create(testkit.Target(world.Namespace, "cluster").Cluster(t, world.APIServer).Build())
			world.Manage()
			keepsAll(t, world, in.in(world.Namespace))
		})
	}
}

// in puts the namespace of a test into configurations.
func (in inputs) in(namespace string) inputs {
	for _, text := range []*string{&in.config, &in.stuck, &in.broken} {
		*text = strings.ReplaceAll(*text, "NAMESPACE", namespace)
	}
	return in
}

const (
	mockConfig     = "apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1\nkind: ProviderConfiguration\n"
	manifestConfig = "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\nkind: ProviderConfiguration\n"
	configMap      = `manifests:
- policy: manage
  manifest:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: hello, namespace: NAMESPACE}
    data: {greeting: hello}
`
	greetingExport = `exports:
  exports:
  - key: greeting
    jsonPath: .data.greeting
    fromResource: {apiVersion: v1, kind: ConfigMap, name: hello, namespace: NAMESPACE}
`
	neverHolds = `name: never
    resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: hello, namespace: NAMESPACE}]
    requirements: [{jsonPath: .data.greeting, operator: ==, values: [{value: good night}]}]
`
	neverReady = configMap + "readinessChecks:\n  custom:\n  - " + neverHolds
)

func helmConfig(chart string) string {
	return `apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
kind: ProviderConfiguration
name: hello
namespace: NAMESPACE
chart:
  archive:
    raw: ` + chart + "\n"
}

func TestTheExampleOfAThirdPartyKeepsTheContract(t *testing.T) {
	t.Parallel()
	binary, err := program.FileDeployer.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	world := managed.NewWorld(t, managed.Controllers("deployitems"))
	world.Manage()
	process, err := subprocess.Start(subprocess.Command{
		Title: "the file deployer", Binary: binary, Arguments: []string{"--kubeconfig", world.Kubeconfig(), "--root", t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Stop(); err != nil {
			t.Error(err)
		}
	})
	const config = "apiVersion: example.espalier.dev/v1\nkind: Files\n"
	keepsAll(t, world, inputs{
		itemType: "example.espalier.dev/files",
		config:   config + "files: {greeting.txt: hello}\n",
		stuck:    config + "files: {missing/greeting.txt: hello}\n",
		broken:   config + "files: [greeting.txt]\n",
		args:     []string{"--export=folder"},
	})
}

func TestWhatIsNotGivenIsNotTried(t *testing.T) {
	t.Parallel()
	world := managed.NewWorld(t, managed.Controllers("deployitems", "deployer-mock"))
	world.Manage()
	in := inputs{itemType: lsv1alpha1.DeployItemTypeMock, config: mockConfig}
	got := clitest.Run(t, world.APIServer, world.Namespace, in.call(t, "--rule=pick-up,failure,interrupt,exports"))
	if got.Code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", got.Code, got.Stderr)
	}
	for _, want := range []string{
		"pick-up     Kept",
		"failure     NotTried   needs --broken",
		"interrupt   NotTried   needs --stuck",
		"exports     NotTried   needs --export",
	} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("it does not print %q:\n%s", want, got.Stdout)
		}
	}
}

func TestMistakesOnTheCommandLineAreToldBeforeAnythingIsCreated(t *testing.T) {
	t.Parallel()
	world := managed.NewWorld(t)
	in := inputs{itemType: lsv1alpha1.DeployItemTypeMock, config: mockConfig}
	for name, test := range map[string]struct {
		in   inputs
		args []string
		code int
		want string
	}{
		"unknown rule":     {in, []string{"--rule=pickup"}, cli.ExitError, `--rule: unknown rule "pickup"; known rules: pick-up, idle`},
		"unknown skip":     {in, []string{"--skip=nothing"}, cli.ExitError, `--skip: unknown rule "nothing"`},
		"no time":          {in, []string{"--timeout=0s"}, cli.ExitError, "--timeout is 0s"},
		"unknown format":   {in, []string{"-o", "xml"}, cli.ExitError, `unknown output format "xml"`},
		"no such file":     {in, []string{"--stuck=missing.yaml"}, cli.ExitError, "--stuck: open missing.yaml"},
		"not a document":   {inputs{itemType: "t", config: "{"}, nil, cli.ExitError, "is neither YAML nor JSON"},
		"not a config":     {inputs{itemType: "t", config: "phase: Succeeded"}, nil, cli.ExitError, "has no apiVersion or no kind"},
		"no such target":   {in, []string{"--target=nowhere"}, cli.ExitNotFound, "cannot read target nowhere: it does not exist"},
		"everything apart": {in, append([]string{"--rule=pick-up"}, "--skip=pick-up"), cli.ExitError, "no rule was tried"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, world.APIServer, world.Namespace, test.in.call(t, test.args...))
			if got.Code != test.code || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", got.Code, test.code, test.want, got.Stderr)
			}
		})
	}
	nothingLeft(t, world)
}

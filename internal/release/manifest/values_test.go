// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"espalier.dev/internal/manager"
)

// A typo is rejected with its name, before anything reaches a cluster.
func TestTheSchemaRefusesWithTheField(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"a section that is none":      {"controler: {}", "controler"},
		"a field that is none":        {"controller: {replica: 2}", "replica"},
		"a flag that is none":         {"controller: {flags: {worker: 3}}", "worker"},
		"a flag that the chart sets":  {"controller: {flags: {metrics-address: ':1'}}", "metrics-address"},
		"a text for a number":         {"controller: {replicas: two}", "/controller/replicas"},
		"less than none":              {"controller: {replicas: -1}", "/controller/replicas"},
		"half a replica":              {"controller: {replicas: 1.5}", "/controller/replicas"},
		"a word that is none":         {"image: {pullPolicy: Sometimes}", "/image/pullPolicy"},
		"no registry":                 {"image: {registry: ''}", "/image/registry"},
		"a web UI without a name":     {"ui: {enabled: true}", "/ui/hosts"},
		"a provider without a client": {"ui: {oidc: {issuer: 'https://login.example.com'}}", "/ui/oidc/clientID"},
		"a provider without TLS":      {"ui: {oidc: {issuer: 'http://login.example.com', clientID: a}}", "/ui/oidc/issuer"},
		"a number for an argument":    {"controller: {extraArgs: [1]}", "/controller/extraArgs/0"},
		"no name of a namespace":      {"controller: {tokenNamespaces: [Shop]}", "/controller/tokenNamespaces/0"},
		"an interval without a unit":  {"serviceMonitor: {interval: '30'}", "/serviceMonitor/interval"},
		"resources that are none":     {"controller: {resources: {limit: {memory: 1Gi}}}", "limit"},
		"a tenancy that is none":      {"tenancy: loose", "/tenancy"},
		"a text for a switch":         {"networkPolicies: {enabled: 'yes'}", "/networkPolicies/enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := renderWith(t, test.values)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

type schemaNode struct {
	Properties map[string]*schemaNode `json:"properties"`
}

func readSchema(t *testing.T) *schemaNode {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartFolder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema schemaNode
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return &schema
}

// Every value is in values.yaml, with its default, since that is what users read.
func TestValuesNameAllThatCanBeSet(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartFolder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{".global", ".controller.flags", ".controller.resources", ".ui.resources"}
	var compare func(path string, schema *schemaNode, values map[string]any)
	compare = func(path string, schema *schemaNode, values map[string]any) {
		for name, below := range schema.Properties {
			here := path + "." + name
			if slices.Contains(elsewhere, here) {
				continue
			}
			value, found := values[name]
			if !found {
				t.Errorf("values.yaml does not have %s", here)
			}
			if nested, isMap := value.(map[string]any); isMap && len(below.Properties) > 0 {
				compare(here, below, nested)
			}
		}
	}
	compare("", readSchema(t), parsed(t, string(text)))
}

// controllerFlags returns the flags of espalier-controller that configure the controllers.
func controllerFlags() (*pflag.FlagSet, *manager.Options) {
	flags := pflag.NewFlagSet("espalier-controller", pflag.ContinueOnError)
	options, logging := manager.DefaultOptions(), manager.DefaultLogOptions()
	options.AddFlags(flags)
	logging.AddFlags(flags)
	flags.Float32("kube-api-qps", -1, "")
	flags.Int("kube-api-burst", 0, "")
	flags.Bool("install-crds", false, "")
	return flags, &options
}

func TestFlagsOfTheChartAreFlagsOfTheController(t *testing.T) {
	flags, _ := controllerFlags()
	named := readSchema(t).Properties["controller"].Properties["flags"].Properties
	if len(named) < 20 {
		t.Fatalf("the schema names %d flags", len(named))
	}
	for name := range named {
		if flags.Lookup(name) == nil {
			t.Errorf("espalier-controller has no flag --%s: remove it from values.schema.json", name)
		}
	}
}

// The controller accepts the flags that the chart generates from values.
func TestFlagsArriveAtTheController(t *testing.T) {
	objects := byKey(t, rendered(t, `
controller:
  flags:
    workers: 16
    registry-cache-size: 2000000
    log-level: debug
    namespaces: [shop, blog]
    deployer-target-selector: ["labels=fence=blue,!old", "targets=garden/north"]
    approval-unsigned: true
    rollout-deadline: 2h
    kube-api-qps: 7.5
    kube-api-burst: 20
  extraArgs: ["--concurrent=pipelines=3"]
approvals: {tlsSecret: certificate}
images: {container: "mirror.example.com/c:1"}
`))
	args := argsOf(t, objects["Deployment "+system+"/espalier-controller"])
	flags, options := controllerFlags()
	if err := flags.Parse(args); err != nil {
		t.Fatalf("%v: %q", err, args)
	}
	if err := options.Validate(); err != nil {
		t.Errorf("%v: %q", err, args)
	}
	got := map[string]any{
		"workers": options.Workers, "cache": options.Registries.CacheMebibytes, "namespaces": options.Namespaces,
		"selectors": options.DeployerTargetSelectors, "unsigned": options.Pipelines.UnsignedApprovals,
		"deadline": options.Pipelines.RolloutDeadline.String(), "concurrent": options.Concurrent,
		"certificate": options.Pipelines.ApprovalCertificate, "image": options.Containers.HelperImage,
	}
	want := map[string]any{
		"workers": 16, "cache": int64(2_000_000), "namespaces": []string{"shop", "blog"},
		"selectors": []string{"labels=fence=blue,!old", "targets=garden/north"}, "unsigned": true,
		"deadline": "2h0m0s", "concurrent": map[string]int{"pipelines": 3},
		"certificate": "/etc/espalier/approvals/tls.crt", "image": "mirror.example.com/c:1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestApprovalsCanBeSwitchedOff(t *testing.T) {
	objects := byKey(t, rendered(t, "approvals: {enabled: false}\nnetworkPolicies: {enabled: true}"))
	if objects["Service "+system+"/espalier-approvals"] != nil {
		t.Error("there is a Service for approvals")
	}
	flags, options := controllerFlags()
	if err := flags.Parse(argsOf(t, objects["Deployment "+system+"/espalier-controller"])); err != nil {
		t.Fatal(err)
	}
	if options.Pipelines.ApprovalAddress != manager.Disabled {
		t.Errorf("the controller listens at %s", options.Pipelines.ApprovalAddress)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

const accepted = ""

// admission is an object, and a part of the message that refuses it, or accepted.
type admission struct {
	manifest string
	refusal  string
}

func installation(spec string) string {
	return "{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Installation, metadata: {name: i}, spec: " + spec + "}"
}

func namedInstallation(metadata string) string {
	return "{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Installation, metadata: " + metadata + ", spec: {" + blueprint + "}}"
}

const blueprint = "blueprint: {ref: {resourceName: b}}"

func imports(lists string) string {
	return installation("{" + blueprint + ", imports: {" + lists + "}}")
}
func exports(lists string) string {
	return installation("{" + blueprint + ", exports: {" + lists + "}}")
}

func reconcile(content string) string {
	return installation("{" + blueprint + ", automaticReconcile: {" + content + "}}")
}

func every(interval string) string { return reconcile("failedReconcile: {interval: " + interval + "}") }
func cron(schedule string) string {
	return reconcile("succeededReconcile: {cronSpec: " + schedule + "}")
}

var installationNames = map[string]admission{
	"58 characters": {namedInstallation("{name: " + strings.Repeat("a", 58) + "}"), accepted},
	"59 characters": {
		namedInstallation("{name: " + strings.Repeat("a", 59) + "}"),
		"metadata: Invalid value: the name must have at most 58 characters",
	},
	"a dot":                  {namedInstallation("{name: a.b}"), "only lower-case letters, digits and '-'"},
	"53 characters and five": {namedInstallation("{generateName: " + strings.Repeat("a", 53) + "}"), accepted},
	"54 characters and five": {namedInstallation("{generateName: " + strings.Repeat("a", 54) + "}"), "(generateName 53)"},
}

var installationSources = map[string]admission{
	"blueprint: ref":    {installation("{" + blueprint + "}"), accepted},
	"blueprint: inline": {installation("{blueprint: {inline: {filesystem: {}}}}"), accepted},
	"blueprint: neither": {
		installation("{blueprint: {}}"),
		"spec.blueprint: Invalid value: set exactly one of ref, inline, oci and git",
	},
	"blueprint: oci": {installation("{blueprint: {oci: {reference: 'registry.example.com/shop:1'}}}"), accepted},
	"blueprint: oci without a reference": {
		installation("{blueprint: {oci: {reference: ''}}}"), "spec.blueprint.oci.reference: Invalid value",
	},
	"blueprint: git":                    {installation("{blueprint: {git: {url: 'https://git.example.com/x', revision: main}}}"), accepted},
	"blueprint: git without a revision": {installation("{blueprint: {git: {url: 'https://git.example.com/x'}}}"), "spec.blueprint.git.revision: Required value"},
	"blueprint: git and oci": {
		installation("{blueprint: {oci: {reference: a}, git: {url: 'https://git.example.com/x', revision: main}}}"),
		"set exactly one of ref, inline, oci and git",
	},
	"blueprint: both": {
		installation("{blueprint: {ref: {resourceName: b}, inline: {filesystem: {}}}}"),
		"set exactly one of ref, inline, oci and git",
	},
	"blueprint: absent": {installation("{}"), "spec.blueprint: Required value"},
	"component descriptor: ref": {
		installation("{" + blueprint + ", componentDescriptor: {ref: {componentName: c, version: v}}}"),
		accepted,
	},
	"component descriptor: inline, empty": {installation("{" + blueprint + ", componentDescriptor: {inline: {}}}"), accepted},
	"component descriptor: neither": {
		installation("{" + blueprint + ", componentDescriptor: {}}"),
		"spec.componentDescriptor: Invalid value: set exactly one of ref and inline",
	},
	"component descriptor: both": {
		installation("{" + blueprint + ", componentDescriptor: {inline: {}, ref: {componentName: c, version: v}}}"),
		"set exactly one of ref and inline",
	},
	"flow: Continuous":            {installation("{" + blueprint + ", flow: Continuous}"), accepted},
	"flow: something else":        {installation("{" + blueprint + ", flow: Sometimes}"), `supported values: "Job", "Continuous"`},
	"a field that does not exist": {installation("{" + blueprint + ", flaw: Job}"), `unknown field "spec.flaw"`},
	"mappings with any value, also a null": {
		installation("{" + blueprint + ", importDataMappings: {a: null, b: [1], c: (( d ))}}"),
		accepted,
	},
}

var installationImports = map[string]admission{
	"data: dataRef":                  {imports("data: [{name: a, dataRef: d}]"), accepted},
	"data: secretRef":                {imports("data: [{name: a, secretRef: {name: s}}]"), accepted},
	"data: configMapRef with a key":  {imports("data: [{name: a, configMapRef: {name: c, key: k}}]"), accepted},
	"data: an empty dataRef is none": {imports(`data: [{name: a, dataRef: "", secretRef: {name: s}}]`), accepted},
	"data: no source": {
		imports("data: [{name: a}]"),
		"spec.imports.data[0]: Invalid value: set exactly one of dataRef, secretRef and configMapRef",
	},
	"data: only an empty dataRef": {
		imports(`data: [{name: a, dataRef: ""}]`),
		"set exactly one of dataRef, secretRef and configMapRef",
	},
	"data: two sources": {
		imports("data: [{name: a, dataRef: d, configMapRef: {name: c}}]"),
		"set exactly one of dataRef, secretRef and configMapRef",
	},
	"data: secret without a name": {
		imports(`data: [{name: a, secretRef: {name: ""}}]`),
		"the name in secretRef or configMapRef must not be empty",
	},
	"data: config map without a name": {
		imports(`data: [{name: a, configMapRef: {name: ""}}]`),
		"the name in secretRef or configMapRef must not be empty",
	},
	"data: empty name": {imports(`data: [{name: "", dataRef: d}]`), "spec.imports.data[0].name: Invalid value"},
	"data: same name twice": {
		imports("data: [{name: a, dataRef: d}, {name: a, dataRef: e}]"),
		"insert failed: key a already exists evaluating rule: names of imports must be unique",
	},
	"same source twice": {imports("data: [{name: a, dataRef: d}, {name: b, dataRef: d}]"), accepted},
	"data and target with the same name": {
		imports("data: [{name: b, dataRef: d}, {name: a, dataRef: d}], targets: [{name: c, target: t}, {name: a, target: t}]"),
		"insert failed: key a already exists evaluating rule: names of imports must be unique: rename the data or target imports that share one",
	},
	"data and target": {imports("data: [{name: a, dataRef: d}], targets: [{name: b, target: t}]"), accepted},
	"targets: same name twice": {
		imports("targets: [{name: a, target: t}, {name: a, target: u}]"),
		"insert failed: key a already exists evaluating rule: names of imports must be unique",
	},
	"targets: empty name": {imports(`targets: [{name: "", target: t}]`), "spec.imports.targets[0].name: Invalid value"},
	"targets: no source": {
		imports("targets: [{name: a}]"),
		"spec.imports.targets[0]: Invalid value: set exactly one of target, targets, targetListRef, targetMap and targetMapRef",
	},
	"targets: two sources": {
		imports("targets: [{name: a, target: t, targets: []}]"),
		"set exactly one of target, targets, targetListRef, targetMap and targetMapRef",
	},
	"targets: an empty target is none": {imports(`targets: [{name: a, target: "", targetMapRef: m}]`), accepted},
	"targets: empty list":              {imports("targets: [{name: a, targets: []}]"), accepted},
	"targets: list reference":          {imports("targets: [{name: a, targetListRef: l}]"), accepted},
	"targets: empty name in the list": {
		imports(`targets: [{name: a, targets: [t, ""]}]`),
		"spec.imports.targets[0].targets[1]: Invalid value",
	},
	"targets: map": {
		imports("targets: [{name: a, targetMap: {a: t, a.b-c: t, " + strings.Repeat("k", 63) + ": t}}]"),
		accepted,
	},
	"targets: empty map": {imports("targets: [{name: a, targetMap: {}}]"), accepted},
	"targets: key in upper case": {
		imports("targets: [{name: a, targetMap: {North: t}}]"),
		"spec.imports.targets[0].targetMap: Invalid value: keys must have at most 63 characters, only lower-case letters",
	},
	"targets: key of 64 characters": {
		imports("targets: [{name: a, targetMap: {" + strings.Repeat("k", 64) + ": t}}]"),
		"keys must have at most 63 characters",
	},
	"targets: key that ends with a dash": {imports("targets: [{name: a, targetMap: {k-: t}}]"), "begin and end with a letter or digit"},
	"targets: empty name in the map":     {imports(`targets: [{name: a, targetMap: {k: ""}}]`), "the name of a Target must not be empty"},
}

var installationExports = map[string]admission{
	"data and targets": {exports("data: [{name: a, dataRef: d}], targets: [{name: a, target: t}]"), accepted},
	"data: same name twice": {
		exports("data: [{name: a, dataRef: d}, {name: a, dataRef: e}]"),
		"key a already exists evaluating rule: names of exports must be unique",
	},
	"data: empty name":      {exports(`data: [{name: "", dataRef: d}]`), "spec.exports.data[0].name: Invalid value"},
	"data: empty reference": {exports(`data: [{name: a, dataRef: ""}]`), "spec.exports.data[0].dataRef: Invalid value"},
	"targets: same name twice": {
		exports("targets: [{name: a, target: t}, {name: a, target: u}]"),
		"key a already exists evaluating rule: names of exports must be unique",
	},
	"targets: empty name":         {exports(`targets: [{name: "", target: t}]`), "spec.exports.targets[0].name: Invalid value"},
	"targets: empty reference":    {exports(`targets: [{name: a, target: ""}]`), "spec.exports.targets[0].target: Invalid value"},
	"targets: reference is there": {exports("targets: [{name: a}]"), "spec.exports.targets[0].target: Required value"},
}

const (
	badDuration = "must be a duration such as 90s, 10m or 1h30m, or none for no limit"
	badSchedule = "must be a schedule of five fields"
)

var installationTimes = map[string]admission{
	"duration: minutes":         {every("10m"), accepted},
	"duration: several units":   {every("1h2m3.5s"), accepted},
	"duration: fractions":       {every(".5h1.m"), accepted},
	"duration: none":            {every("none"), accepted},
	"duration: zero":            {every(`"0"`), accepted},
	"duration: negative":        {every(`"-1m"`), accepted}, // today's controllers accept it
	"duration: tiny":            {every("1ns1us1µs1μs1ms"), accepted},
	"duration: a word":          {every("soon"), badDuration},
	"duration: no unit":         {every(`"10"`), badDuration},
	"duration: days":            {every("1d"), badDuration},
	"duration: empty":           {every(`""`), badDuration},
	"duration: a space":         {every(`"1 m"`), badDuration},
	"schedule: five fields":     {cron(`"*/5 0-6 1,15 JAN-MAR ?"`), accepted},
	"schedule: spaces":          {cron(`"  0  6 * *\t1-5 "`), accepted},
	"schedule: other spaces":    {cron(`"0\_6 * * *"`), accepted},
	"schedule: a word":          {cron(`"@daily"`), accepted},
	"schedule: every":           {cron(`"@every 1h30m"`), accepted},
	"schedule: time zone":       {cron(`"CRON_TZ=Europe/Berlin 0 6 * * *"`), accepted},
	"schedule: old time zone":   {cron(`"TZ=UTC @hourly"`), accepted},
	"schedule: empty":           {cron(`""`), accepted},
	"schedule: four fields":     {cron(`"0 6 * *"`), badSchedule},
	"schedule: six fields":      {cron(`"0 0 6 * * *"`), badSchedule},
	"schedule: an unknown word": {cron(`"@often"`), badSchedule},
	"schedule: two words":       {cron(`"@daily 1 2 3 4"`), badSchedule},
}

func execution(items string) string {
	return "{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Execution, metadata: {name: e}, spec: {deployItems: [" + items + "]}}"
}

func item(name, more string) string {
	return "{name: " + name + ", type: t, config: {apiVersion: v1, kind: K}" + more + "}"
}

var executions = map[string]admission{
	"no items": {execution(""), accepted},
	"items in a row": {
		execution(item("a", ", dependsOn: [b]") + "," + item("b", ", dependsOn: [c, c]") + "," + item("c", "")),
		accepted,
	},
	"a circle": {
		execution(item("a", ", dependsOn: [b]") + "," + item("b", ", dependsOn: [a]")),
		accepted,
	}, // for the controller to find
	"unknown dependency": {
		execution(item("a", ", dependsOn: [b]")),
		"spec.deployItems: Invalid value: names of deploy items must be unique, and dependsOn must name deploy items of the list",
	},
	"same name twice": {
		execution(item("a", "") + "," + item("a", "")),
		"key a already exists evaluating rule: names of deploy items must be unique",
	},
	"empty name": {execution(item(`""`, "")), "spec.deployItems[0].name: Invalid value"},
	"empty type": {
		execution(`{name: a, type: "", config: {apiVersion: v1, kind: K}}`),
		"spec.deployItems[0].type: Invalid value",
	},
	"no type":          {execution("{name: a, config: {apiVersion: v1, kind: K}}"), "spec.deployItems[0].type: Required value"},
	"no configuration": {execution("{name: a, type: t}"), "spec.deployItems[0].config: Required value"},
	"configuration of no kind": {
		execution("{name: a, type: t, config: {apiVersion: v1}}"),
		"spec.deployItems[0].config.kind: Required value",
	},
	"target": {execution(item("a", ", target: {name: t, namespace: ns}")), accepted},
	"target without a name": {
		execution(item("a", `, target: {name: "", namespace: ns}`)),
		"spec.deployItems[0].target: Invalid value: target needs a name and a namespace: set both, or remove target",
	},
	"target without a namespace": {
		execution(item("a", ", target: {name: t}")),
		"target needs a name and a namespace: set both, or remove target",
	},
	"timeout":     {execution(item("a", ", timeout: none")), accepted},
	"bad timeout": {execution(item("a", ", timeout: soon")), badDuration},
	"compressed": {
		"{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Execution, metadata: {name: e}, spec: {deployItemsCompressed: AAAA}}",
		accepted,
	},
	"compressed, not base64": {
		"{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Execution, metadata: {name: e}, spec: {deployItemsCompressed: '%%'}}",
		"spec.deployItemsCompressed: Invalid value",
	},
	"flow": {
		"{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Execution, metadata: {name: e}, spec: {flow: Continuous}}",
		accepted,
	},
}

func deployItem(spec string) string {
	return "{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: DeployItem, metadata: {name: d}, spec: " + spec + "}"
}

func target(spec string) string {
	return "{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Target, metadata: {name: t}, spec: " + spec + "}"
}

var deployItemsAndTargets = map[string]admission{
	"deploy item: type only":  {deployItem("{type: t}"), accepted},
	"deploy item: empty type": {deployItem(`{type: ""}`), "spec.type: Invalid value"},
	"deploy item: target":     {deployItem("{type: t, target: {name: a, namespace: b}}"), accepted},
	"deploy item: target without a name": {
		deployItem(`{type: t, target: {name: "", namespace: b}}`),
		"spec.target: Invalid value: target needs a name and a namespace",
	},
	"deploy item: target without a namespace": {deployItem("{type: t, target: {name: a}}"), "target needs a name and a namespace"},
	"deploy item: target, empty namespace": {
		deployItem(`{type: t, target: {name: a, namespace: ""}}`),
		"target needs a name and a namespace",
	},
	"deploy item: timeout":     {deployItem("{type: t, timeout: 10m}"), accepted},
	"deploy item: bad timeout": {deployItem("{type: t, timeout: never}"), badDuration},
	"deploy item: flow":        {deployItem("{type: t, flow: Continuous}"), accepted},
	"target: config":           {target("{type: t, config: {a: 1}}"), accepted},
	"target: config is a text": {target("{type: t, config: text}"), accepted},
	"target: secretRef":        {target("{type: t, secretRef: {name: s}}"), accepted},
	"target: neither":          {target("{type: t}"), accepted},
	"target: null is neither":  {target("{type: t, config: null, secretRef: {name: s}}"), accepted},
	"target: both": {
		target("{type: t, config: {a: 1}, secretRef: {name: s}}"),
		"spec: Invalid value: config and secretRef must not be set together",
	},
}

func contextObject(content string) string {
	return "{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Context, metadata: {name: c}, " + content + "}"
}

// Other clients write these fields of a Context always, also if they are empty.
var contexts = map[string]admission{
	"ocmConfig: null":                {contextObject("ocmConfig: null, componentVersionOverwrites: ''"), accepted},
	"ocmConfig: without a name":      {contextObject("ocmConfig: {}"), accepted},
	"ocmConfig: a text":              {contextObject("ocmConfig: name"), "ocmConfig: Invalid value"},
	"repositoryContext: any content": {contextObject("repositoryContext: {a: {b: [c]}}"), accepted},
	"repositoryContext: a text":      {contextObject("repositoryContext: registry.example"), accepted},
}

func pipeline(kind, environment, more string) string {
	return "{apiVersion: pipelines.weave.works/v1alpha1, kind: Pipeline, metadata: {name: p}, spec: {appRef: {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: " + kind +
		", name: a}, environments: [{name: e, targets: [{namespace: ns}]" + environment + "}]" + more + "}}"
}

func window(content string) string { return pipeline("Installation", ", windows: ["+content+"]", "") }

func pullRequest(provider string) string {
	return "promotion: {strategy: {pull-request: {type: " + provider + ", url: u, baseBranch: b, secretRef: {name: s}}}}"
}

func approved(policy string) string {
	return ", promotion: {manual: true, approval: " + policy + ", strategy: {notification: {}}}"
}

const (
	oneApprover   = "an approver is either a user or a key: set one of them"
	direct        = "promotion: {strategy: {installation: {}}}"
	onlyOne       = "the strategy installation cannot be combined with another one"
	onlyInstalled = "the strategy installation promotes Installations only: set appRef to an Installation"
)

var pipelines = map[string]admission{
	"suspended, pairwise": {pipeline("K", "", ", suspend: true, mode: Pairwise"), accepted},
	"unknown mode":        {pipeline("K", "", ", mode: Random"), `supported values: "Superseding", "Pairwise"`},
	"soak time":           {pipeline("K", ", minHealthy: 1h30m", ""), accepted},
	"soak time, a word":   {pipeline("K", ", minHealthy: long", ""), "spec.environments[0].minHealthy: Invalid value"},
	"soak time, negative": {pipeline("K", ", minHealthy: -1m", ""), "spec.environments[0].minHealthy: Invalid value"},
	"window": {
		window(`{kind: Allow, schedule: "0 9 * * 1-5", duration: 8h, timeZone: Europe/Berlin}`),
		accepted,
	},
	"window without time zone": {window(`{kind: Deny, schedule: "0 0 24 12 *", duration: 200h}`), accepted},
	"window, unknown kind": {
		window(`{kind: Maybe, schedule: "0 9 * * 1-5", duration: 8h}`),
		`supported values: "Allow", "Deny"`,
	},
	"window, four fields": {
		window(`{kind: Deny, schedule: "0 9 * *", duration: 8h}`),
		"spec.environments[0].windows[0].schedule: Invalid value",
	},
	"window, no schedule": {
		window("{kind: Deny, duration: 8h}"),
		"spec.environments[0].windows[0].schedule: Required value",
	},
	"window, bad duration": {
		window(`{kind: Deny, schedule: "0 9 * * 1-5", duration: long}`),
		"spec.environments[0].windows[0].duration: Invalid value",
	},
	"window, bad time zone": {
		window(`{kind: Deny, schedule: "0 9 * * 1-5", duration: 8h, timeZone: my place}`),
		"spec.environments[0].windows[0].timeZone: Invalid value",
	},
	"cluster by target": {
		strings.Replace(pipeline("K", "", ""), "{namespace: ns}", "{namespace: ns, clusterRef: {kind: Target, name: t}}", 1),
		accepted,
	},
	"cluster by something else": {
		strings.Replace(pipeline("K", "", ""), "{namespace: ns}", "{namespace: ns, clusterRef: {kind: Node, name: t}}", 1),
		`supported values: "GitopsCluster", "Target"`,
	},
	"gitea":        {pipeline("K", "", ", "+pullRequest("gitea")), accepted},
	"azure-devops": {pipeline("K", "", ", "+pullRequest("azure-devops")), accepted},
	"another Git server": {
		pipeline("K", "", ", "+pullRequest("cvs")),
		`supported values: "github", "gitlab", "gitea", "bitbucket-server", "azure-devops"`,
	},
	"installation":                       {pipeline("Installation", "", ", "+direct), accepted},
	"installation in an environment":     {pipeline("Installation", ", "+direct, ""), accepted},
	"installation of another kind":       {pipeline("HelmRelease", "", ", "+direct), onlyInstalled},
	"installation of another kind below": {pipeline("HelmRelease", ", "+direct, ""), onlyInstalled},
	"installation of another group": {
		strings.Replace(pipeline("Installation", "", ", "+direct), "landscaper.gardener.cloud/v1alpha1", "v1", 1),
		onlyInstalled,
	},
	"installation and notification": {
		pipeline("Installation", "", ", promotion: {strategy: {installation: {}, notification: {}}}"),
		onlyOne,
	},
	"installation and pull request below": {
		pipeline(
			"Installation",
			", promotion: {strategy: {installation: {}, pull-request: {type: github, url: u, baseBranch: b, secretRef: {name: s}}}}",
			"",
		),
		onlyOne,
	},
	"pull request and notification": {
		pipeline(
			"K",
			"",
			", promotion: {strategy: {notification: {}, pull-request: {type: github, url: u, baseBranch: b, secretRef: {name: s}}}}",
		),
		accepted,
	},
	"approvers":                            {pipeline("K", "", approved("{quorum: 2, approvers: [{user: ann}, {key: k}]}")), accepted},
	"quorum in an environment":             {pipeline("K", approved("{quorum: 3}"), ""), accepted},
	"an approver who is two":               {pipeline("K", "", approved("{approvers: [{user: ann, key: k}]}")), oneApprover},
	"an approver who is two, below":        {pipeline("K", approved("{approvers: [{user: ann, key: k}]}"), ""), oneApprover},
	"an approver who is nobody":            {pipeline("K", "", approved("{approvers: [{}]}")), oneApprover},
	"an approver without a name":           {pipeline("K", "", approved(`{approvers: [{user: ""}]}`)), "approvers[0].user: Invalid value"},
	"a quorum of zero":                     {pipeline("K", "", approved("{quorum: 0}")), "spec.promotion.approval.quorum: Invalid value"},
	"a quorum of too many":                 {pipeline("K", "", approved("{quorum: 21}")), "spec.promotion.approval.quorum: Invalid value"},
	"no strategy, no environment, no spec": {"{apiVersion: pipelines.weave.works/v1alpha1, kind: Pipeline, metadata: {name: p}}", accepted},
}

var admissions = map[string]map[string]admission{
	"installation names":       installationNames,
	"installation sources":     installationSources,
	"installation imports":     installationImports,
	"installation exports":     installationExports,
	"installation times":       installationTimes,
	"executions":               executions,
	"deploy items and targets": deployItemsAndTargets,
	"contexts":                 contexts,
	"pipelines":                pipelines,
}

func TestAdmission(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	for group, cases := range admissions {
		for name, test := range cases {
			t.Run(group+"/"+name, func(t *testing.T) {
				object := parse(t, []byte(test.manifest))[0]
				object.SetNamespace(namespace)
				checkRefusal(t, server.Client().Create(t.Context(), object, strict, client.DryRunAll), test.refusal)
			})
		}
	}
}

// TestEveryRuleIsTried wants a refusal above, or in the tests of transitions, for the message of every rule.
func TestEveryRuleIsTried(t *testing.T) {
	refusals := []string{atRest, typeIsFinal}
	for _, cases := range admissions {
		for _, test := range cases {
			refusals = append(refusals, test.refusal)
		}
	}
	for _, definition := range all(t) {
		for path, node := range nodes(definition.Spec.Versions[0].Schema.OpenAPIV3Schema) {
			for _, rule := range node.XValidations {
				beginning := rule.Message[:min(len(rule.Message), 20)]
				if !slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(r, beginning) }) {
					t.Errorf("%s: nothing is refused by the rule at %q: %s", definition.Spec.Names.Plural, path, rule.Message)
				}
			}
		}
	}
}

// checkRefusal wants the API server to say what is wrong, or nothing.
func checkRefusal(t *testing.T, err error, refusal string) {
	t.Helper()
	switch {
	case refusal == accepted && err != nil:
		t.Errorf("refused: %v", err)
	case refusal != accepted && err == nil:
		t.Errorf("accepted, want a refusal with %q", refusal)
	case refusal != accepted && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		t.Errorf("another error: %v", err)
	case refusal != accepted && !strings.Contains(err.Error(), refusal):
		t.Errorf("refused with %q, want %q", err, refusal)
	}
}

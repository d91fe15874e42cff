// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

const everyKindOfImport = `
data:
- {name: plain, dataRef: config}
- {name: odd, dataRef: My Config}
- {name: global, dataRef: "#config"}
- {name: password, secretRef: {name: login, key: password}}
- {name: login, secretRef: {name: login}}
- {name: settings, configMapRef: {name: settings}}
targets:
- {name: one, target: eu}
- {name: several, targets: [us, eu, "#shared"]}
- {name: none, targets: []}
- {name: by-name, targetMap: {b: us, a: eu}}
- {name: list, targetListRef: clusters}
- {name: map, targetMapRef: regions}
- {name: element, target: "clusters[1]"}
`

func TestNeeds(t *testing.T) {
	for name, scope := range map[string]dataflow.Scope{"root": root, "nested": nested} {
		want := dataflow.Needs{
			DataObjects: []string{"config", scope.ObjectName("My Config"), scope.ObjectName("config")},
			Targets:     []string{scope.ObjectName("eu"), scope.ObjectName("us"), "shared", scope.ObjectName("clusters[1]")},
			Secrets:     []string{"login"},
			ConfigMaps:  []string{"settings"},
			Elements:    []string{"clusters", "regions"},
		}
		for _, list := range []*[]string{&want.DataObjects, &want.Targets} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if diff := cmp.Diff(want, dataflow.NeedsOf(scope, imports(t, everyKindOfImport))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSecretsOfTargets(t *testing.T) {
	with := func(name string) *lsv1alpha1.Target {
		target := cluster(t, "x")
		target.Spec = lsv1alpha1.TargetSpec{SecretRef: &lsv1alpha1.LocalSecretReference{Name: name}}
		return target
	}
	got := dataflow.SecretsOf([]*lsv1alpha1.Target{with("b"), cluster(t, "plain"), with("a"), with("b")})
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}

func TestDataInTheRootScope(t *testing.T) {
	facts := dataflow.Facts{
		DataObjects: []*lsv1alpha1.DataObject{
			dataObject(t, "config", `{replicas: 3, big: 9007199254740993, ratio: 0.5, whole: 2.0}`),
			dataObject(t, root.ObjectName("My Config"), `odd`),
			dataObject(t, "empty", ``),
		},
		Secrets: map[string]map[string][]byte{
			"login": {
				"user":   []byte("admin"),
				"port":   []byte("8443"),
				"tls":    []byte("enabled: true\nciphers: [a, b]\n"),
				"note":   []byte(""),
				"quoted": []byte(`"8443"`),
			},
		},
		ConfigMaps: map[string]map[string][]byte{
			"settings": dataflow.ConfigMapContent(map[string]string{"log": "{level: debug}"}, map[string][]byte{"bin": []byte("[1, 2]")}),
		},
	}
	for name, c := range map[string]struct{ source, want string }{
		"by name":                        {`dataRef: config`, `{replicas: 3, big: 9007199254740993, ratio: 0.5, whole: 2}`},
		"by a name that is hashed":       {`dataRef: My Config`, `odd`},
		"global":                         {`dataRef: "#config"`, `{replicas: 3, big: 9007199254740993, ratio: 0.5, whole: 2}`},
		"nothing in it":                  {`dataRef: empty`, `null`},
		"a key of a Secret, a text":      {`secretRef: {name: login, key: user}`, `admin`},
		"a key of a Secret, a number":    {`secretRef: {name: login, key: port}`, `8443`},
		"a quoted number":                {`secretRef: {name: login, key: quoted}`, `"8443"`},
		"a key of a Secret, an object":   {`secretRef: {name: login, key: tls}`, `{enabled: true, ciphers: [a, b]}`},
		"an empty key":                   {`secretRef: {name: login, key: note}`, `null`},
		"all of a Secret":                {`secretRef: {name: login}`, `{user: admin, port: 8443, tls: {enabled: true, ciphers: [a, b]}, note: null, quoted: "8443"}`},
		"a key of a ConfigMap":           {`configMapRef: {name: settings, key: log}`, `{level: debug}`},
		"a binary key of a ConfigMap":    {`configMapRef: {name: settings, key: bin}`, `[1, 2]`},
		"all of a ConfigMap, both parts": {`configMapRef: {name: settings}`, `{log: {level: debug}, bin: [1, 2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			resolved := resolve(t, root, `data: [{name: x, `+c.source+`}]`, facts)
			expectYAML(t, "value", resolved["x"].Data, c.want)
			if resolved["x"].Type != lsv1alpha1.ImportTypeData || resolved["x"].Exporters != nil {
				t.Errorf("import = %+v", resolved["x"])
			}
		})
	}
	big := resolve(t, root, `data: [{name: x, dataRef: config}]`, facts)["x"].Data.(map[string]any)["big"]
	if big != int64(9007199254740993) {
		t.Errorf("a large number lost digits: %v", big)
	}
}

func TestScopesKeepEqualNamesApart(t *testing.T) {
	facts := dataflow.Facts{DataObjects: []*lsv1alpha1.DataObject{
		dataObject(t, "config", `at the root`),
		inScope(dataObject(t, "", `in the scope`), "config"),
	}}
	for want, c := range map[string]struct {
		scope     dataflow.Scope
		reference string
	}{
		"at the root": {nested, "#config"}, "in the scope": {nested, "config"},
	} {
		resolved := resolve(t, c.scope, `data: [{name: x, dataRef: "`+c.reference+`"}]`, facts)
		expectYAML(t, c.reference, resolved["x"].Data, want)
	}
	expectYAML(t, "root", resolve(t, root, `data: [{name: x, dataRef: config}]`, facts)["x"].Data, "at the root")
}

func names(targets []dataflow.Target) string {
	var result []string
	for _, target := range targets {
		name := strings.TrimPrefix(asConfig(target), "of ")
		if target.Key != "" {
			name = target.Key + "=" + name
		}
		result = append(result, name)
	}
	return strings.Join(result, " ")
}

func asConfig(target dataflow.Target) string {
	var config struct{ Kubeconfig string }
	if err := target.Spec.Configuration.Decode(&config); err != nil {
		return err.Error()
	}
	return config.Kubeconfig
}

func TestTargetsInBothScopes(t *testing.T) {
	facts := dataflow.Facts{Targets: []*lsv1alpha1.Target{
		cluster(t, "eu"), cluster(t, "us"), cluster(t, "shared"),
		inScope(cluster(t, "nested-eu"), "eu"),
		inScope(cluster(t, "nested-us"), "us"),
		element(cluster(t, "second"), "clusters", "index", "1"),
		element(cluster(t, "third"), "clusters", "index", "2"),
		element(cluster(t, "first"), "clusters", "index", "0"),
		element(cluster(t, "north"), "regions", "targetmapkey", "n"),
		element(cluster(t, "east"), "regions", "targetmapkey", "e"),
		labelled(element(cluster(t, "old"), "clusters", "index", "3"), "jobid", "job-1"),
		labelled(element(cluster(t, "elsewhere"), "clusters", "index", "9"), "context", "Inst.other"),
	}}
	for name, c := range map[string]struct {
		scope        dataflow.Scope
		source, want string
		kind         lsv1alpha1.ImportType
	}{
		"one":                                {root, `target: eu`, "eu", lsv1alpha1.ImportTypeTarget},
		"one in a scope":                     {nested, `target: eu`, "nested-eu", lsv1alpha1.ImportTypeTarget},
		"a global one":                       {nested, `target: "#eu"`, "eu", lsv1alpha1.ImportTypeTarget},
		"a list, in the order given":         {root, `targets: [us, eu, us]`, "us eu us", lsv1alpha1.ImportTypeTargetList},
		"a mixed list":                       {nested, `targets: [us, "#shared", "clusters[2]", "regions[n]"]`, "nested-us shared third north", lsv1alpha1.ImportTypeTargetList},
		"an empty list":                      {root, `targets: []`, "", lsv1alpha1.ImportTypeTargetList},
		"a map, by key":                      {root, `targetMap: {z: eu, a: us}`, "a=us z=eu", lsv1alpha1.ImportTypeTargetMap},
		"an empty map":                       {root, `targetMap: {}`, "", lsv1alpha1.ImportTypeTargetMap},
		"the parent's list, in its order":    {nested, `targetListRef: clusters`, "first second third", lsv1alpha1.ImportTypeTargetList},
		"a list that the parent has not":     {nested, `targetListRef: nothing`, "", lsv1alpha1.ImportTypeTargetList},
		"the parent's map":                   {nested, `targetMapRef: regions`, "e=east n=north", lsv1alpha1.ImportTypeTargetMap},
		"a target of the parent's list":      {nested, `target: "clusters[1]"`, "second", lsv1alpha1.ImportTypeTarget},
		"a target of the parent's map":       {nested, `target: "regions[e]"`, "east", lsv1alpha1.ImportTypeTarget},
		"a map of targets of lists and maps": {nested, `targetMap: {a: "clusters[0]", b: "regions[n]"}`, "a=first b=north", lsv1alpha1.ImportTypeTargetMap},
	} {
		t.Run(name, func(t *testing.T) {
			resolved := resolve(t, c.scope, `targets: [{name: x, `+c.source+`}]`, facts)["x"]
			if got := names(resolved.Targets); got != c.want || resolved.Type != c.kind {
				t.Errorf("got %s %q, want %s %q", resolved.Type, got, c.kind, c.want)
			}
		})
	}
}

func TestMissingImportsAreRetriedAndNamed(t *testing.T) {
	facts := dataflow.Facts{
		Secrets: map[string]map[string][]byte{"login": {"user": nil}},
		Targets: []*lsv1alpha1.Target{element(cluster(t, "second"), "clusters", "index", "1")},
	}
	for name, c := range map[string]struct {
		scope       dataflow.Scope
		given, want string
	}{
		"a DataObject": {root, `data: [{name: x, dataRef: a}]`, `import "x": DataObject garden/a does not exist: create it, or let another installation export it`},
		"with a hash":  {root, `data: [{name: x, dataRef: A}]`, `import "x": DataObject garden/` + hashed("/A") + ` (for "A") does not exist: create it, or let another installation export it`},
		"in a scope":   {nested, `data: [{name: x, dataRef: a}]`, `import "x": DataObject garden/` + hashed("Inst.tree/a") + ` (for "a" in the scope of installation "tree") does not exist: the parent must import it, or a sibling export it`},
		"a global one": {nested, `data: [{name: x, dataRef: "#a"}]`, `import "x": DataObject garden/a does not exist: create it, or let another installation export it`},
		"a Target":     {root, `targets: [{name: x, target: a}]`, `import "x": Target garden/a does not exist`},
		"an element":   {nested, `targets: [{name: x, target: "clusters[7]"}]`, `does not exist: check that the parent's import "clusters" has that element`},
		"one of a list, and one of a map": {root, `targets: [{name: x, targets: [a]}, {name: z, targetMap: {k: b}}]`,
			`import "x": Target garden/a does not exist: create it, or let another installation export it; import "z": Target garden/b does not exist`},
		"a hole in the parent's list": {nested, `targets: [{name: x, targetListRef: clusters}]`, `for "clusters[0]" in the scope of installation "tree") does not exist`},
		"a Secret":                    {root, `data: [{name: x, secretRef: {name: a, key: b}}]`, `import "x": Secret garden/a does not exist: create it`},
		"a key":                       {root, `data: [{name: x, secretRef: {name: login, key: b}}]`, `import "x": Secret garden/login has no key "b": add it, or leave the key out to import all keys`},
		"a ConfigMap":                 {root, `data: [{name: x, configMapRef: {name: a}}]`, `import "x": ConfigMap garden/a does not exist: create it`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dataflow.Resolve(c.scope, imports(t, c.given), facts)
			expectError(t, err, failure.Retryable, c.want)
			if failure.DetailsOf(err).Reason != dataflow.ReasonImportNotFound {
				t.Errorf("reason = %s", failure.DetailsOf(err).Reason)
			}
		})
	}
}

func TestImportsThatCannotBe(t *testing.T) {
	const secret = "hunter2: : {["
	broken := cluster(t, "broken")
	broken.Spec.Configuration.Raw = []byte(`{"kubeconfig":`)
	facts := dataflow.Facts{
		Secrets:     map[string]map[string][]byte{"login": {"user": []byte(secret)}},
		ConfigMaps:  map[string]map[string][]byte{"huge": {"n": []byte("1e999")}},
		DataObjects: []*lsv1alpha1.DataObject{{Data: lsv1alpha1.AnyJSON{Raw: []byte(`{"password": hunter2}`)}}},
		Targets: []*lsv1alpha1.Target{
			broken,
			element(cluster(t, "a"), "clusters", "index", "0"),
			element(cluster(t, "b"), "regions", "targetmapkey", "x"),
		},
	}
	facts.DataObjects[0].Name = "garbage"
	for name, c := range map[string]struct {
		scope       dataflow.Scope
		given, want string
	}{
		"no source":              {root, `data: [{name: x}]`, `import "x" has no source: set exactly one of dataRef, secretRef and configMapRef`},
		"no target":              {root, `targets: [{name: x}]`, `import "x" has no source: set exactly one of target, targets, targetListRef, targetMap and targetMapRef`},
		"twice":                  {root, `{data: [{name: x, secretRef: {name: none}}], targets: [{name: x, targets: []}]}`, `import "x" is declared twice`},
		"not YAML":               {root, `data: [{name: x, secretRef: {name: login, key: user}}]`, `import "x": Secret garden/login: it is not valid YAML`},
		"one of all not YAML":    {root, `data: [{name: x, secretRef: {name: login}}]`, `import "x": Secret garden/login: key "user": it is not valid YAML`},
		"not JSON":               {root, `data: [{name: x, dataRef: garbage}]`, `import "x": DataObject garden/garbage cannot be read: it is not valid JSON`},
		"a config that is none":  {root, `targets: [{name: x, target: broken}]`, `import "x": the config of Target garden/broken is not valid JSON`},
		"a list without parent":  {root, `targets: [{name: x, targetListRef: a}]`, `import "x": targetListRef takes over what a parent imports, and a root installation has no parent: list the targets instead`},
		"a map without parent":   {root, `targets: [{name: x, targetMapRef: a}]`, `import "x": targetMapRef takes over what a parent imports`},
		"a map taken for a list": {nested, `targets: [{name: x, targetListRef: regions}]`, `import "x": targetListRef "regions" is not a target list in the scope of installation "tree"`},
		"a list taken for a map": {nested, `targets: [{name: x, targetMapRef: clusters}]`, `import "x": targetMapRef "clusters" is not a target map in the scope of installation "tree"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dataflow.Resolve(c.scope, imports(t, c.given), facts)
			expectError(t, err, failure.Terminal, c.want)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the value is in the error: %v", err)
			}
		})
	}
}

func TestObjectsOfAnotherJobAreWaitedFor(t *testing.T) {
	older := labelled(inScope(dataObject(t, "", `1`), "a"), "jobid", "job-1")
	unmarked := inScope(cluster(t, "x"), "b")
	delete(unmarked.Labels, lsv1alpha1.DataObjectJobIDLabel)
	facts := dataflow.Facts{
		DataObjects: []*lsv1alpha1.DataObject{older, dataObject(t, "global", `2`)},
		Targets:     []*lsv1alpha1.Target{unmarked},
	}
	_, err := dataflow.Resolve(nested, imports(t, `data: [{name: x, dataRef: a}]`), facts)
	expectError(
		t,
		err,
		failure.Waiting,
		`DataObject garden/`+older.Name+` (for "a" in the scope of installation "tree") of job job-2 (import "x")`,
	)
	if wait, ok := failure.AsWait(err); !ok || wait.Reason != dataflow.ReasonImportOutdated {
		t.Errorf("wait = %+v", wait)
	}
	_, err = dataflow.Resolve(nested, imports(t, `targets: [{name: x, target: b}]`), facts)
	expectError(t, err, failure.Waiting, `Target garden/`)

	continuous := nested
	continuous.JobID = ""
	resolve(t, continuous, `{data: [{name: x, dataRef: a}], targets: [{name: y, target: b}]}`, facts)
	resolve(t, nested, `data: [{name: x, dataRef: "#global"}]`, facts)
}

func TestAnExportOfASiblingRootHasToBeOfItsLastJob(t *testing.T) {
	facts := dataflow.Facts{DataObjects: []*lsv1alpha1.DataObject{
		labelled(dataObject(t, "url", `old`), "jobid", "job-1", "source", "Inst.db", "sourceType", "export"),
		dataObject(t, "manual", `1`),
	}}
	scope := root
	scope.Exported = map[dataflow.ObjectID]string{{Kind: dataflow.KindDataObject, Name: "url"}: "job-9"}
	_, err := dataflow.Resolve(scope, imports(t, `data: [{name: x, dataRef: url}, {name: y, dataRef: manual}]`), facts)
	expectError(t, err, failure.Waiting, `DataObject garden/url of job job-9 (import "x")`)

	scope.Exported[dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: "url"}] = "job-1"
	resolved := resolve(t, scope, `data: [{name: x, dataRef: url}, {name: y, dataRef: manual}]`, facts)
	if !slices.Equal(resolved["x"].Exporters, []string{"db"}) || resolved["y"].Exporters != nil {
		t.Errorf("exporters = %q and %q", resolved["x"].Exporters, resolved["y"].Exporters)
	}
}

func TestTheWorstFaultCounts(t *testing.T) {
	facts := dataflow.Facts{DataObjects: []*lsv1alpha1.DataObject{labelled(inScope(dataObject(t, "", `1`), "stale"), "jobid", "old")}}
	all := `{name: s, dataRef: stale}`
	_, err := dataflow.Resolve(nested, imports(t, `data: [`+all+`, {name: m, dataRef: missing}]`), facts)
	expectError(t, err, failure.Retryable, `import "m"`)
	_, err = dataflow.Resolve(nested, imports(t, `data: [`+all+`, {name: m, dataRef: missing}, {name: w}]`), facts)
	expectError(t, err, failure.Terminal, `import "w"`)
}

func TestTargetsBringTheirSecrets(t *testing.T) {
	target := cluster(t, "a")
	target.Spec.Configuration = nil
	target.Spec.SecretRef = &lsv1alpha1.LocalSecretReference{Name: "kubeconfig", Key: "config"}
	facts := dataflow.Facts{
		Targets: []*lsv1alpha1.Target{target},
		Secrets: map[string]map[string][]byte{"kubeconfig": {"config": []byte("x")}},
	}
	resolved := resolve(t, root, `targets: [{name: x, target: a}]`, facts)
	if string(resolved["x"].Targets[0].Secret["config"]) != "x" {
		t.Errorf("secret = %q", resolved["x"].Targets[0].Secret)
	}
	if strings.Contains(asJSON(t, resolved["x"].Value()), `"x"`) {
		t.Error("the Secret's content shows in the value that templates see")
	}
}

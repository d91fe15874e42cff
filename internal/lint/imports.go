// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// modulePath is the path of the root module; all modules of the tree lie below it.
const modulePath = "espalier.dev"

// layer says what the packages in some folders, including sub-folders, may import. A folder in no layer is an offence, so that every new
// package gets one.
type layer struct {
	folders []string
	// sees lists the folders of this project whose packages may be imported, in addition to those of the same folder. A star stands for all of
	// them.
	sees []string
	// libraries lists the only third-party modules and packages that may be imported; nil allows all in go.mod.
	libraries []string
}

const everything = "*"

var (
	// decisions are the pure packages of the kinds. They never import each other: an installation sees an execution as a fact about a child.
	decisions = []string{
		"internal/installation", "internal/execution", "internal/deployitem", "internal/pipeline", "internal/targetsync",
	}
	// adapters each access one kind of external system.
	adapters = []string{
		"deployer", "internal/deployer", "internal/target", "internal/fleet", "internal/gitprovider", "internal/approval",
		"internal/dial", "internal/taskgroup", "internal/oci",
	}
	apimachinery = []string{"k8s.io/apimachinery"}
	// documents are the libraries for JSON and YAML.
	documents = []string{"go.yaml.in/yaml/v3", "sigs.k8s.io/json", "sigs.k8s.io/yaml"}
)

// layers is the table of docs/architecture.md, from the bottom up.
var layers = slices.Concat(
	[]layer{
		{folders: []string{"api"}, libraries: apimachinery},
		{folders: []string{"internal/failure"}, libraries: apimachinery},
		{folders: []string{"internal/masking"}, sees: []string{"api", "internal/failure"}, libraries: slices.Concat(apimachinery, documents)},
		{folders: []string{"internal/decision"}, libraries: apimachinery},
		{folders: []string{"internal/lru"}, libraries: []string{}},
		{folders: []string{"internal/archive"}, libraries: []string{}},
		{folders: []string{"internal/diagram"}, libraries: []string{}},
		{folders: []string{"internal/fairness"}, libraries: []string{}},
		{folders: []string{"internal/shard"}, libraries: []string{}},
		{folders: []string{"internal/graph"}, sees: []string{"internal/failure"}, libraries: []string{}},
		{folders: []string{"internal/dataflow"}, sees: []string{"api", "internal/failure", "internal/graph"}, libraries: apimachinery},
		{folders: []string{"internal/schedule"}, sees: []string{"api"}, libraries: []string{"github.com/robfig/cron"}},
		{folders: []string{"internal/run"}, sees: []string{"api", "internal/failure", "internal/decision"}, libraries: apimachinery},
		{
			folders:   []string{"internal/template"},
			sees:      []string{"api", "internal/failure"},
			libraries: slices.Concat(documents, []string{"github.com/Masterminds", "github.com/mandelsoft/spiff", "golang.org/x/crypto"}),
		},
		{
			folders:   []string{"internal/schema"},
			sees:      []string{"api", "internal/failure", "internal/graph"},
			libraries: slices.Concat(documents, []string{"github.com/santhosh-tekuri/jsonschema"}),
		},
		{
			// The shell of the package below it, which reads what that package interprets.
			folders:   []string{"internal/component/repository"},
			sees:      []string{"internal/failure", "internal/lru", "internal/archive", "internal/component", "internal/oci"},
			libraries: []string{"github.com/opencontainers"},
		},
		{
			folders:   []string{"internal/component"},
			sees:      []string{"api", "internal/failure", "internal/graph"},
			libraries: slices.Concat(apimachinery, documents),
		},
		{
			folders: []string{"internal/blueprint"},
			sees: []string{
				"api", "internal/failure", "internal/lru", "internal/archive", "internal/graph", "internal/dataflow", "internal/template",
				"internal/schema", "internal/component",
			},
			libraries: slices.Concat(apimachinery, documents),
		},
	},
	decisionLayers(),
	[]layer{
		{folders: []string{"internal/version"}, libraries: []string{}},
		{folders: []string{"internal/telemetry"}, sees: []string{"api", "internal/version"}},
		{folders: []string{"internal/tenancy"}, sees: []string{"api", "internal/failure"}},
		{
			folders: []string{"internal/loop"},
			sees: []string{
				"api", "internal/failure", "internal/masking", "internal/decision", "internal/run", "internal/fairness", "internal/telemetry",
				"internal/tenancy", "internal/version",
			},
		},
		{folders: []string{"internal/freshness"}, sees: []string{"api"}},
		{folders: []string{"internal/confidential"}, sees: []string{"api", "internal/masking", "internal/dataflow", "internal/tenancy"}},
		{folders: []string{"internal/dial", "internal/listening", "internal/taskgroup", "internal/subprocess"}, libraries: []string{}},
		{folders: []string{"internal/giteaserver"}, sees: []string{"internal/subprocess"}, libraries: []string{}},
		{
			folders: []string{"internal/oci"},
			sees:    []string{"internal/failure", "internal/lru", "internal/archive", "internal/dial", "internal/version"},
		},
		{
			folders: []string{"internal/target", "internal/gitprovider"},
			sees: []string{
				"api", "internal/failure", "internal/masking", "internal/version", "internal/dial", "internal/taskgroup", "internal/tenancy",
			},
		},
		{
			folders: []string{"internal/fleet"},
			sees: []string{
				"api", "internal/failure", "internal/masking", "internal/version", "internal/target", "internal/dial", "internal/tenancy",
			},
		},
		{
			folders: []string{"internal/approval"},
			sees:    []string{"api", "internal/failure", "internal/version", "internal/pipeline", "internal/gitprovider", "internal/listening"},
		},
		{
			// What runs in pods, which must stay small.
			folders:   []string{"internal/deployer/container/inside"},
			libraries: []string{},
		},
		{
			// It passes blueprints to images unchanged.
			folders: []string{"internal/deployer/container"},
			sees: []string{
				"api", "deployer", "internal/deployer", "internal/failure", "internal/masking", "internal/confidential", "internal/deployitem",
				"internal/loop", "internal/freshness", "internal/component", "internal/archive", "internal/blueprint", "internal/tenancy",
			},
		},
		{
			folders: []string{"deployer", "internal/deployer"},
			sees: []string{
				"api", "deployer", "internal/dial", "internal/failure", "internal/masking", "internal/confidential",
				"internal/decision", "internal/run", "internal/deployitem",
				"internal/loop", "internal/freshness", "internal/version", "internal/target", "internal/component", "internal/schedule",
				"internal/lru", "internal/schema", "internal/oci", "internal/tenancy",
			},
		},
		{
			folders: []string{"internal/catalog"},
			sees: []string{
				"api", "internal/failure", "internal/lru", "internal/archive", "internal/schema", "internal/component", "internal/blueprint",
			},
			libraries: apimachinery,
		},
		{
			folders: []string{"internal/artifact"},
			sees: []string{
				"api", "internal/failure", "internal/masking", "internal/lru", "internal/component", "internal/blueprint", "internal/catalog",
				"internal/dial", "internal/gitprovider", "internal/oci",
			},
		},
		{
			folders: []string{"internal/controller"},
			sees: slices.Concat(
				[]string{"api", "internal/loop", "internal/freshness", "internal/confidential", "internal/version"},
				[]string{"internal/catalog", "internal/artifact", "internal/tenancy"},
				purePackages, adapters,
			),
		},
		{
			folders: []string{"internal/manager"},
			sees: []string{
				"api", "internal/fairness", "internal/loop", "internal/freshness", "internal/telemetry", "internal/version", "internal/controller",
				"deployer", "internal/deployer", "internal/dataflow", "internal/deployitem", "internal/installation", "internal/shard",
				"internal/target", "internal/tenancy", "internal/dial", "internal/artifact", "internal/approval", "internal/pipeline",
			},
		},
		{folders: []string{"internal/definitions"}, sees: []string{"config/crd"}},
		{folders: []string{"internal/offline"}, sees: slices.Concat([]string{"api", "internal/catalog"}, purePackages)},
		{
			folders: []string{"internal/preview"},
			sees:    slices.Concat([]string{"api", "internal/offline", "internal/catalog", "internal/confidential"}, purePackages),
		},
		{folders: []string{"internal/objecttree"}, sees: slices.Concat([]string{"api"}, purePackages)},
		{folders: []string{"internal/explain"}, sees: slices.Concat([]string{"api", "internal/objecttree", "internal/version"}, purePackages)},
		{
			folders: []string{"internal/live"},
			sees:    []string{"api", "internal/masking", "internal/objecttree", "internal/target", "internal/deployer/objects"},
		},
		{folders: []string{"internal/steer"}, sees: slices.Concat([]string{"api"}, purePackages)},
		{folders: []string{"ui"}, libraries: []string{}},
		{
			// The content of the pages, without the server that delivers them.
			folders: []string{"internal/web/view"},
			sees:    slices.Concat([]string{"api", "internal/objecttree", "internal/explain", "internal/steer", "internal/preview"}, purePackages),
		},
		{
			folders: []string{"internal/web"},
			sees: slices.Concat(
				[]string{
					"api", "internal/version", "internal/offline", "internal/artifact", "internal/catalog", "internal/oci", "internal/dial",
					"internal/objecttree", "internal/explain", "internal/live", "internal/target", "internal/taskgroup", "internal/confidential",
					"internal/preview", "internal/steer", "ui",
				},
				purePackages,
			),
		},
		{
			folders: []string{"internal/cli"},
			sees: slices.Concat(
				[]string{
					"api", "internal/version", "internal/offline", "internal/artifact", "internal/catalog",
					"internal/oci", "internal/dial", "internal/target", "internal/objecttree", "internal/explain", "internal/live", "internal/steer",
					"internal/preview", "internal/confidential", "internal/web", "internal/definitions", "config/crd", "config/rbac",
					"internal/deployer/objects/inventory", // for the marks that deployers leave on objects
					"internal/deployer/objects/forecast",  // for what jobs would change in target clusters
				},
				purePackages,
			),
		},
		{folders: []string{"internal/lint", "internal/doctest", "internal/rights"}, libraries: []string{}},
		{folders: []string{"internal/reference"}, sees: []string{"config/crd"}, libraries: []string{"github.com/spf13", "go.yaml.in/yaml"}},
		{folders: []string{"internal/site"}, sees: []string{"internal/diagram"}, libraries: []string{"github.com/yuin/goldmark"}},
		{folders: []string{"internal/conformance"}, sees: []string{"internal/lint"}, libraries: []string{}},
		{
			// The tool behind "make release".
			folders: []string{"internal/release"},
			libraries: []string{
				"github.com/opencontainers", "golang.org/x/crypto/ssh", "helm.sh/helm/v4/pkg/chart",
				"sigs.k8s.io/kustomize", "sigs.k8s.io/yaml",
			},
		},
		{folders: []string{"internal/testkit"}, sees: []string{everything}},
		{folders: []string{"examples/file-deployer"}, sees: []string{"api", "deployer"}},
		{folders: []string{"cmd", "config", "test", "examples"}, sees: []string{everything}},
		{folders: []string{"tools"}},
	},
)

func decisionLayers() []layer {
	var result []layer
	sees := []string{
		"api",
		"internal/run",
		"internal/graph",
		"internal/failure",
		"internal/decision",
		"internal/dataflow",
		"internal/schedule",
	}
	for _, folder := range decisions {
		own := layer{folders: []string{folder}, sees: sees, libraries: apimachinery}
		if folder == "internal/installation" {
			own.sees = append(slices.Clone(sees), "internal/blueprint") // its plan contains what the blueprint requests
		}
		result = append(result, own)
	}
	return result
}

// islands may only be imported from within themselves, or only by tests.
var islands = []struct {
	folder     string
	testsMay   bool
	complaint  string
	exceptions []string
}{
	{folder: "cmd", complaint: "commands are the end of the line; nothing imports them"},
	{folder: "test", complaint: "nothing imports test suites"},
	{folder: testkitDir, testsMay: true, complaint: "the test kit is for tests", exceptions: []string{"test"}},
	{
		folder:     "internal/lint",
		testsMay:   true,
		complaint:  "the rules are run by their own tests",
		exceptions: []string{"internal/conformance"},
	},
	{folder: "internal/conformance", testsMay: true, complaint: "the conformance check is run by its own tests"},
}

func findForbiddenImports(tree *Tree) []Offence {
	var offences []Offence
	homeless := map[string]bool{}
	for _, file := range tree.goFiles(everyFile) {
		for _, spec := range file.Go.Imports {
			if complaint := checkImport(file, importPath(spec)); complaint != "" {
				offences = append(offences, tree.offence(file, spec.Pos(), "%s", complaint))
			}
		}
		if layerOf(file.Dir()) == nil && !homeless[file.Dir()] {
			homeless[file.Dir()] = true
			offences = append(
				offences,
				tree.offence(
					file,
					file.Go.Package,
					"folder %s belongs to no layer; give it a place in internal/lint/imports.go and docs/architecture.md",
					file.Dir(),
				),
			)
		}
	}
	return offences
}

// checkImport returns what is wrong with an import, or nothing. Layers apply only to production code, because a test may use whatever
// proves that the code works; islands also apply to tests.
func checkImport(file *File, imported string) string {
	folder, ours := ourFolder(imported)
	if ours {
		if complaint := checkIsland(file, folder); complaint != "" {
			return complaint
		}
	}
	own := layerOf(file.Dir())
	if file.IsTest() || own == nil {
		return ""
	}
	if ours {
		return own.checkOurs(file.Dir(), folder)
	}
	return own.checkLibrary(imported)
}

func checkIsland(file *File, folder string) string {
	for _, island := range islands {
		inside := within(file.Dir(), island.folder) && sameCommand(file.Dir(), folder)
		if !within(folder, island.folder) || inside || withinAny(file.Dir(), island.exceptions) {
			continue
		}
		if !island.testsMay || !file.IsTest() {
			return fmt.Sprintf("%s must not be imported here: %s", folder, island.complaint)
		}
	}
	return ""
}

// sameCommand reports whether two packages are in the same command below cmd: each command is a separate island.
func sameCommand(from, to string) bool {
	if !within(from, "cmd") {
		return true
	}
	return second(from) == second(to)
}

func second(folder string) string {
	parts := strings.SplitN(folder, "/", 3)
	return parts[min(1, len(parts)-1)]
}

func (l *layer) checkOurs(from, to string) string {
	if slices.Contains(l.sees, everything) || withinAny(to, l.sees) {
		return ""
	}
	for _, folder := range l.folders {
		if within(from, folder) && within(to, folder) {
			return ""
		}
	}
	return fmt.Sprintf("%s may not import %s (see the layers in internal/lint/imports.go)", from, to)
}

func (l *layer) checkLibrary(imported string) string {
	if l.libraries == nil || isStandard(imported) || withinAny(imported, l.libraries) {
		return ""
	}
	return fmt.Sprintf("this layer may not import %s", imported)
}

// isStandard follows the convention that only paths outside the standard library start with a host name.
func isStandard(imported string) bool {
	host, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(host, ".")
}

// ourFolder returns the folder of a package of this project.
func ourFolder(imported string) (string, bool) {
	if imported == modulePath {
		return ".", true
	}
	folder, ours := strings.CutPrefix(imported, modulePath+"/")
	return path.Clean(folder), ours
}

func layerOf(folder string) *layer {
	for i := range layers {
		if withinAny(folder, layers[i].folders) {
			return &layers[i]
		}
	}
	return nil
}

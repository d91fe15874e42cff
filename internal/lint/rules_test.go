// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tree loads a work tree from file names and texts.
func tree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	memory := fstest.MapFS{}
	for name, text := range files {
		memory[name] = &fstest.MapFile{Data: []byte(text)}
	}
	loaded, err := Load(memory)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func ruleNamed(t *testing.T, name string) Rule {
	t.Helper()
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("there is no rule %q", name)
	}
	return Rules[i]
}

// places reduces offences to "path:line", sorted.
func places(offences []Offence) []string {
	found := []string{}
	for _, offence := range offences {
		found = append(found, fmt.Sprintf("%s:%d", offence.Path, offence.Line))
	}
	slices.Sort(found)
	return found
}

// ruleCase is a small work tree and the places where it violates a rule.
type ruleCase struct {
	files map[string]string
	want  []string
}

// single returns a work tree of one file.
func single(name, text string, want ...string) ruleCase {
	return ruleCase{files: map[string]string{name: text}, want: want}
}

func function(name string, lines int) string {
	return "package p\n\nfunc " + name + "() {\n" + strings.Repeat("\tstep()\n", lines-2) + "}\n"
}

func branchy(ifs int) string {
	return "package p\n\nfunc f(a, b bool) {\n" + strings.Repeat("\tif a {\n\t}\n", ifs) + "}\n"
}

// effectCase returns a work tree with the effects Add, Drop and Tell, and a function that starts with an effect as its argument.
func effectCase(body string, want ...string) ruleCase {
	return ruleCase{files: map[string]string{
		"internal/pipeline/a.go": "package pipeline\n\ntype Effect interface{ effect() }\n\n" +
			"func (Add) effect() {}\n\nfunc (Drop) effect() {}\n\nfunc (Tell) effect() {}\n",
		"internal/controller/a.go": "package controller\n\nimport \"espalier.dev/internal/pipeline\"\n\nfunc f(effect pipeline.Effect) {\n" + body,
	}, want: want}
}

// worded returns a work tree of one file and a table of words.
func worded(name, text string, want ...string) ruleCase {
	table := "| Say | Not |\n|---|---|\n| create | lamps are made **afresh**, **who is too late** |\n\n| Word | Meaning |\n|---|---|\n| x | **the middle** |\n"
	return ruleCase{files: map[string]string{name: text, wordsPage: table}, want: want}
}

// The marks that some rules search for are composed here, because those rules read this file too.
const (
	todo    = "TO" + "DO"
	homeDir = "/" + "home"
	rootDir = "/" + "root"
)

var ruleCases = map[string]map[string]ruleCase{
	"format": {
		"formatted":   single("internal/run/a.go", "package run\n\nfunc f() {\n\tg()\n}\n"),
		"unformatted": single("internal/run/a.go", "package run\n\nfunc f() {\n  g()\n}\n", "internal/run/a.go:4"),
		"no new line": single("internal/run/a.go", "package run", "internal/run/a.go:1"),
		"in a test":   single("internal/run/a_test.go", "package  run\n", "internal/run/a_test.go:1"),
		"test data":   single("internal/run/testdata/a.go", "package  run\n"),
	},
	"imports": {
		"a kind sees another kind": single(
			"internal/installation/a.go",
			"package p\n\nimport \"espalier.dev/internal/execution\"\n",
			"internal/installation/a.go:3",
		),
		"a kind sees what is below": single(
			"internal/installation/a.go",
			"package p\n\nimport (\n\t\"espalier.dev/internal/run\"\n\t\"espalier.dev/api/landscaper/v1alpha1\"\n)\n",
		),
		"a kind sees a client": single(
			"internal/pipeline/a.go",
			"package p\n\nimport \"sigs.k8s.io/controller-runtime/pkg/client\"\n",
			"internal/pipeline/a.go:3",
		),
		"a kind sees apimachinery": single("internal/pipeline/a.go", "package p\n\nimport \"k8s.io/apimachinery/pkg/types\"\n"),
		"the bottom looks up": single(
			"internal/graph/a.go",
			"package p\n\nimport \"espalier.dev/internal/run\"\n",
			"internal/graph/a.go:3",
		),
		"the API sees a client":           single("api/v1/a.go", "package p\n\nimport \"k8s.io/client-go/rest\"\n", "api/v1/a.go:3"),
		"the API sees the product":        single("api/v1/a.go", "package p\n\nimport \"espalier.dev/internal/run\"\n", "api/v1/a.go:3"),
		"the API sees itself":             single("api/v1/a.go", "package p\n\nimport \"espalier.dev/api/v2\"\n"),
		"a test of the API sees a client": single("api/v1/a_test.go", "package p\n\nimport \"k8s.io/client-go/rest\"\n"),
		"the loop sees a controller": single(
			"internal/loop/a.go",
			"package p\n\nimport \"espalier.dev/internal/controller\"\n",
			"internal/loop/a.go:3",
		),
		"the command line sees a controller": single(
			"internal/cli/why/a.go",
			"package p\n\nimport \"espalier.dev/internal/controller\"\n",
			"internal/cli/why/a.go:3",
		),
		"the web UI sees a controller": single(
			"internal/web/a.go",
			"package p\n\nimport \"espalier.dev/internal/controller\"\n",
			"internal/web/a.go:3",
		),
		"the command line sees the manager": single(
			"internal/cli/why/a.go",
			"package p\n\nimport \"espalier.dev/internal/manager\"\n",
			"internal/cli/why/a.go:3",
		),
		"the command line sees a decision": single("internal/cli/why/a.go", "package p\n\nimport \"espalier.dev/internal/installation\"\n"),
		"a controller sees nearly everything": single(
			"internal/controller/a.go",
			"package p\n\nimport (\n\t\"espalier.dev/internal/loop\"\n\t\"espalier.dev/internal/pipeline\"\n\t\"espalier.dev/internal/target\"\n)\n",
		),
		"somebody sees a command": single(
			"internal/cli/a.go",
			"package p\n\nimport \"espalier.dev/cmd/espalier/internal/controlplane\"\n",
			"internal/cli/a.go:3",
		),
		"a test sees a command": single(
			"internal/cli/a_test.go",
			"package p\n\nimport \"espalier.dev/cmd/espalier/internal/controlplane\"\n",
			"internal/cli/a_test.go:3",
		),
		"a command sees another command": single(
			"cmd/espalier-controller/a.go",
			"package p\n\nimport \"espalier.dev/cmd/espalier/internal/controlplane\"\n",
			"cmd/espalier-controller/a.go:3",
		),
		"a command sees itself": single(
			"cmd/espalier/a.go",
			"package p\n\nimport \"espalier.dev/cmd/espalier/internal/controlplane\"\n",
		),
		"a product package sees the test kit": single(
			"internal/controller/a.go",
			"package p\n\nimport \"espalier.dev/internal/testkit\"\n",
			"internal/controller/a.go:3",
		),
		"a command sees the test kit": single(
			"cmd/espalier/a.go",
			"package p\n\nimport \"espalier.dev/internal/testkit\"\n",
			"cmd/espalier/a.go:3",
		),
		"a test sees the test kit": single(
			"internal/controller/a_test.go",
			"package p\n\nimport \"espalier.dev/internal/testkit\"\n",
		),
		"a package without a layer": {
			files: map[string]string{"internal/novelty/a.go": "package p\n", "internal/novelty/b.go": "package p\n"},
			want:  []string{"internal/novelty/a.go:1"},
		},
	},
	"purity": {
		"a clock": single("internal/run/a.go", "package p\n\nimport \"time\"\n\nvar t = time.Now()\n", "internal/run/a.go:5"),
		"a clock by another name": single(
			"internal/run/a.go",
			"package p\n\nimport clock \"time\"\n\nvar t = clock.Since\n",
			"internal/run/a.go:5",
		),
		"the clock of the API": single(
			"internal/run/a.go",
			"package p\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\nvar t = metav1.Now()\n",
			"internal/run/a.go:5",
		),
		"durations":    single("internal/run/a.go", "package p\n\nimport \"time\"\n\nvar d = time.Minute\n"),
		"a context":    single("internal/graph/a.go", "package p\n\nimport \"context\"\n", "internal/graph/a.go:3"),
		"a file":       single("internal/blueprint/spiff/a.go", "package p\n\nimport \"os\"\n", "internal/blueprint/spiff/a.go:3"),
		"a connection": single("internal/pipeline/a.go", "package p\n\nimport \"net/http\"\n", "internal/pipeline/a.go:3"),
		"an address":   single("internal/pipeline/a.go", "package p\n\nimport \"net/url\"\n"),
		"chance":       single("internal/pipeline/a.go", "package p\n\nimport \"math/rand/v2\"\n", "internal/pipeline/a.go:3"),
		"a new UUID": single(
			"internal/run/a.go",
			"package p\n\nimport \"k8s.io/apimachinery/pkg/util/uuid\"\n",
			"internal/run/a.go:3",
		),
		"a log": single("internal/failure/a.go", "package p\n\nimport \"log/slog\"\n", "internal/failure/a.go:3"),
		"a print": single(
			"internal/failure/a.go",
			"package p\n\nimport \"fmt\"\n\nfunc f() { fmt.Println() }\n",
			"internal/failure/a.go:5",
		),
		"a test reads a file": single("internal/pipeline/a_test.go", "package p\n\nimport \"os\"\n"),
		"the shell may":       single("internal/loop/a.go", "package p\n\nimport \"context\"\n"),
	},
	"length": {
		"80 lines":           single("internal/run/a.go", function("f", 80)),
		"81 lines":           single("internal/run/a.go", function("f", 81), "internal/run/a.go:3"),
		"81 lines in a test": single("internal/run/a_test.go", function("f", 81)),
		"81 generated lines": single("internal/run/a.go", "// Code generated by hand. DO NOT EDIT.\n\n"+function("f", 81)),
		"81 excused lines":   single("internal/run/a.go", strings.Replace(function("f", 81), "func", exemptionMark+" length a table\nfunc", 1)),
		"excused of the rest": single(
			"internal/run/a.go",
			strings.Replace(function("f", 81), "func", exemptionMark+" complexity a table\nfunc", 1),
			"internal/run/a.go:4",
		),
	},
	"complexity": {
		"ten branches":    single("internal/run/a.go", branchy(10)),
		"eleven branches": single("internal/run/a.go", branchy(11), "internal/run/a.go:3"),
		"logic counts":    single("internal/run/a.go", strings.Replace(branchy(10), "if a", "if a && b || a", 1), "internal/run/a.go:3"),
		"cases count": single("internal/run/a.go",
			"package p\n\nfunc f(a int) {\n\tswitch a {\n"+strings.Repeat("\tcase 1:\n", 11)+"\tdefault:\n\t}\n}\n", "internal/run/a.go:3"),
		"default does not": single("internal/run/a.go",
			"package p\n\nfunc f(a int) {\n\tswitch a {\n"+strings.Repeat("\tcase 1:\n", 10)+"\tdefault:\n\t}\n}\n"),
		"closures count": single("internal/run/a.go",
			"package p\n\nfunc f(a bool) {\n\tg := func() {\n"+strings.Repeat("\tfor a {\n\t}\n", 11)+"\t}\n\tg()\n}\n", "internal/run/a.go:3"),
	},
	"parameters": {
		"four and a context": single(
			"internal/loop/a.go",
			"package p\n\nimport \"context\"\n\nfunc f(ctx context.Context, a, b, c, d int) {}\n",
		),
		"four and a test":     single("internal/testkit/a.go", "package p\n\nimport \"testing\"\n\nfunc f(t testing.TB, a, b, c, d int) {}\n"),
		"five":                single("internal/loop/a.go", "package p\n\nfunc f(a, b int, c, d, e string) {}\n", "internal/loop/a.go:3"),
		"five without a name": single("internal/loop/a.go", "package p\n\nfunc f(int, int, int, int, int) {}\n", "internal/loop/a.go:3"),
	},
	"effects": {
		"all in one switch": effectCase("\tswitch effect.(type) {\n\tcase pipeline.Add, pipeline.Drop:\n\tcase pipeline.Tell:\n\t}\n}\n"),
		"one is missing": effectCase(
			"\tswitch effect.(type) {\n\tcase pipeline.Add, pipeline.Drop:\n\t}\n}\n",
			"internal/controller/a.go:6",
		),
		"a default that does not pass them on": effectCase(
			"\tswitch effect.(type) {\n\tcase pipeline.Add, pipeline.Drop:\n\tdefault:\n\t\treport()\n\t}\n}\n",
			"internal/controller/a.go:6",
		),
		"the rest is passed on": effectCase(
			"\tswitch e := effect.(type) {\n\tcase pipeline.Add:\n\tdefault:\n\t\tg(e)\n\t}\n}\n" +
				"func g(effect pipeline.Effect) { h(effect) }\n" +
				"func h(effect pipeline.Effect) {\n\tswitch effect.(type) {\n\tcase pipeline.Drop, pipeline.Tell:\n\t}\n}\n",
		),
		"one is missing in the rest": effectCase(
			"\tswitch e := effect.(type) {\n\tcase pipeline.Add:\n\tdefault:\n\t\tg(e)\n\t}\n}\n"+
				"func g(effect pipeline.Effect) {\n\tswitch effect.(type) {\n\tcase pipeline.Drop:\n\t}\n}\n",
			"internal/controller/a.go:6",
		),
		"a switch over something else": effectCase("\tswitch effect.(type) {\n\tcase string:\n\t}\n}\n"),
		"in the package of the effects": single("internal/pipeline/a.go",
			"package pipeline\n\ntype Add struct{}\n\ntype Drop struct{}\n\nfunc (Add) effect() {}\n\nfunc (*Drop) effect() {}\n\n"+
				"func f(effect Effect) {\n\tswitch effect.(type) {\n\tcase Add:\n\t}\n}\n",
			"internal/pipeline/a.go:12"),
	},
	"width": {
		"140 characters":           single("internal/run/a.go", "package p\n\n// "+strings.Repeat("x", 137)+"\n"),
		"141 characters":           single("internal/run/a.go", "package p\n\n// "+strings.Repeat("x", 138)+"\n", "internal/run/a.go:3"),
		"141 characters in a test": single("internal/run/a_test.go", "package p\n\n// "+strings.Repeat("x", 138)+"\n"),
		"a message":                single("internal/run/a.go", "package p\n\nvar x = \""+strings.Repeat("x", 150)+"\"\n"),
		"many short strings":       single("internal/run/a.go", "package p\n\nvar x = []string{"+strings.Repeat(`"xxxxxxxxxx",`, 12)+"}\n", "internal/run/a.go:3"),
	},
	"package-doc": {
		"none": single("internal/run/a.go", "package run\n", "internal/run/a.go:1"),
		"in one of two files": {files: map[string]string{
			"internal/run/a.go": "package run\n",
			"internal/run/b.go": "// Package run runs.\npackage run\n",
		}},
		"of something else":  single("internal/run/a.go", "// Runs things.\npackage run\n", "internal/run/a.go:2"),
		"a licence is none":  single("internal/run/a.go", header+"package run\n", "internal/run/a.go:4"),
		"a command":          single("cmd/prune/main.go", "// Command prune cuts.\npackage main\n"),
		"a package of tests": single("test/e2e/a_test.go", "package e2e\n", "test/e2e/a_test.go:1"),
	},
	"names": {
		"a folder":            single("internal/util/a.go", "package strings\n", "internal/util/a.go:1"),
		"a file":              single("internal/run/helpers.go", "package run\n", "internal/run/helpers.go:1"),
		"a test file":         single("internal/run/helpers_test.go", "package run\n", "internal/run/helpers_test.go:1"),
		"a package":           single("internal/run/a.go", "package common\n", "internal/run/a.go:1"),
		"a script":            single("ui/src/misc.ts", "", "ui/src/misc.ts:1"),
		"a part of a word":    single("internal/utilisation/commonality.go", "package utilisation\n"),
		"somebody else's":     single("internal/run/testdata/shared/a.yaml", "a: b\n"),
		"the Makefile is not": single("Makefile", "all:\n"),
	},
	"header": {
		"complete":        single("internal/run/a.go", header+"package run\n"),
		"missing":         single("internal/run/a.go", "package run\n", "internal/run/a.go:1"),
		"half":            single("internal/run/a.go", strings.SplitAfter(header, "\n")[0]+"\npackage run\n", "internal/run/a.go:1"),
		"no empty line":   single("internal/run/a.go", strings.TrimSpace(header)+"\npackage run\n", "internal/run/a.go:1"),
		"generated":       single("api/zz.go", "//go:build !x\n\n"+header+"// Code generated by x. DO NOT EDIT.\n\npackage run\n"),
		"generated, none": single("api/zz.go", "// Code generated by x. DO NOT EDIT.\n\npackage run\n", "api/zz.go:1"),
	},
	"unfinished": {
		"in a comment":        single("internal/run/a.go", "package run\n\n// "+todo+" later\n", "internal/run/a.go:3"),
		"in a string":         single("internal/run/a.go", "package run\n\nconst word = \""+todo+"\"\n"),
		"in a script":         single("Makefile", "all:\n\t# "+todo+": later\n", "Makefile:2"),
		"a page may say so":   single("CONTRIBUTING.md", "A "+todo+" is not a plan.\n"),
		"a word that has one": single("internal/run/a.go", "package run\n\n// MAS"+todo+"NT\n"),
	},
	"commands": {
		"run":                  single("docs/a.md", "<!-- run -->\n```sh\nls\n```\n"),
		"run in background":    single("README.md", "<!-- run in background until \"ready\" -->\n```sh\nls\n```\n"),
		"not run":              single("examples/a/README.md", "1. List it:\n\n   <!-- not run: it needs a cluster -->\n   ```sh\n   ls\n   ```\n"),
		"no mark":              single("docs/a/b.md", "# A\n\n```sh\nls\n```\n", "docs/a/b.md:3"),
		"no reason":            single("docs/a.md", "<!-- not run: -->\n```sh\nls\n```\n", "docs/a.md:2"),
		"a mark further above": single("docs/a.md", "<!-- not run: why -->\n\n```sh\nls\n```\n", "docs/a.md:3"),
		"a mark for one block": single("docs/a.md", "<!-- run -->\n```sh\nls\n```\n\n   ```sh\n   ls\n   ```\n", "docs/a.md:6"),
		"another name":         single("docs/a.md", "<!-- not run: why -->\n```bash\nls\n```\n\n```shell\nls\n```\n", "docs/a.md:2", "docs/a.md:6"),
		"another language":     single("docs/a.md", "```yaml\na: b\n```\n"),
		"no page":              single("tools/README.md", "```sh\nls\n```\n"),
	},
	"words": {
		"in a page":                  worded("docs/a.md", "# A\n\nAll texts are made afresh.\n", "docs/a.md:3"),
		"in another case":            worded("README.md", "Afresh!\n", "README.md:1"),
		"across lines of a page":     worded("examples/a/README.md", "Who is\ntoo late goes.\n", "examples/a/README.md:1"),
		"in a part of a word":        worded("docs/a.md", "# Afreshness\n"),
		"not bold":                   worded("docs/a.md", "Lamps are made.\n"),
		"the history":                worded("CHANGELOG.md", "afresh\n"),
		"elsewhere":                  worded("ui/README.md", "afresh\n"),
		"a table below":              worded("docs/a.md", "the middle\n"),
		"in a comment":               worded("internal/run/a.go", "package run\n\n// f starts\n// afresh.\nfunc f() {}\n", "internal/run/a.go:4"),
		"across lines of a comment":  worded("internal/run/a.go", "package run\n\n// Who is too\n// late.\n", "internal/run/a.go:3"),
		"in a text":                  worded("internal/run/a.go", "package run\n\nconst c = \"made afresh\"\n", "internal/run/a.go:3"),
		"in a text of several lines": worded("internal/run/a.go", "package run\n\nconst c = `made\nafresh`\n", "internal/run/a.go:4"),
		"a name":                     worded("internal/run/a.go", "package run\n\nfunc afresh() {}\n"),
		"a test":                     worded("internal/run/a_test.go", "package run\n\nconst c = \"made afresh\"\n"),
		"generated":                  worded("internal/run/a.go", "// Code generated by x. DO NOT EDIT.\n\npackage run\n\nconst c = \"afresh\"\n"),
		"without the page":           single("docs/a.md", "made afresh\n"),
	},
	"machine-paths": {
		"in Go":                 single("internal/run/a.go", "package run\n\nconst p = \""+homeDir+"/me\"\n", "internal/run/a.go:3"),
		"in a page":             single("README.md", "cd "+rootDir+"\n", "README.md:1"),
		"at the start":          single("Makefile", homeDir+"/x\n", "Makefile:1"),
		"a URL":                 single("README.md", "https://example.org"+homeDir+"/page\n"),
		"a variable":            single("Makefile", "X = $(HOME)/work $HOME/work\n"),
		"a longer word":         single("README.md", "see "+homeDir+"stead\n"),
		"a folder further down": single("README.md", "see docs"+homeDir+"\n"),
	},
	"sleep": {
		"in a test": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n",
			"internal/run/a_test.go:5",
		),
		"in a product": single("internal/run/a.go", "package run\n\nimport \"time\"\n\nfunc f() {\n\ttime.Sleep(1)\n}\n", "internal/run/a.go:6"),
		"excused": single(
			"internal/run/a.go",
			"package run\n\nimport \"time\"\n\nfunc f() {\n\t"+exemptionMark+" sleep to be slow is the point\n\ttime.Sleep(1)\n}\n",
		),
	},
	"patience": {
		"a poll": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"k8s.io/apimachinery/pkg/util/wait\"\n\nvar x = wait.PollUntilContextTimeout(ctx, 1, time.Minute, true, f)\n",
			"internal/run/a_test.go:5",
		),
		"a context": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"context\"\n\nvar a, b = context.WithTimeout(ctx, 3*time.Second)\n",
			"internal/run/a_test.go:5",
		),
		"a timer": single("internal/run/a_test.go", "package run\n\nimport \"time\"\n\nvar x = time.After(5)\n", "internal/run/a_test.go:5"),
		"in the kit": single(
			"internal/testkit/a.go",
			"package testkit\n\nimport \"time\"\n\nvar x = time.NewTimer(time.Minute)\n",
			"internal/testkit/a.go:5",
		),
		"patience": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"k8s.io/apimachinery/pkg/util/wait\"\n\nvar x = wait.PollUntilContextTimeout(ctx, time.Second, testkit.Patience, true, f)\n",
		),
		"a constant":       single("internal/run/a_test.go", "package run\n\nimport \"time\"\n\nvar x = time.After(limit / 2)\n"),
		"in a product":     single("internal/run/a.go", "package run\n\nimport \"time\"\n\nvar x = time.After(5)\n"),
		"another function": single("internal/run/a_test.go", "package run\n\nimport \"time\"\n\nvar x = time.Tick(5)\n"),
		"excused": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"time\"\n\n"+exemptionMark+" patience the expiry is the subject\nvar x = time.After(5)\n",
		),
	},
	"skip": {
		"a call": single("internal/run/a_test.go", "package run\n\nfunc f(t *testing.T) { t.Skip() }\n", "internal/run/a_test.go:3"),
		"short": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"testing\"\n\nvar x = testing.Short()\n",
			"internal/run/a_test.go:5",
		),
		"in the kit": single(
			"internal/testkit/a.go",
			"package testkit\n\nfunc f(t *testing.T) { t.Skipf(\"x\") }\n",
			"internal/testkit/a.go:3",
		),
		"a directory": single("internal/run/a_test.go", "package run\n\nvar x = fs.SkipDir\n"),
	},
	"mocks": {
		"testify": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"github.com/stretchr/testify/mock\"\n",
			"internal/run/a_test.go:3",
		),
		"gomock": single("internal/run/a_test.go", "package run\n\nimport \"go.uber.org/mock/gomock\"\n", "internal/run/a_test.go:3"),
		"a fake client": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"sigs.k8s.io/controller-runtime/pkg/client/fake\"\n",
			"internal/run/a_test.go:3",
		),
		"another one": single(
			"internal/run/a_test.go",
			"package run\n\nimport \"k8s.io/client-go/kubernetes/fake\"\n",
			"internal/run/a_test.go:3",
		),
		"a comparison": single("internal/run/a_test.go", "package run\n\nimport \"github.com/google/go-cmp/cmp\"\n"),
	},
}

func TestRules(t *testing.T) {
	for _, rule := range Rules {
		if len(ruleCases[rule.Name]) == 0 {
			t.Errorf("rule %s has no test", rule.Name)
		}
	}
	for name, cases := range ruleCases {
		rule := ruleNamed(t, name)
		for title, c := range cases {
			t.Run(name+"/"+title, func(t *testing.T) {
				offences := rule.Check(tree(t, c.files))
				if got := places(offences); !slices.Equal(got, c.want) {
					t.Errorf("got %v, want %v\n%v", got, c.want, offences)
				}
			})
		}
	}
}

func TestOffenceNamesPlaceAndRule(t *testing.T) {
	offences := ruleNamed(t, "names").Check(tree(t, map[string]string{"a/util/b.txt": "x"}))
	if len(offences) != 1 {
		t.Fatalf("got %v, want one offence", offences)
	}
	if got, want := offences[0].String(), `a/util/b.txt:1: the name "util" says nothing [names]`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExemptions(t *testing.T) {
	long := function("f", 81)
	cases := map[string]struct {
		comment string
		source  string
		want    string
	}{
		"well used":      {comment: " length a table", source: long},
		"no reason":      {comment: " length", source: long, want: "needs a reason"},
		"unknown rule":   {comment: " lenght a table", source: long, want: `no rule "lenght"`},
		"strict rule":    {comment: " purity a clock", source: long, want: "knows no exemptions"},
		"no longer used": {comment: " length a table", source: function("f", 3), want: "excuses nothing"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := strings.Replace(c.source, "func", exemptionMark+c.comment+"\nfunc", 1)
			wrong := CheckExemptions(tree(t, map[string]string{"internal/run/a.go": source}))
			switch {
			case c.want == "" && len(wrong) > 0:
				t.Errorf("got %v, want no complaint", wrong)
			case c.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0].Message, c.want)):
				t.Errorf("got %v, want one complaint about %q", wrong, c.want)
			}
		})
	}
}

func TestLoadLeavesOutWhatNobodyWrites(t *testing.T) {
	loaded := tree(t, map[string]string{
		".git/config":          "x",
		".ci/run":              "x",
		"bin/tool":             "x",
		"ui/node_modules/a.js": "x",
		"ui/dist/a.js":         "x",
		"picture.png":          "\x89PNG\x00",
		"kept.txt":             "x",
		"a/testdata/broken.go": "not Go at all",
	})
	var paths []string
	for _, file := range loaded.Files {
		paths = append(paths, file.Path)
	}
	if want := []string{".ci/run", "a/testdata/broken.go", "kept.txt"}; !slices.Equal(paths, want) {
		t.Errorf("got %v, want %v", paths, want)
	}
}

func TestLoadReportsBrokenGo(t *testing.T) {
	_, err := Load(fstest.MapFS{"internal/run/a.go": {Data: []byte("package")}})
	if err == nil || !strings.Contains(err.Error(), "internal/run/a.go") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

// TestLayersAreConsistent checks the table itself.
func TestLayersAreConsistent(t *testing.T) {
	seen := map[string]bool{}
	for _, layer := range layers {
		for _, folder := range layer.folders {
			if seen[folder] {
				t.Errorf("folder %s has two layers", folder)
			}
			seen[folder] = true
		}
	}
	for _, folder := range purePackages {
		layer := layerOf(folder)
		if layer == nil || layer.libraries == nil {
			t.Errorf("pure package %s may import any library", folder)
			continue
		}
		for _, visible := range layer.sees {
			if visible != "api" && !slices.Contains(purePackages, visible) {
				t.Errorf("pure package %s sees %s, which is not pure", folder, visible)
			}
		}
	}
}

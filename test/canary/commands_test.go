// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/archive"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/bugreport"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/diff"
	"espalier.dev/internal/cli/export"
	"espalier.dev/internal/cli/get"
	"espalier.dev/internal/cli/history"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/cli/job"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/cli/pipeline"
	"espalier.dev/internal/cli/render"
	"espalier.dev/internal/cli/target"
	"espalier.dev/internal/cli/tree"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/cli/watch"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/deployer/helm"
	manifestdeployer "espalier.dev/internal/deployer/manifest"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/share"
)

var inspectors = map[lsv1alpha1.DeployItemType]offline.Inspector{lsv1alpha1.DeployItemTypeHelm: helm.Preview}

func newRender(env cli.Environment) *cobra.Command { return render.New(env, inspectors) }

func newDiff(env cli.Environment) *cobra.Command {
	env.Forecasters = map[lsv1alpha1.DeployItemType]forecast.Forecaster{
		lsv1alpha1.DeployItemTypeManifest: manifestdeployer.Forecast, lsv1alpha1.DeployItemTypeHelm: helm.Forecast,
	}
	return diff.New(env)
}

// printed is what commands print, by their command lines.
type printed struct {
	*world
	said map[string]string
}

// commands returns what the commands print that show anything.
func (w *world) commands() map[string]string {
	w.Helper()
	p := printed{world: w, said: map[string]string{"espalier bug-report": w.bugReport()}}
	p.run(get.New)
	p.run(get.New, "targetsyncs")
	p.run(tree.New, "--live")
	p.run(tree.New, "-o", "json", "--objects")
	p.run(inventory.New, "-o", "yaml")
	p.run(target.New, "check", "--all")
	p.run(check.New, "--system-namespace", w.Namespace)
	p.run(export.New, "--all")
	p.run(pipeline.New, "get")
	p.watch()
	p.ofInstallations()
	for _, name := range w.names(&lsv1alpha1.TargetSyncList{}) {
		p.run(why.New, "targetsync/"+name)
	}
	for _, name := range w.names(&pipelines.PipelineList{}) {
		for _, command := range []string{"status", "why", "history", "graph"} {
			p.run(pipeline.New, command, name)
		}
		p.run(pipeline.New, "status", name, "-o", "json")
	}
	return p.said
}

// few is how many installations are looked at with commands that ask a cluster; of more, only a share.
const few = 20

func (p printed) ofInstallations() {
	p.Helper()
	var all lsv1alpha1.InstallationList
	if err := p.Client().List(p.Context(), &all, client.InNamespace(p.Namespace)); err != nil {
		p.Fatal(err)
	}
	cases := share.All()
	if len(all.Items) > few {
		cases = share.Of()
	}
	installations, secrets := p.manifests(&all), p.manifests(&corev1.SecretList{})
	targets := strings.Join(slices.Collect(maps.Values(p.manifests(&lsv1alpha1.TargetList{}))), "")
	for i := range all.Items {
		name := all.Items[i].Name
		file := installations[name] + secrets[name] + targets
		call := clitest.Call{Command: newRender, Args: []string{"-f", "-", "--charts", name}, Stdin: file}
		result := clitest.RunAlone(p.T, call)
		p.said["espalier render "+name] = result.Stdout + result.Stderr
		if !cases.Try() {
			continue
		}
		p.run(newDiff, name)
		p.run(why.New, name)
		p.run(why.New, name, "-o", "json")
		p.run(wait.New, name, "--timeout", "1ms")
		p.run(job.NewTimeline, name, "-o", "json")
		p.run(job.NewLogs, name, "--events")
		p.run(history.New, name, "-o", "yaml")
		p.run(inventory.NewTrace, "installation/"+name, "-o", "yaml")
		p.run(export.New, name)
	}
}

// manifests returns all objects of a kind as documents of a file, by their names.
func (p printed) manifests(list client.ObjectList) map[string]string {
	p.Helper()
	if err := p.Client().List(p.Context(), list, client.InNamespace(p.Namespace)); err != nil {
		p.Fatal(err)
	}
	documents := map[string]string{}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object := item.(client.Object)
		fields, err := manifest.Of(object, p.Client().Scheme())
		if err != nil {
			return err
		}
		text, err := yaml.Marshal(fields)
		documents[object.GetName()] = "---\n" + string(text)
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return documents
}

// watch draws the first screen.
func (p printed) watch() {
	p.Helper()
	call := clitest.Call{
		Command: watch.New, Stdin: "q", Terminal: &clitest.Terminal{Width: 1000, Height: 300}, Variables: map[string]string{"TERM": "xterm", "NO_COLOR": "1"},
	}
	result := clitest.Run(p.T, p.APIServer, p.Namespace, call)
	p.said["espalier watch"] = result.Stdout + result.Stderr
}

func (p printed) run(command func(cli.Environment) *cobra.Command, args ...string) {
	p.Helper()
	line := append([]string{"espalier", command(cli.Environment{}).Name()}, args...)
	p.said[strings.Join(line, " ")] = p.command(command, args...)
}

func (w *world) command(command func(cli.Environment) *cobra.Command, args ...string) string {
	w.Helper()
	result := clitest.Run(w.T, w.APIServer, w.Namespace, clitest.Call{Command: command, Args: args})
	return result.Stdout + result.Stderr
}

// bugReport returns the content of a bug report.
func (w *world) bugReport() string {
	w.Helper()
	name := filepath.Join(w.TempDir(), "report.tar.gz")
	var text strings.Builder
	text.WriteString(w.command(bugreport.New, "--file", name, "--system-namespace", w.Namespace))
	packed, err := os.Open(name)
	if err != nil {
		w.Fatalf("%v\n%s", err, text.String())
	}
	defer packed.Close()
	files, err := archive.Read(packed, archive.Default)
	if err != nil {
		w.Fatal(err)
	}
	for _, file := range files.Names() {
		fmt.Fprintf(&text, "%s\n%s\n", file, files[file])
	}
	return text.String()
}

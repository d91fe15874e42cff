// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"espalier.dev/config/crd"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/version"
)

const (
	// logLines is how much of each log is taken.
	logLines = 5000
	// logLimit and eventLimit keep an archive small enough for a mail.
	logLimit, eventLimit = 4 << 20, 2000
	// podLimit is how long a pod has to answer.
	podLimit = 20 * time.Second
	// metricsPort is where the controllers serve metrics unless a flag says otherwise.
	metricsPort = "8080"
)

type file struct{ name, about, content string }

// collector assembles the files of a report. For what cannot be read, the file contains the reason instead.
type collector struct {
	check.Subject
	config *rest.Config
	values *masking.Values
	files  []file
}

func (c *collector) collect(ctx context.Context) error {
	report, err := check.Examine(ctx, c.Subject)
	if err != nil {
		return err
	}
	namespaces := []string{c.Namespace}
	if c.Namespace != "" && c.Namespace != c.System {
		namespaces = append(namespaces, c.System)
	}
	c.values = readValues(ctx, c.Client, namespaces...)
	c.add("versions.yaml", "versions of the command and of the API server", map[string]any{
		"client": version.Get(), "server": report.Server, "time": c.Now.UTC().Format(time.RFC3339),
	})
	for i, finding := range report.Findings {
		report.Findings[i].Message, report.Findings[i].Object = prose(finding.Message, c.values), word(finding.Object, c.values)
		for j, next := range finding.Next {
			report.Findings[i].Next[j] = prose(next, c.values)
		}
	}
	c.add("check.yaml", "findings of espalier check", report)
	definitions, err := crd.All()
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		c.objects(ctx, definition)
	}
	c.events(ctx)
	c.system(ctx)
	return nil
}

func (c *collector) add(name, about string, content any) {
	text, err := yaml.Marshal(content)
	if err != nil {
		text = []byte("cannot be written: " + err.Error())
	}
	c.files = append(c.files, file{name: name, about: about, content: string(text)})
}

// missing says in the report why a file has no content.
func (c *collector) missing(name, about string, err error) {
	c.files = append(c.files, file{name: name, about: about + " (could not be read)", content: word(masking.Words(err), c.values) + "\n"})
}

func (c *collector) objects(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) {
	kind := definition.Spec.Names.Kind
	name, about := "objects/"+definition.Spec.Names.Plural+".yaml", kind+" objects: names, references, phases, conditions, errors"
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: definition.Spec.Group, Version: definition.Spec.Versions[0].Name, Kind: definition.Spec.Names.ListKind,
	})
	if err := c.Client.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
		c.missing(name, about, err)
		return
	}
	kept := []any{}
	for _, item := range list.Items {
		kept = append(kept, facts(item.Object, kind, c.values))
	}
	if len(kept) > 0 {
		c.add(name, fmt.Sprintf("%d %s", len(kept), about), kept)
	}
}

// events are those about our objects, newest first.
func (c *collector) events(ctx context.Context) {
	const name, about = "events.yaml", "Events about objects of our kinds and of the controllers"
	var list corev1.EventList
	if err := c.Client.List(ctx, &list, client.InNamespace(c.Namespace)); err != nil {
		c.missing(name, about, err)
		return
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return cmp.Compare(b.ResourceVersion, a.ResourceVersion) })
	told := []any{}
	for _, event := range list.Items {
		if !c.concerns(event) || len(told) == eventLimit {
			continue
		}
		told = append(told, map[string]any{
			"object": fmt.Sprintf("%s %s/%s", event.InvolvedObject.Kind, event.InvolvedObject.Namespace, event.InvolvedObject.Name),
			"type":   event.Type, "reason": word(event.Reason, c.values), "message": prose(event.Message, c.values),
			"first": cmp.Or(event.EventTime.Time, event.FirstTimestamp.Time), "last": event.LastTimestamp.Time, "count": event.Count,
		})
	}
	c.add(name, about, told)
}

func (c *collector) concerns(event corev1.Event) bool {
	group, _, _ := strings.Cut(event.InvolvedObject.APIVersion, "/")
	ours := []string{"landscaper.gardener.cloud", "pipelines.weave.works", "espalier.dev"}
	return event.Namespace == c.System || slices.Contains(ours, group)
}

// system is about the processes of the controllers.
func (c *collector) system(ctx context.Context) {
	var deployments appsv1.DeploymentList
	if err := c.Client.List(ctx, &deployments, client.InNamespace(c.System)); err != nil {
		c.missing("controllers/deployments.yaml", "Deployments of the controllers", err)
	}
	told := []any{}
	for _, deployment := range deployments.Items {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			var args []string
			for _, arg := range container.Args {
				args = append(args, c.argument(arg))
			}
			told = append(told, map[string]any{
				"name": deployment.Name, "image": container.Image, "args": args, "resources": container.Resources,
				"replicas": deployment.Spec.Replicas, "available": deployment.Status.AvailableReplicas,
			})
		}
	}
	c.add("controllers/deployments.yaml", "images, arguments and replicas of Deployments in namespace "+c.System, told)
	c.pods(ctx)
}

// argument is a flag; its value is left out where it is not known what to mask.
func (c *collector) argument(arg string) string {
	name, _, _ := strings.Cut(arg, "=")
	switch {
	case c.values.Known():
		return word(arg, c.values)
	case strings.HasPrefix(name, "--"):
		return name + "=" + masking.Mask
	}
	return masking.Mask
}

// lines masks a text line by line: what is masked in one must not swallow the next.
func (c *collector) lines(content string) string {
	if !c.values.Known() {
		return c.values.Text(content) + "\n"
	}
	var masked strings.Builder
	for line := range strings.Lines(content) {
		masked.WriteString(c.values.Text(strings.TrimRight(line, "\n")) + "\n")
	}
	return masked.String()
}

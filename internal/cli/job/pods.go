// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/reach"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/web/view"
)

// source is a container whose log can be read.
type source struct {
	// item is what people call the deploy item, and of is the deploy item.
	item      string
	of        *lsv1alpha1.DeployItem
	pod       *corev1.Pod
	container string
	status    corev1.ContainerStatus
	pods      corev1client.PodsGetter
	// masks hide the credential of a Target in errors; nil for the host cluster.
	masks *masking.Values
	// since is when the first line that matters was written; zero for all lines.
	since time.Time
	// controllers says that it is one of the controllers: only some of its lines matter, and it never ends.
	controllers bool
}

// title names the source in front of its lines.
func (s source) title() string {
	return fmt.Sprintf("%s %s/%s/%s", s.item, s.pod.Namespace, s.pod.Name, s.container)
}

// key tells containers apart, also those of different clusters.
func (s source) key() string { return string(s.pod.UID) + "/" + s.container }

func (s source) running() bool { return s.status.State.Running != nil }

// started reports whether there is a log.
func (s source) started() bool {
	return s.running() || s.status.State.Terminated != nil || s.status.LastTerminationState.Terminated != nil
}

// found is what a look at the cluster and the target clusters has shown.
type found struct {
	sources []source
	// starting are the containers that have not begun.
	starting []source
	problems []string
	// objects are those of the tree.
	objects []view.Ref
	// begun is when the job began, zero if there was none; finished says that it has ended.
	begun    time.Time
	finished bool
}

// finder finds the pods of the deploy items below an object.
type finder struct {
	connection connect.Connection
	host       corev1client.PodsGetter
	targets    *reach.Targets
	kind       objecttree.Kind
	name       string
}

// errGone says that the object does not exist.
var errGone = errors.New("it does not exist")

// find looks for pods. What stands in the way of some of them is told as a problem.
func (f *finder) find(ctx context.Context) (*found, error) {
	namespace := f.connection.Namespace
	objects, err := objecttree.Read(ctx, f.connection.Client, namespace)
	if err != nil {
		return nil, f.connection.Access.Explain(err, "read the installations", namespace)
	}
	node := objects.Forest().Find(f.kind, namespace, f.name)
	if node == nil {
		return nil, errGone
	}
	all := &found{finished: !slices.Contains([]objecttree.State{objecttree.Running, objecttree.Requested, objecttree.Pending}, node.State())}
	if run := view.RunOf(node); run.Start != nil {
		all.begun = *run.Start
	}
	titles := titlesBelow(node)
	var deploying []*objecttree.Node
	node.Walk(func(below *objecttree.Node) {
		all.objects = append(all.objects, view.Ref{Kind: string(below.Kind), Namespace: namespace, Name: below.Name()})
		item, ok := below.DeployItem()
		switch {
		case !ok:
		case item.Spec.Type == lsv1alpha1.DeployItemTypeContainer:
			all.addContainerItem(ctx, f.host, item, titles[below])
		case keepWorkloads(below):
			deploying = append(deploying, below)
		}
	})
	f.targets.Look(ctx, deploying)
	for _, below := range deploying {
		all.addDeployed(ctx, f.targets, below, titles[below])
	}
	for i := range all.starting {
		all.starting[i].conceal(ctx, f.connection.Client)
	}
	return all, nil
}

// conceal masks secrets in why a container has not started: nodes quote its command. Its log, if it has any, is shown as it is.
func (s *source) conceal(ctx context.Context, reader client.Reader) {
	if waiting := s.status.State.Waiting; waiting != nil && waiting.Message != "" {
		waiting.Message = confidential.Reader{Live: reader}.OfDeployItem(ctx, s.of).Text(waiting.Message)
	}
}

// titlesBelow are what people call the deploy items below a node: the names that executions give to them where these are clear.
func titlesBelow(node *objecttree.Node) map[*objecttree.Node]string {
	count := map[string]int{}
	node.Walk(func(below *objecttree.Node) {
		if below.Kind == objecttree.DeployItem {
			count[below.As]++
		}
	})
	titles := map[*objecttree.Node]string{}
	node.Walk(func(below *objecttree.Node) {
		if below.Kind != objecttree.DeployItem {
			return
		}
		if titles[below] = below.Name(); below.As != "" && count[below.As] == 1 {
			titles[below] = below.As
		}
	})
	return titles
}

// addContainerItem adds the pods of a container deploy item. They run in the cluster that holds the item: in its namespace, or in one that
// the deployer was given.
func (f *found) addContainerItem(ctx context.Context, host corev1client.PodsGetter, item *lsv1alpha1.DeployItem, title string) {
	options := metav1.ListOptions{LabelSelector: containerv1alpha1.DeployItemUIDLabel + "=" + string(item.UID)}
	pods, err := host.Pods(item.Namespace).List(ctx, options)
	if err == nil && len(pods.Items) == 0 && item.Status.ProviderStatus != nil {
		elsewhere, refused := host.Pods(metav1.NamespaceAll).List(ctx, options)
		if refused == nil {
			pods = elsewhere
		}
	}
	if err != nil {
		f.problems = append(f.problems, fmt.Sprintf("cannot find the pods of deploy item %s: %v", item.Name, err))
		return
	}
	for i := range pods.Items {
		f.addPod(source{item: title, of: item, pod: &pods.Items[i], pods: host})
	}
}

// workloads are the kinds that have pods.
var workloads = map[string]bool{
	"Deployment": true, "ReplicaSet": true, "StatefulSet": true, "DaemonSet": true, "Job": true, "Pod": true,
}

// keepWorkloads leaves out of what a deploy item has deployed what has no pods, so that nobody looks for it; false if nothing is left.
func keepWorkloads(node *objecttree.Node) bool {
	deployed := node.Deployed()
	deployed.Objects = slices.DeleteFunc(slices.Clone(deployed.Objects), func(o objecttree.DeployedObject) bool { return !workloads[o.Kind] })
	if len(deployed.Objects) > 0 {
		node.SetLive(deployed)
	}
	return len(deployed.Objects) > 0
}

// addDeployed adds the pods of what a deploy item has in its target cluster, which somebody has looked at.
func (f *found) addDeployed(ctx context.Context, targets *reach.Targets, node *objecttree.Node, title string) {
	deployed := node.Deployed()
	problem := func(format string, args ...any) {
		f.problems = append(f.problems, fmt.Sprintf("deploy item %s: ", node.Name())+fmt.Sprintf(format, args...))
	}
	if deployed.Problem != "" {
		problem("cannot look into its target cluster: %s", deployed.Problem)
		return
	}
	cluster, masks, err := targets.Cluster(ctx, client.ObjectKey{Namespace: node.Namespace(), Name: node.Target()})
	if err != nil {
		problem("cannot look into its target cluster: %v", err)
		return
	}
	core, err := corev1client.NewForConfig(cluster.Config())
	if err != nil {
		problem("cannot look into its target cluster: %v", masks.Error(err))
		return
	}
	item, _ := node.DeployItem()
	for _, key := range podsIn(deployed.Objects, problem) {
		pod, err := core.Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err): // It has gone meanwhile.
		case err != nil:
			problem("cannot read Pod %s: %v", key, masks.Error(err))
		default:
			f.addPod(source{item: title, of: item, pod: pod, pods: core, masks: masks, since: f.begun})
		}
	}
}

// podsIn are the pods among some objects and below them. What cannot be read is told.
func podsIn(objects []objecttree.DeployedObject, problem func(format string, args ...any)) []client.ObjectKey {
	var keys []client.ObjectKey
	for _, object := range objects {
		switch {
		case object.State == objecttree.NotReadable:
			problem("cannot look at %s: %s", object.Title(), object.Message)
		case object.Kind == "Pod" && object.State != objecttree.Gone:
			keys = append(keys, client.ObjectKey{Namespace: object.Namespace, Name: object.Name})
		}
		keys = append(keys, podsIn(object.Below, problem)...)
	}
	return keys
}

// addPod adds the containers of a pod in the order in which they start.
func (f *found) addPod(s source) {
	spec, status := &s.pod.Spec, &s.pod.Status
	statuses := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses)
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		one := s
		one.container = container.Name
		if i := slices.IndexFunc(statuses, func(c corev1.ContainerStatus) bool { return c.Name == container.Name }); i >= 0 {
			one.status = statuses[i]
		}
		switch over := status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed; {
		case one.started():
			f.sources = append(f.sources, one)
		case !over: // What has not started by now never will.
			f.starting = append(f.starting, one)
		}
	}
}

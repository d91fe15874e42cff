// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build node

package node_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"espalier.dev/cmd/espalier/internal/nodetest"
)

// limit bounds everything that the node does, on a machine that is busy with many other things.
const limit = 10 * time.Minute

// eventually waits until the condition holds; the condition returns why it does not.
func eventually(t *testing.T, what string, holds func(context.Context) error) {
	t.Helper()
	var missing error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		missing = holds(ctx)
		return missing == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, missing)
	}
}

type world struct {
	client kubernetes.Interface
}

func pod(arguments ...string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: nodetest.WorkloadImage, Args: arguments}}}
}

// job runs the workload and waits for its end.
func (w world) job(t *testing.T, name string, arguments ...string) {
	t.Helper()
	spec := pod(arguments...)
	spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
	}
	if _, err := w.client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "job "+name, func(ctx context.Context) error {
		job, err := w.client.BatchV1().Jobs("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil || job.Status.Succeeded == 1 {
			return err
		}
		return fmt.Errorf("%+v, and its pods: %s", job.Status, w.pods(ctx, "job-name="+name))
	})
}

// pods describes the pods, for messages.
func (w world) pods(ctx context.Context, selector string) string {
	pods, err := w.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, p := range pods.Items {
		parts = append(parts, fmt.Sprintf("%s: %+v", p.Name, p.Status))
	}
	return strings.Join(parts, "\n")
}

// serve creates a Deployment with a readiness probe, and a Service in front of it.
func (w world) serve(t *testing.T, name string) {
	t.Helper()
	labels := map[string]string{"app": name}
	spec := pod("serve", "here is "+name)
	probe := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}
	spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: probe, PeriodSeconds: 1}
	replicas := int32(2)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
	if _, err := w.client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	if _, err := w.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "deployment "+name, func(ctx context.Context) error {
		found, err := w.client.AppsV1().Deployments("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil || found.Status.AvailableReplicas == replicas {
			return err
		}
		return fmt.Errorf("%+v, and its pods: %s", found.Status, w.pods(ctx, "app="+name))
	})
}

func TestPodsRun(t *testing.T) {
	before := nodetest.Traces(t)
	cluster := nodetest.Start(t)
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := world{client: client}

	t.Run("a Deployment with a readiness probe becomes available", func(t *testing.T) { w.serve(t, "web") })
	t.Run("a Job completes", func(t *testing.T) { w.job(t, "alone", "token") })
	t.Run("a service answers by its name", func(t *testing.T) {
		w.job(t, "short", "fetch", "http://web")
		w.job(t, "long", "fetch", "http://web.default.svc.cluster.local")
	})
	t.Run("the API server has the logs", func(t *testing.T) {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=alone"})
		if err != nil || len(pods.Items) != 1 {
			t.Fatalf("there are %d pods: %v", len(pods.Items), err)
		}
		log, err := client.CoreV1().Pods("default").GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil || !strings.Contains(string(log), "200 OK") {
			t.Errorf("the log is %q: %v", log, err)
		}
	})
	t.Run("nothing is left when it stops", func(t *testing.T) {
		for _, kind := range []string{"cgroup ", "interface ", "process "} {
			if during := nodetest.Traces(t); !slices.ContainsFunc(slices.Collect(maps.Keys(during)), func(trace string) bool {
				return strings.HasPrefix(trace, kind) && !before[trace]
			}) {
				t.Errorf("there is no %sto find: %v", kind, during)
			}
		}
		if err := cluster.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		nodetest.NothingLeft(t, before)
	})
}

const roleVariable = "NODE_TEST_ROLE"

// TestTheOneToBeKilled is not a test but the process that the next one kills.
func TestTheOneToBeKilled(t *testing.T) {
	if os.Getenv(roleVariable) == "" {
		return
	}
	nodetest.Start(t)
	fmt.Println("up: " + strconv.Itoa(os.Getpid()))
	select {}
}

// The leftovers of a killed process's node are gone at the latest when the next node has started.
func TestAKilledOneLeavesNothingForTheNext(t *testing.T) {
	before := nodetest.Traces(t)
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheOneToBeKilled$", "-test.v")
	victim.Env = append(os.Environ(), roleVariable+"=victim")
	output, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(said.String(), "up: ") {
		size, err := output.Read(buffer)
		said.Write(buffer[:size])
		if err != nil {
			t.Fatalf("it ended before it was up: %v\n%s", err, said.String())
		}
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // It was killed.
	cluster := nodetest.Start(t)
	if err := cluster.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	nodetest.NothingLeft(t, before)
}

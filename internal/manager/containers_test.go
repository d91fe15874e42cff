// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"espalier.dev/internal/deployer/container"
)

func TestContainerFlags(t *testing.T) {
	opts := parse(t)
	got, err := opts.Containers.options()
	helper := strings.HasPrefix(got.HelperImage, container.Repository+":")
	if err != nil || got.Namespace != "" || got.DefaultImage != "ubuntu:24.04" || !helper {
		t.Errorf("the defaults are %+v, %v", got, err)
	}
	opts = parse(t, "--container-namespace=pods", "--container-image=helper:1", "--container-default-image=sh:1",
		"--container-node-selector=pool=jobs", "--container-toleration=jobs:NoSchedule", "--container-toleration=team=a",
		"--container-requests=cpu=100m,memory=64Mi", "--container-limits=memory=1Gi")
	got, err = opts.Containers.options()
	if err != nil {
		t.Fatal(err)
	}
	want := container.Options{
		Namespace: "pods", HelperImage: "helper:1", DefaultImage: "sh:1", NodeSelector: map[string]string{"pool": "jobs"},
		Tolerations: []corev1.Toleration{
			{Key: "jobs", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
			{Key: "team", Operator: corev1.TolerationOpEqual, Value: "a"},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{"memory": resource.MustParse("1Gi")},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for flag, want := range map[string]string{
		"--container-namespace=A!":        `--container-namespace is "A!"`,
		"--container-toleration=a:Never":  "--container-toleration: \"a:Never\" is not a taint",
		"--container-toleration==:x":      "--container-toleration: ",
		"--container-requests=cpu=plenty": "--container-requests: cpu=plenty",
		"--container-limits=memory=-1":    "--container-limits: memory=-1",
	} {
		opts := parse(t, flag)
		if err := opts.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

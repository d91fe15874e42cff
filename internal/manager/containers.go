// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"

	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/version"
)

// ContainerOptions configure the pods of the container deployer.
type ContainerOptions struct {
	// Namespace is the namespace of all pods. If it is empty, they run in the namespaces of their deploy items.
	Namespace string
	// HelperImage contains espalier-container, which runs beside each image. DefaultImage is the image of deploy items that name none.
	HelperImage  string
	DefaultImage string
	// NodeSelector, Tolerations, Requests and Limits apply to all pods. Tolerations are in the syntax of container.ParseToleration.
	NodeSelector map[string]string
	Tolerations  []string
	Requests     map[string]string
	Limits       map[string]string
}

func defaultContainerOptions() ContainerOptions {
	return ContainerOptions{HelperImage: container.HelperImage(version.Get().Version), DefaultImage: container.DefaultImage}
}

func (o *ContainerOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(
		&o.Namespace,
		"container-namespace",
		o.Namespace,
		"namespace of all pods of the container deployer (default: the namespaces of the deploy items)",
	)
	flags.StringVar(
		&o.HelperImage,
		"container-image",
		o.HelperImage,
		"image with espalier-container, which runs beside the images of deploy items",
	)
	flags.StringVar(&o.DefaultImage, "container-default-image", o.DefaultImage, "image to run for deploy items that name none")
	flags.StringToStringVar(
		&o.NodeSelector,
		"container-node-selector",
		o.NodeSelector,
		"labels of the nodes that these pods run on, as key=value",
	)
	flags.StringArrayVar(
		&o.Tolerations,
		"container-toleration",
		o.Tolerations,
		"taint that these pods tolerate, as key=value:effect, key:effect or key; can be repeated",
	)
	flags.StringToStringVar(
		&o.Requests,
		"container-requests",
		o.Requests,
		"resource requests of each container of these pods, as cpu=100m,memory=64Mi",
	)
	flags.StringToStringVar(&o.Limits, "container-limits", o.Limits, "resource limits of each container of these pods")
}

func (o *ContainerOptions) validate() error {
	if problems := validation.IsDNS1123Label(o.Namespace); o.Namespace != "" && len(problems) > 0 {
		return fmt.Errorf("--container-namespace is %q: %s", o.Namespace, problems[0])
	}
	_, err := o.options()
	return err
}

// options returns the options of the deployer.
func (o *ContainerOptions) options() (container.Options, error) {
	options := container.Options{
		Namespace: o.Namespace, HelperImage: o.HelperImage, DefaultImage: o.DefaultImage, NodeSelector: o.NodeSelector,
	}
	for _, text := range o.Tolerations {
		toleration, err := container.ParseToleration(text)
		if err != nil {
			return options, fmt.Errorf("--container-toleration: %w", err)
		}
		options.Tolerations = append(options.Tolerations, toleration)
	}
	for _, each := range []struct {
		flag  string
		texts map[string]string
		into  *corev1.ResourceList
	}{
		{"requests", o.Requests, &options.Resources.Requests},
		{"limits", o.Limits, &options.Resources.Limits},
	} {
		list, err := container.ParseResources(each.texts)
		if err != nil {
			return options, fmt.Errorf("--container-%s: %w", each.flag, err)
		}
		*each.into = list
	}
	return options, nil
}

func setupContainer(mgr ctrl.Manager, opts Options) error {
	options, err := opts.Containers.options()
	if err != nil {
		return err
	}
	options.Namespaces = opts.Namespaces
	options.Registries = opts.registries.Open
	return container.Setup(mgr, options, opts.deployerOptions(container.Name))
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
)

// Names of containers.
const (
	initContainer = "init"
	waitContainer = "wait"
	mainContainer = "main"
)

const (
	volumeShared = "shared-volume"
	volumeInput  = "input"
	volumeToken  = "serviceaccount-wait"

	userID, groupID, fileGroup = 1000, 3000, 2000
	// gracePeriod is the time that the image has to stop, and that storing its state may take, when the pod is ended.
	gracePeriod = 300
	// tokenSeconds is the lifetime of a token; the kubelet renews it.
	tokenSeconds = 3600
)

// program is the path of the program in the image of espalier-container.
const program = "/espalier-container"

// provision contains what was prepared for a run.
type provision struct {
	run       string
	origin    string
	operation containerv1alpha1.Operation
	// input and state are the Secrets with the input and the state of the image, one per piece.
	input, state []string
	stateSum     string
	// slots are the Secrets for the new state: their number, and the prefix of their names.
	slots      int
	slotPrefix string
	pull       string
}

// podOf returns the pod of a run.
func (d *Deployer) podOf(item *lsv1alpha1.DeployItem, config *configuration, p provision) *corev1.Pod {
	meta := d.meta(item, namesOf(item).pod(), "")
	meta.Finalizers = []string{Finalizer}
	meta.Labels["deployitem."+group+"/generation"] = strconv.FormatInt(item.Generation, 10)
	meta.Annotations[inside.AnnotationRun] = p.run
	meta.Annotations[annotationOrigin] = p.origin
	meta.Annotations[annotationSpec] = specHash(item)
	pod := &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(gracePeriod)),
			ServiceAccountName:            namesOf(item).account(),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			NodeSelector:                  d.options.NodeSelector,
			Tolerations:                   d.options.Tolerations,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(userID)), RunAsGroup: new(int64(groupID)), FSGroup: new(int64(fileGroup)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes:        volumes(p),
			InitContainers: []corev1.Container{d.initContainer(item, p), d.waitContainer(item, p)},
			Containers:     []corev1.Container{d.mainContainer(config, p)},
		},
	}
	if p.pull != "" {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: p.pull}}
	}
	return pod
}

func (d *Deployer) initContainer(item *lsv1alpha1.DeployItem, p provision) corev1.Container {
	c := d.container(initContainer, d.options.HelperImage)
	c.Command = []string{program, initContainer}
	c.Env = append(c.Env, append(itemEnvironment(item),
		corev1.EnvVar{Name: inside.EnvShared, Value: inside.SharedDirectory},
		corev1.EnvVar{Name: inside.EnvInput, Value: inside.InputDirectory},
		corev1.EnvVar{Name: inside.EnvStateSum, Value: p.stateSum},
	)...)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeInput, MountPath: inside.InputDirectory, ReadOnly: true})
	return c
}

// waitContainer returns a sidecar: it runs beside the image, and stops after it.
func (d *Deployer) waitContainer(item *lsv1alpha1.DeployItem, p provision) corev1.Container {
	c := d.container(waitContainer, d.options.HelperImage)
	c.Command = []string{program, waitContainer}
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	c.Env = append(c.Env, append(itemEnvironment(item),
		corev1.EnvVar{Name: inside.EnvShared, Value: inside.SharedDirectory},
		corev1.EnvVar{Name: inside.EnvToken, Value: inside.TokenDirectory},
		corev1.EnvVar{Name: inside.EnvRun, Value: p.run},
		corev1.EnvVar{Name: inside.EnvResult, Value: namesOf(item).result()},
		corev1.EnvVar{Name: inside.EnvStateSecrets, Value: p.slotPrefix},
		corev1.EnvVar{Name: inside.EnvStateSlots, Value: strconv.Itoa(p.slots)},
	)...)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeToken, MountPath: inside.TokenDirectory, ReadOnly: true})
	return c
}

func (d *Deployer) mainContainer(config *configuration, p provision) corev1.Container {
	c := d.container(mainContainer, config.Image)
	c.Command, c.Args = config.Command, config.Args
	c.Env = append(c.Env, corev1.EnvVar{Name: inside.EnvOperation, Value: string(p.operation)})
	return c
}

// container returns the common parts of all containers.
func (d *Deployer) container(name, image string) corev1.Container {
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	at := func(name string) string { return inside.SharedDirectory + "/" + name }
	return corev1.Container{
		Name:                     name,
		Image:                    image,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		Resources:                d.options.Resources,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			Privileged:               new(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		Env: []corev1.EnvVar{
			{Name: inside.EnvImports, Value: at(inside.ImportsFile)},
			{Name: inside.EnvExports, Value: at(inside.ExportsFile)},
			{Name: inside.EnvDescriptor, Value: at(inside.DescriptorFile)},
			{Name: inside.EnvTarget, Value: at(inside.TargetFile)},
			{Name: inside.EnvContent, Value: at(inside.ContentFolder)},
			{Name: inside.EnvState, Value: at(inside.StateFolder)},
			{Name: inside.EnvPodName, ValueFrom: field("metadata.name")},
			{Name: inside.EnvNamespace, ValueFrom: field("metadata.namespace")},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: volumeShared, MountPath: inside.SharedDirectory}},
	}
}

func itemEnvironment(item *lsv1alpha1.DeployItem) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: inside.EnvItemName, Value: item.Name},
		{Name: inside.EnvItemNamespace, Value: item.Namespace},
	}
}

func volumes(p provision) []corev1.Volume {
	sources := append(pieces(inside.BundleFolder, p.input), pieces(inside.StateFolderIn, p.state)...)
	return []corev1.Volume{
		{Name: volumeShared, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: volumeInput, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}},
		{Name: volumeToken, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(tokenSeconds))}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
		}}}},
	}
}

// pieces projects the pieces of an archive into a folder.
func pieces(folder string, secrets []string) []corev1.VolumeProjection {
	var sources []corev1.VolumeProjection
	for i, secret := range secrets {
		sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret},
			Items:                []corev1.KeyToPath{{Key: inside.SecretKey, Path: folder + "/" + inside.PieceName(i)}},
		}})
	}
	return sources
}

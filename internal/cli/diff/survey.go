// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/preview"
	"espalier.dev/internal/target"
)

// patience is how long one deploy item may take: a target that does not answer must not hold up the others for ever.
const patience = 2 * time.Minute

// overlay reads from the cluster, and before that from the manifests.
type overlay struct {
	client.Reader

	manifests *offline.Manifests
}

// Get implements client.Reader.
func (o overlay) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	switch into := into.(type) {
	case *corev1.Secret:
		if found := named(o.manifests.Secrets, key); found != nil {
			found.DeepCopyInto(into)
			storeText(into)
			return nil
		}
	case *corev1.ConfigMap:
		if found := named(o.manifests.ConfigMaps, key); found != nil {
			found.DeepCopyInto(into)
			return nil
		}
	case *lsv1alpha1.Context:
		if found := named(o.manifests.Contexts, key); found != nil {
			found.DeepCopyInto(into)
			return nil
		}
	case *lsv1alpha1.Target:
		if found := named(o.manifests.Targets, key); found != nil {
			found.DeepCopyInto(into)
			return nil
		}
	}
	return o.Reader.Get(ctx, key, into, opts...)
}

// storeText does to a Secret what the API server does.
func storeText(secret *corev1.Secret) {
	for key, text := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(text)
	}
	secret.StringData = nil
}

func named[T client.Object](objects []T, key client.ObjectKey) (found T) {
	for _, object := range objects {
		if keyOf(object) == key {
			return object
		}
	}
	return found
}

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

// survey goes through trees.
type survey struct {
	*options
	host     overlay
	clusters *target.Clusters
	session  *registry.Session
	output   *output
	// origins tell what people call the Targets of the installation that is compared.
	origins *objecttree.Origins
}

// all compares every installation among the manifests that is not nested in another one of them.
func (s *survey) all(ctx context.Context, manifests *offline.Manifests) error {
	for _, warning := range manifests.Warnings {
		s.output.note(warning)
	}
	if len(manifests.Installations) == 0 {
		return errors.New("there is no Installation among the manifests")
	}
	manifests.Installations = slices.DeleteFunc(slices.Clone(manifests.Installations), func(inst *lsv1alpha1.Installation) bool {
		above := client.ObjectKey{Namespace: inst.Namespace, Name: inst.Labels[lsv1alpha1.EncompassedByLabel]}
		return named(manifests.Installations, above) != nil // A job rewrites it.
	})
	for _, inst := range manifests.Installations {
		err := s.installation(ctx, inst, manifests)
		switch {
		case err == nil:
		case len(manifests.Installations) == 1 || ctx.Err() != nil:
			return s.explain(err, inst)
		default:
			s.output.fail(brief(s.explain(err, inst), inst))
		}
	}
	return nil
}

// brief is an error about one of several installations in one line.
func brief(err error, inst *lsv1alpha1.Installation) string {
	text := err.Error()
	if problem := (*cli.Problem)(nil); errors.As(err, &problem) {
		text = problem.What
	}
	prefix := "installation " + inst.Name + ": "
	return prefix + strings.TrimPrefix(text, prefix)
}

func (s *survey) installation(ctx context.Context, inst *lsv1alpha1.Installation, manifests *offline.Manifests) error {
	reader := preview.Reader{Cluster: preview.Cluster{Client: s.host.Reader}, Outside: s.session.Outside}
	own := *manifests
	own.Warnings = nil
	future, err := reader.Items(ctx, inst, &own)
	if err != nil {
		return err
	}
	for _, note := range future.Notes {
		s.output.note(note)
	}
	for _, failed := range future.Failed {
		s.output.fail(failed)
	}
	s.origins = s.originsOf(ctx, inst, future)
	for _, item := range future.Items {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.item(ctx, future, item)
	}
	return ctx.Err()
}

// originsOf knows the Targets that the job would make. What is above an installation is in the cluster, if the user may read it.
func (s *survey) originsOf(ctx context.Context, inst *lsv1alpha1.Installation, future *preview.Future) *objecttree.Origins {
	objects := &objecttree.Objects{}
	isNested := objecttree.ParentOf(inst) != ""
	if isNested {
		if read, err := objecttree.Read(ctx, s.host.Reader, inst.Namespace); err == nil {
			objects = read
		}
	}
	for _, each := range append(future.Nested, inst) {
		objects.Put(each)
	}
	origins := objecttree.NewOrigins(objects.Forest())
	if isNested {
		origins = objecttree.ReadOrigins(ctx, s.host.Reader, objects.Forest(), inst.Namespace)
	}
	for _, t := range future.Targets {
		origins.Add(t)
	}
	return origins
}

// explain says what to do about an installation of which nothing can be said.
func (s *survey) explain(err error, inst *lsv1alpha1.Installation) error {
	var unknown *preview.Unknown
	var unread *preview.ReadError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("installation %s: %s", inst.Name, unknown.Message)
	case errors.As(err, &unread):
		return s.access.Explain(unread.Err, unread.What, unread.Namespace)
	}
	return fmt.Errorf("installation %s: %w", inst.Name, err)
}

// item shows what would become of what one deploy item has in its target.
func (s *survey) item(ctx context.Context, future *preview.Future, item preview.Item) {
	place := place{item: future.Secrets.Text(item.Within + "/" + item.Title), secrets: future.Secrets}
	foresee, known := s.env.Forecasters[item.Object.Spec.Type]
	goes := item.Object.DeletionTimestamp != nil
	switch {
	case item.Idle:
		return
	case goes && item.Object.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true":
		s.output.note(fmt.Sprintf("deploy item %s is deleted, but what it deployed stays, because of its annotation", place.item))
		return
	case !known:
		kind := future.Secrets.Text(string(item.Object.Spec.Type))
		s.output.note(fmt.Sprintf("deploy item %s: what items of type %s deploy cannot be previewed", place.item, kind))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := s.foresee(ctx, subject{future: future, item: item, foresee: foresee, place: &place})
	if err != nil {
		s.output.fail(fmt.Sprintf("deploy item %s, %s: %v", place.item, place.where(), future.Secrets.Error(err)))
	}
	if found == nil {
		return
	}
	for _, note := range found.Notes {
		s.output.note(fmt.Sprintf("deploy item %s: %s", place.item, future.Secrets.Text(note)))
	}
	for _, change := range found.Changes {
		s.output.change(change, place)
	}
}

// subject is a deploy item and who knows it.
type subject struct {
	future  *preview.Future
	item    preview.Item
	foresee forecast.Forecaster
	place   *place
}

func (s *survey) foresee(ctx context.Context, about subject) (*forecast.Forecast, error) {
	item := about.item.Object
	find := func(ctx context.Context, name string) (*target.Cluster, error) {
		t, err := s.target(ctx, about.future, client.ObjectKey{Namespace: item.Namespace, Name: name})
		if err != nil {
			return nil, err
		}
		return s.clusters.For(ctx, t)
	}
	work := forecast.Work{Item: item, ClusterFor: find, Now: s.env.Now(), Wake: func() {}}
	if item.Spec.Target != nil {
		about.place.target = item.Spec.Target.Name
		t, err := s.target(ctx, about.future, client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name})
		if err != nil {
			return nil, err
		}
		s.origins.Add(t)
		about.place.target = s.origins.Name(t.Namespace, t.Name)
		work.Target = t
		if t.Spec.Type == lsv1alpha1.TargetTypeKubernetesCluster {
			if work.Cluster, err = s.clusters.For(ctx, t); err != nil {
				return nil, err
			}
		}
	}
	return about.foresee(ctx, work, forecast.Surroundings{Host: s.host, Registries: s.session.Open})
}

// target returns a Target as the job would have it, and takes note of what must not be shown of it.
func (s *survey) target(ctx context.Context, future *preview.Future, key client.ObjectKey) (*lsv1alpha1.Target, error) {
	t := future.Targets[key.Name]
	if t == nil {
		t = &lsv1alpha1.Target{}
		if err := s.host.Get(ctx, key, t); err != nil {
			return nil, fmt.Errorf("read Target %s: %w", key.Name, err)
		}
	}
	future.Secrets.AddTarget(t)
	if t.Spec.SecretRef != nil {
		var secret corev1.Secret
		if err := s.host.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: t.Spec.SecretRef.Name}, &secret); err == nil {
			future.Secrets.AddCredentials(secret.Data) // One that cannot be read is what connecting fails with.
		}
	}
	return t, nil
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/archive"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/tenancy"
)

// provide prepares everything that a run needs in addition to the pod. It may be repeated.
func (p *pass) provide(ctx context.Context) (provision, error) {
	item, n := p.work.Item, namesOf(p.work.Item)
	made := provision{run: p.run, origin: p.origin, operation: p.operation}
	scope, err := p.scopeOf(ctx, item, p.config)
	if err != nil {
		return made, err
	}
	bundle, err := p.bundle(ctx, scope)
	if err != nil {
		return made, err
	}
	pull, err := p.pullDocument(ctx, p.config.Image, scope)
	if err != nil {
		return made, err
	}
	// The input of the image was read as the tenant. The objects that carry it to the pod are the deployer's own.
	ctx = tenancy.Own(ctx)
	// The Secret for the result is created first and deleted last: while it exists, the item's objects can be found.
	result, err := p.ensureResult(ctx)
	if err != nil {
		return made, err
	}
	if err := p.ensureAccount(ctx); err != nil {
		return made, err
	}
	if err := p.provideState(ctx, result, &made); err != nil {
		return made, err
	}
	for i, piece := range inside.Split(bundle) {
		secret := &corev1.Secret{
			ObjectMeta: p.meta(item, inside.SlotName(n.input(p.run), i), typeInput), Data: map[string][]byte{inside.SecretKey: piece},
		}
		if err := p.put(ctx, secret); err != nil {
			return made, err
		}
		made.input = append(made.input, secret.Name)
	}
	if pull != nil {
		made.pull = n.pull()
		err = p.put(ctx, &corev1.Secret{
			ObjectMeta: p.meta(item, made.pull, typePull), Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{corev1.DockerConfigJsonKey: pull},
		})
	}
	return made, err
}

// maxBundle is the maximum size of the packed input.
const maxBundle = 24 * inside.PieceBytes

// bundle returns the packed input: everything that the image gets except the state.
func (p *pass) bundle(ctx context.Context, scope *lsv1alpha1.Context) ([]byte, error) {
	found, err := p.contentOf(ctx, p.work.Item, p.config, scope)
	if err != nil {
		return nil, err
	}
	files := archive.Files{}
	for name, data := range found.files {
		files[path.Join(inside.ContentFolder, name)] = data
	}
	if p.config.imports != nil {
		files[inside.ImportsFile] = p.config.imports
	}
	if found.descriptors != nil {
		files[inside.DescriptorFile] = found.descriptors
	}
	if files[inside.TargetFile], err = p.targetFile(ctx); err != nil {
		return nil, err
	}
	plain, err := archive.Tar(files)
	if err != nil {
		return nil, invalidContent(err)
	}
	packed, err := archive.Gzip(plain)
	if err == nil && len(packed) > maxBundle {
		err = invalidContent(fmt.Errorf("imports, blueprint and component descriptor have %d bytes when packed, which exceeds the limit of %d", len(packed), maxBundle))
	}
	return packed, err
}

// targetFile returns the file that describes the target to the image: null if there is none.
func (p *pass) targetFile(ctx context.Context) ([]byte, error) {
	t := p.work.Target
	if t == nil {
		return []byte("null"), nil
	}
	resolved, err := p.targets(ctx, t)
	if err != nil {
		return nil, err
	}
	p.targetContent = resolved
	shown := t.DeepCopy()
	shown.ManagedFields = nil
	shown.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("Target"))
	return json.Marshal(map[string]any{"target": shown, "content": string(resolved)})
}

//espalier:rights deployer-container
//	get,create,update secrets: what the image of a pod is given
//	list secrets: remains of deleted deploy items, and state that another controller stored
//	deletecollection secrets: what a pod was given goes with its run, and everything with the item

// put creates an object of the item, or updates an existing one.
func (p *pass) put(ctx context.Context, secret *corev1.Secret) error {
	err := p.client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		before := &corev1.Secret{}
		if err := p.live.Get(ctx, client.ObjectKeyFromObject(secret), before); err != nil {
			return err
		}
		if err := p.owned(before, "Secret"); err != nil {
			return err
		}
		if apiequality.Semantic.DeepEqual(before.Data, secret.Data) {
			return nil
		}
		secret.ResourceVersion = before.ResourceVersion
		err = p.client.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("store Secret %s: %w", secret.Name, err)
	}
	return nil
}

// owned rejects a foreign object under a name of the item.
func (p *pass) owned(object client.Object, kind string) error {
	if object.GetLabels()[labelItem] == string(p.work.Item.UID) {
		return nil
	}
	return failure.Terminalf(
		failure.Details{Operation: "Prepare", Reason: "NameTaken", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}},
		"the %s %s/%s exists and does not belong to the deploy item: rename or delete it", kind, object.GetNamespace(), object.GetName())
}

// ensureResult returns the Secret for the result, and creates it if it is missing. If it existed, there may be more objects of earlier
// runs.
func (p *pass) ensureResult(ctx context.Context) (*corev1.Secret, error) {
	result, err := p.result(ctx)
	if err != nil {
		return nil, err
	}
	if result != nil && result.Annotations[inside.AnnotationRun] == p.run {
		// The run has ended, and its pod is gone: the item that required the start is stale.
		_, err := p.lost(ctx)
		return nil, err
	}
	if result != nil {
		own := namesOf(p.work.Item).input(p.run)
		return result, p.dropInputs(ctx, func(name string) bool { return !strings.HasPrefix(name, own) })
	}
	result = &corev1.Secret{ObjectMeta: p.meta(p.work.Item, namesOf(p.work.Item).result(), typeResult)}
	if err := p.client.Create(ctx, result); err != nil {
		return nil, fmt.Errorf("create Secret %s: %w", result.Name, err)
	}
	return result, nil
}

// result reads the Secret for the result; nil if it does not exist.
func (p *pass) result(ctx context.Context) (*corev1.Secret, error) {
	result := &corev1.Secret{}
	key := client.ObjectKey{Namespace: p.namespaceOf(p.work.Item), Name: namesOf(p.work.Item).result()}
	if err := p.live.Get(ctx, key, result); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	return result, p.owned(result, "Secret")
}

//espalier:rights deployer-container
//	get,create,deletecollection serviceaccounts: each deploy item has its own service account, which stores the result
//	get,create,update,deletecollection roles.rbac.authorization.k8s.io: that service account may change only the Secrets of its deploy item
//	get,create,update,deletecollection rolebindings.rbac.authorization.k8s.io: that role is bound to the service account
//	patch secrets: that service account may patch its Secrets, and a controller can only grant rights that it has

// ensureAccount creates the service account of the item's pods, which may write only the Secrets of the item.
func (p *pass) ensureAccount(ctx context.Context) error {
	item, n := p.work.Item, namesOf(p.work.Item)
	meta := p.meta(item, n.account(), "")
	account := &corev1.ServiceAccount{ObjectMeta: meta, AutomountServiceAccountToken: new(false)}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: n.writable(), Verbs: []string{"get", "patch"},
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: n.account()},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: n.account(), Namespace: meta.Namespace}},
	}
	for _, each := range []struct {
		kind          string
		wanted, there client.Object
	}{
		{"ServiceAccount", account, &corev1.ServiceAccount{}},
		{"Role", role, &rbacv1.Role{}},
		{"RoleBinding", binding, &rbacv1.RoleBinding{}},
	} {
		err := p.client.Create(ctx, each.wanted)
		if apierrors.IsAlreadyExists(err) {
			if err = p.live.Get(ctx, client.ObjectKeyFromObject(each.wanted), each.there); err == nil {
				err = p.unchanged(ctx, each.kind, each.wanted, each.there)
			}
		}
		if err != nil {
			return fmt.Errorf("create %s %s: %w", each.kind, n.account(), err)
		}
	}
	return nil
}

// unchanged ensures that an existing object grants exactly the intended rights: otherwise, any user who can change a role could give the
// pod more rights.
func (p *pass) unchanged(ctx context.Context, kind string, wanted, there client.Object) error {
	if err := p.owned(there, kind); err != nil {
		return err
	}
	same := true
	switch there := there.(type) {
	case *rbacv1.Role:
		w, ok := wanted.(*rbacv1.Role)
		same = ok && apiequality.Semantic.DeepEqual(w.Rules, there.Rules)
	case *rbacv1.RoleBinding:
		w, ok := wanted.(*rbacv1.RoleBinding)
		same = ok && apiequality.Semantic.DeepEqual(w.RoleRef, there.RoleRef) && apiequality.Semantic.DeepEqual(w.Subjects, there.Subjects)
	}
	if same {
		return nil
	}
	wanted.SetResourceVersion(there.GetResourceVersion())
	return p.client.Update(ctx, wanted)
}

// provideState finds the state of the last run, and creates other Secrets for the next state.
func (p *pass) provideState(ctx context.Context, result *corev1.Secret, made *provision) error {
	n := namesOf(p.work.Item)
	last, known := inside.ParseState(result.Annotations[inside.AnnotationState])
	made.slots, made.slotPrefix = 1, n.otherState("")
	if known {
		if a, b := n.states(); last.Prefix != a && last.Prefix != b {
			return fmt.Errorf("the state in Secret %s belongs to another deploy item", result.Name)
		}
		made.slots, made.slotPrefix, made.stateSum = last.Pieces, n.otherState(last.Prefix), last.Sum
		for i := range last.Pieces {
			made.state = append(made.state, inside.SlotName(last.Prefix, i))
		}
	} else {
		var err error
		if made.state, err = p.formerState(ctx); err != nil {
			return err
		}
	}
	return p.makeRoom(ctx, made.slotPrefix, made.slots)
}

// makeRoom creates the Secrets for pieces of a state. Existing ones stay.
func (p *pass) makeRoom(ctx context.Context, prefix string, slots int) error {
	for i := range slots {
		secret := &corev1.Secret{ObjectMeta: p.meta(p.work.Item, inside.SlotName(prefix, i), typeState)}
		if err := p.client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create Secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// formerState finds the state that an earlier controller stored for the item: the pieces of the newest backup, in order.
func (p *pass) formerState(ctx context.Context) ([]string, error) {
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	item := p.work.Item
	err := p.live.List(ctx, found, client.InNamespace(p.namespaceOf(item)), client.MatchingLabels{
		labelItemName: labelValue(item.Name), labelItemNamespace: labelValue(item.Namespace), labelType: typeState,
	})
	if err != nil {
		return nil, fmt.Errorf("list Secrets with state: %w", err)
	}
	pieces := slices.DeleteFunc(found.Items, func(s metav1.PartialObjectMetadata) bool { return s.Labels[labelItem] != "" })
	if len(pieces) == 0 {
		return nil, nil
	}
	newest := slices.MaxFunc(pieces, func(a, b metav1.PartialObjectMetadata) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	pieces = slices.DeleteFunc(pieces, func(s metav1.PartialObjectMetadata) bool {
		return s.Annotations[annotationUUID] != newest.Annotations[annotationUUID]
	})
	slices.SortFunc(pieces, func(a, b metav1.PartialObjectMetadata) int { return number(a) - number(b) })
	var result []string
	for i, piece := range pieces {
		if number(piece) != i {
			return nil, failure.Terminalf(failure.Details{Operation: "ReadState", Reason: "StateIncomplete"},
				"piece %d of the state is missing, which an earlier controller stored in Secrets such as %s: restore or delete them", i, newest.Name)
		}
		result = append(result, piece.Name)
	}
	return result, nil
}

func number(s metav1.PartialObjectMetadata) int {
	n, err := strconv.Atoi(s.Annotations[annotationNum])
	if err != nil {
		return -1
	}
	return n
}

// dropFormer deletes the Secrets that an earlier controller left behind for the item. Its service accounts and roles stay: their names do
// not distinguish items of the same name.
func (p *pass) dropFormer(ctx context.Context) error {
	item := p.work.Item
	selector, err := labels.Parse(fmt.Sprintf("%s=%s,%s=%s,!%s",
		labelItemName, labelValue(item.Name), labelItemNamespace, labelValue(item.Namespace), labelItem))
	if err != nil {
		return err
	}
	in := client.InNamespace(p.namespaceOf(item))
	err = p.client.DeleteAllOf(ctx, &corev1.Secret{}, in, client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return fmt.Errorf("delete Secrets of an earlier controller: %w", err)
	}
	return nil
}

// dropInputOf deletes the input of a pod's run: it contains secrets, and the pod needs it only to start. The input of another run stays:
// the caller may have read the pod before that run started.
func (d *Deployer) dropInputOf(ctx context.Context, pod *corev1.Pod) error {
	for _, volume := range pod.Spec.Volumes {
		if volume.Name != volumeInput || volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if !isInput(source.Secret) {
				continue
			}
			if err := d.dropInput(ctx, pod.Namespace, pod.Labels[labelItem], source.Secret.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// isInput reports whether a source is the input, not the state, which is in the same volume.
func isInput(source *corev1.SecretProjection) bool {
	return source != nil && slices.ContainsFunc(source.Items, func(item corev1.KeyToPath) bool {
		return strings.HasPrefix(item.Path, inside.BundleFolder+"/")
	})
}

// dropInputs deletes input without a pod: its run never had one, or has lost it.
func (p *pass) dropInputs(ctx context.Context, which func(name string) bool) error {
	namespace, uid := p.namespaceOf(p.work.Item), string(p.work.Item.UID)
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := p.live.List(ctx, found, client.InNamespace(namespace), client.MatchingLabels{labelItem: uid, labelType: typeInput}); err != nil {
		return fmt.Errorf("list the input of runs: %w", err)
	}
	for _, secret := range found.Items {
		if !which(secret.Name) {
			continue
		}
		if err := p.dropInput(ctx, namespace, uid, secret.Name); err != nil {
			return err
		}
	}
	return nil
}

// dropInput deletes one Secret with input. Input is never deleted collectively: a process that is delayed at this point may continue after
// another one has started the next run, and each run has its own names.
func (d *Deployer) dropInput(ctx context.Context, namespace, uid, name string) error {
	err := d.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(namespace),
		client.MatchingLabels{labelItem: uid, labelType: typeInput}, client.MatchingFields{metav1.ObjectNameField: name})
	if err != nil {
		return fmt.Errorf("delete the input of the pod: %w", err)
	}
	return nil
}

// cleanUp deletes everything of an item except its pod. The Secret for the result is deleted last.
func (d *Deployer) cleanUp(ctx context.Context, namespace, uid string) error {
	if uid == "" {
		return errors.New("clean up: the item has no UID")
	}
	mine := []client.DeleteAllOfOption{client.InNamespace(namespace), client.MatchingLabels{labelItem: uid, labelManaged: managed}}
	for _, kind := range []client.Object{&rbacv1.RoleBinding{}, &rbacv1.Role{}, &corev1.ServiceAccount{}} {
		if err := d.client.DeleteAllOf(ctx, kind, mine...); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	for _, kind := range []string{typeInput, typePull, typeState, typeResult} {
		which := client.MatchingLabels{labelItem: uid, labelType: kind}
		if err := d.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(namespace), which); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	return nil
}

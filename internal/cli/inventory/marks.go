// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	container "espalier.dev/api/deployer/container/v1alpha1"
	helm "espalier.dev/api/deployer/helm/v1alpha1"
	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/objecttree"
)

// What deployers, Helm and Flux put on objects.
const (
	// containerItem and containerUID are on the objects of the container deployer.
	containerItem = "deployitem." + container.GroupName + "/item"
	containerUID  = "deployitem." + container.GroupName + "/uid"

	managedBy        = "app.kubernetes.io/managed-by"
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
	// recordPrefix begins the names of Secrets with the records of releases.
	recordPrefix = "sh.helm.release.v1."
	// recordOwner is on the record of a release, with a hash of namespace and name of the deploy item, and recordItem has both, with a dot
	// between them, if there is room.
	recordOwner = helm.GroupName + "/owner"
	recordItem  = helm.GroupName + "/item"
	hashDigits  = 40

	kustomizeGroup = "kustomize.toolkit.fluxcd.io"
	helmGroup      = "helm.toolkit.fluxcd.io"
)

// liveObject is what is read of an object in a cluster.
type liveObject = metav1.PartialObjectMetadata

// titleOf names an object for people.
func titleOf(o *liveObject) string { return o.Kind + "/" + o.Name }

func keyOfLive(o *liveObject) objectKey {
	return objectKey{o.GroupVersionKind().GroupKind(), o.Namespace, o.Name}
}

// markOn is the deploy item that an object says it belongs to. Anybody can write annotations, and controllers copy them: the deploy item
// has to agree.
func markOn(o metav1.Object) (client.ObjectKey, bool) {
	namespace, name, found := strings.Cut(o.GetAnnotations()[inventory.OwnerAnnotation], "/")
	return client.ObjectKey{Namespace: namespace, Name: name}, found && namespace != "" && name != ""
}

// containerMarkOn is the deploy item that an object of the container deployer belongs to.
func containerMarkOn(o metav1.Object) (client.ObjectKey, types.UID, bool) {
	namespace, name, found := strings.Cut(o.GetAnnotations()[containerItem], "/")
	uid := o.GetLabels()[containerUID]
	return client.ObjectKey{Namespace: namespace, Name: name}, types.UID(uid), found && uid != "" && namespace != "" && name != ""
}

// releaseOn is the release of Helm that an object belongs to, or that it is the record of.
func releaseOn(o *liveObject) (client.ObjectKey, bool) {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if o.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) && labels["owner"] == "helm" && labels["name"] != "" &&
		strings.HasPrefix(o.Name, recordPrefix) {
		return client.ObjectKey{Namespace: o.Namespace, Name: labels["name"]}, true
	}
	key := client.ObjectKey{Namespace: annotations[releaseNamespace], Name: annotations[releaseName]}
	return key, labels[managedBy] == "Helm" && key.Name != "" && key.Namespace != ""
}

// maker is the deploy item that has made the newest revision of a release, as its record says.
type maker struct {
	hash string
	// key is empty if the record has no room for it.
	key client.ObjectKey
}

// makerOf finds the newest of the records of a release.
func makerOf(records []liveObject) maker {
	newest, made := -1, maker{}
	for _, record := range records {
		revision, err := strconv.Atoi(record.Labels["version"])
		if err != nil || revision <= newest {
			continue
		}
		newest, made = revision, maker{hash: record.Labels[recordOwner]}
		namespace, name, _ := strings.Cut(record.Labels[recordItem], ".")
		// The name may be left over from an earlier revision, so it counts only if it fits the hash.
		if key := (client.ObjectKey{Namespace: namespace, Name: name}); made.hash != "" && hashOf(key) == made.hash {
			made.key = key
		}
	}
	return made
}

func hashOf(key client.ObjectKey) string {
	sum := sha256.Sum256([]byte(key.String()))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// hasRelease reports whether a deploy item has a release, and made it as far as that is known.
func (m maker) hasRelease(item *lsv1alpha1.DeployItem, release client.ObjectKey) bool {
	recorded := objecttree.RecordedBy(item).Release
	return recorded != nil && recorded.TakenOverBy == "" && recorded.Namespace == release.Namespace && recorded.Name == release.Name &&
		(m.hash == "" || m.hash == hashOf(client.ObjectKeyFromObject(item)))
}

// lists reports whether a deploy item has an object in its inventory.
func lists(item *lsv1alpha1.DeployItem, key objectKey) bool {
	for _, managed := range objecttree.ManagedBy(item) {
		if keyOf(managed.DeployedObject) == key {
			return true
		}
	}
	return false
}

// remembers reports whether an object without a mark is the one that a deploy item has recorded: by its UID, or in what earlier controllers
// have recorded, which has none, by the label of the deploy item.
func remembers(item *lsv1alpha1.DeployItem, o *liveObject) bool {
	label := inventory.OwnerOf(item).Label()
	labelled := o.Labels[manifest.ManagedDeployItemLabel] == label || o.Labels[helm.ManagedDeployItemLabel] == label
	for _, managed := range objecttree.ManagedBy(item) {
		if keyOf(managed.DeployedObject) == keyOfLive(o) && (managed.UID == o.UID && o.UID != "" || managed.UID == "" && labelled) {
			return true
		}
	}
	return false
}

// application is an object that a Pipeline may promote.
type application struct {
	group, kind string
	client.ObjectKey
}

// fluxOn are the applications of Flux that have applied an object.
func fluxOn(o metav1.Object) []application {
	var found []application
	for _, kind := range []schema.GroupKind{{Group: kustomizeGroup, Kind: "Kustomization"}, {Group: helmGroup, Kind: "HelmRelease"}} {
		key := client.ObjectKey{Namespace: o.GetLabels()[kind.Group+"/namespace"], Name: o.GetLabels()[kind.Group+"/name"]}
		if key.Name != "" && key.Namespace != "" {
			found = append(found, application{kind.Group, kind.Kind, key})
		}
	}
	return found
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/documents"
	"espalier.dev/internal/objecttree"
)

// maxRecord is how large the record of a release may be, unpacked.
const maxRecord = 64 << 20

// errRecord hides what is wrong with a record: the words of a parser may quote values.
var errRecord = errors.New("the record of the release cannot be understood")

// Look returns what a deploy item has in its target cluster: the objects that it has recorded, or those of its release if it has recorded
// none.
func (r Reader) Look(
	ctx context.Context,
	item *lsv1alpha1.DeployItem,
	deployed objecttree.Deployed,
) ([]objecttree.DeployedObject, error) {
	if release := deployed.Release; release != nil && release.Revision > 0 && len(deployed.Objects) == 0 {
		return r.OfRelease(ctx, item, *release)
	}
	return r.Of(ctx, item, deployed.Objects)
}

// OfRelease returns the objects of a release with their states, as the record of its revision in the target cluster names them. Deployers
// record the workloads of a release alone, so it is for releases without any. An error says why the cluster could not be looked at.
func (r Reader) OfRelease(
	ctx context.Context,
	item *lsv1alpha1.DeployItem,
	release objecttree.Release,
) ([]objecttree.DeployedObject, error) {
	limited, cancel := r.within(ctx)
	defer cancel()
	cluster, err := r.clusterOf(limited, item)
	if err != nil {
		return nil, err
	}
	objects, err := objectsOf(limited, cluster, release)
	if err != nil {
		return nil, err
	}
	return r.Of(ctx, item, objects)
}

// objectsOf are the objects that the record of a release names.
func objectsOf(ctx context.Context, cluster client.Client, release objecttree.Release) ([]objecttree.DeployedObject, error) {
	key := client.ObjectKey{Namespace: release.Namespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", release.Name, release.Revision)}
	record := &corev1.Secret{}
	if err := cluster.Get(ctx, key, record); err != nil {
		return nil, fmt.Errorf("read the record of the release, Secret %s: %w", key, err)
	}
	manifests, err := manifestsIn(record.Data["release"])
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", key, errRecord)
	}
	var objects []objecttree.DeployedObject
	for _, manifest := range manifests {
		objects = append(objects, namedIn(cluster, manifest, release.Namespace))
	}
	return objects, nil
}

// manifestsIn unpacks the record of a release: JSON, packed with gzip, as base64.
func manifestsIn(text []byte) ([]*unstructured.Unstructured, error) {
	packed, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return nil, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var record struct {
		Manifest string `json:"manifest"`
	}
	if err := json.NewDecoder(io.LimitReader(unpacked, maxRecord)).Decode(&record); err != nil {
		return nil, err
	}
	return documents.Split(record.Manifest)
}

// namedIn names an object of a release. One without a namespace is in that of the release, if its kind has namespaces.
func namedIn(cluster client.Client, manifest *unstructured.Unstructured, namespace string) objecttree.DeployedObject {
	object := objecttree.DeployedObject{
		APIVersion: manifest.GetAPIVersion(), Kind: manifest.GetKind(), Namespace: manifest.GetNamespace(), Name: manifest.GetName(),
	}
	if namespaced, err := cluster.IsObjectNamespaced(manifest); object.Namespace == "" && (namespaced || err != nil) {
		object.Namespace = namespace
	}
	return object
}

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

// maxRecord is the maximum size of the record of a release, unpacked.
const maxRecord = 64 << 20

// errRecord hides the problem of a record: the parser's message may quote values.
var errRecord = errors.New("the record of the release cannot be parsed")

// Look returns the objects of a deploy item in its target cluster: those that it has recorded, or those of its release if it has recorded
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

// OfRelease returns the objects of a release with their states, according to the record of its revision in the target cluster. Deployers
// record only the workloads of a release, so this is for releases without any. An error says why the cluster could not be read.
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

// objectsOf returns the objects that the record of a release names.
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

// manifestsIn unpacks the record of a release: gzipped JSON in base64.
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

// namedIn identifies an object of a release. An object without a namespace is in that of the release, if its kind is
// namespaced.
func namedIn(cluster client.Client, manifest *unstructured.Unstructured, namespace string) objecttree.DeployedObject {
	object := objecttree.DeployedObject{
		APIVersion: manifest.GetAPIVersion(), Kind: manifest.GetKind(), Namespace: manifest.GetNamespace(), Name: manifest.GetName(),
	}
	if namespaced, err := cluster.IsObjectNamespaced(manifest); object.Namespace == "" && (namespaced || err != nil) {
		object.Namespace = namespace
	}
	return object
}

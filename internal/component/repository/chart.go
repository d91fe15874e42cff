// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/oci"
)

// chartLayers are the media types of charts, without a suffix for gzip.
var (
	chartLayers  = []string{"application/vnd.cncf.helm.chart.content.v1.tar"}
	legacyCharts = []string{"application/tar", "application/x-tar"}
)

// Chart returns the archive of a Helm chart that is a resource of a component: an artifact as Helm pushes it, or a blob.
func (r *Repositories) Chart(ctx context.Context, of component.Coordinates, resource *component.Resource) ([]byte, error) {
	found, err := r.access(ctx, of, resource.Access)
	var data []byte
	if err == nil {
		data, err = r.chart(ctx, found)
	}
	if err != nil {
		return nil, fmt.Errorf("chart %s of component %s: %w", resource.Name, of.ID(), err)
	}
	return data, nil
}

// ChartArtifact returns the archive of a Helm chart that is an artifact of a registry, named by an image reference. A tag is required,
// because it is the version of the chart.
func (r *Repositories) ChartArtifact(ctx context.Context, reference string) ([]byte, error) {
	parsed, err := component.ParseImageReference(reference)
	if err != nil {
		return nil, invalid(ReasonResourceInvalid, "chart: %w", err)
	}
	if parsed.Tag == "" {
		return nil, invalid(ReasonResourceInvalid, "chart %s: a tag is required: it is the version of the chart", parsed)
	}
	found, err := r.image(ctx, reference, nil)
	var data []byte
	if err == nil {
		data, err = r.chart(ctx, found)
	}
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", parsed, err)
	}
	return data, nil
}

func (r *Repositories) chart(ctx context.Context, found content) ([]byte, error) {
	found, err := r.unwrap(ctx, found)
	if err != nil {
		return nil, err
	}
	if found.files != nil {
		return packChart(found.files)
	}
	if found.artifact != nil {
		if found, err = found.artifact.chartLayer(ctx); err != nil {
			return nil, err
		}
	}
	return found.read(r.options.ContentBytes)
}

// packChart packs a directory as Helm does: in a folder.
func packChart(files archive.Files) ([]byte, error) {
	inside := archive.Files{}
	for name, content := range files {
		inside["chart/"+name] = content
	}
	tar, err := archive.Tar(inside)
	if err != nil {
		return nil, err
	}
	return archive.Gzip(tar)
}

// chartLayer returns the only layer of an artifact that is a chart. Its provenance is in another layer.
func (a *artifact) chartLayer(ctx context.Context) (content, error) {
	image, err := a.manifest.Image()
	if err != nil {
		return content{}, err
	}
	for _, wanted := range [][]string{chartLayers, legacyCharts} {
		var charts []oci.Descriptor
		for _, layer := range image.Layers {
			if slices.Contains(wanted, strings.TrimSuffix(strings.TrimSuffix(layer.MediaType, "+gzip"), ".gzip")) {
				charts = append(charts, layer)
			}
		}
		if len(charts) == 1 {
			return a.layer(ctx, charts[0]), nil
		}
		if len(charts) > 1 {
			return content{}, invalid(ReasonResourceInvalid, "the artifact has %d chart layers, but must have one", len(charts))
		}
	}
	return content{}, invalid(ReasonResourceInvalid, "the artifact is not a chart: no layer has the media type %s+gzip", chartLayers[0])
}

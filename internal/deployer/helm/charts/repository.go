// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// maxIndexBytes is the maximum size of the index of a chart repository.
const maxIndexBytes = 32 << 20

// index is the part of a chart repository's index.yaml that is needed.
type index struct {
	Entries map[string][]indexEntry `json:"entries"`
}

type indexEntry struct {
	Version string   `json:"version"`
	Digest  string   `json:"digest"`
	URLs    []string `json:"urls"`
}

// fromRepository finds a chart in the index of its repository. The index is read each time, so that a user who has lost
// access does not get the chart from the cache.
func (s *Source) fromRepository(ctx context.Context, r Request) (Located, error) {
	repo := *r.Chart.HelmChartRepo
	base, err := parseAddress(withScheme(repo.HelmChartRepoURL))
	if err != nil {
		return Located{}, invalid(fmt.Errorf("chart.helmChartRepo.helmChartRepoUrl %w", err))
	}
	scope, err := s.scopeOf(ctx, r)
	if err != nil {
		return Located{}, err
	}
	text, err := s.get(ctx, scope, download{
		address: base.JoinPath("index.yaml"),
		what:    "the index of the chart repository",
		most:    maxIndexBytes,
	})
	if err != nil {
		return Located{}, err
	}
	entry, err := find(text, repo)
	if err != nil {
		return Located{}, err
	}
	address, err := chartAddress(base, entry)
	if err != nil {
		return Located{}, unfetched(fmt.Errorf("the index of the chart repository %s: chart %s %s: %w", shown(base), repo.HelmChartName, entry.Version, err))
	}
	return Located{Digest: entry.Digest, Read: func(ctx context.Context) ([]byte, error) {
		return s.get(ctx, scope, download{address: address, what: "the chart", most: maxArchiveBytes})
	}}, nil
}

// get fetches a file with the credentials for the file's own address: an index may refer to another host.
func (s *Source) get(ctx context.Context, scope *lsv1alpha1.Context, d download) ([]byte, error) {
	var err error
	if d.access, err = s.accessTo(ctx, scope, d.address); err != nil {
		return nil, err
	}
	return s.web.fetch(ctx, d)
}

// find looks up a chart in an index.
func find(text []byte, repo helmv1alpha1.HelmChartRepo) (indexEntry, error) {
	var parsed index
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		return indexEntry{}, unfetched(fmt.Errorf("the index of the chart repository cannot be read: it is not the YAML of a chart index"))
	}
	entries, known := parsed.Entries[repo.HelmChartName]
	if !known {
		return indexEntry{}, unfetched(fmt.Errorf("the chart repository has no chart %s", repo.HelmChartName))
	}
	for _, entry := range entries {
		if entry.Version == repo.HelmChartVersion {
			return entry, nil
		}
	}
	wanted, err := semver.NewVersion(repo.HelmChartVersion)
	for _, entry := range entries {
		offered, bad := semver.NewVersion(entry.Version)
		if err == nil && bad == nil && offered.Equal(wanted) {
			return entry, nil
		}
	}
	return indexEntry{}, unfetched(fmt.Errorf("the chart repository has no version %s of chart %s", repo.HelmChartVersion, repo.HelmChartName))
}

func chartAddress(base *url.URL, entry indexEntry) (*url.URL, error) {
	if len(entry.URLs) == 0 {
		return nil, fmt.Errorf("it has no URL")
	}
	relative, err := url.Parse(entry.URLs[0])
	if err != nil {
		return nil, fmt.Errorf("its URL cannot be read")
	}
	folder := *base
	folder.Path = strings.TrimSuffix(folder.Path, "/") + "/"
	address := folder.ResolveReference(relative)
	if _, err := parseAddress(address.String()); err != nil {
		return nil, fmt.Errorf("its URL %w", err)
	}
	return address, nil
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// ChartRepository serves Helm charts over HTTP.
type ChartRepository struct {
	URL string

	mutex    sync.Mutex
	entries  map[string][]chartEntry // by name of the chart, the newest first
	archives map[string][]byte       // by path below the URL
}

// chartEntry is one line of the index of a chart repository.
type chartEntry struct {
	APIVersion string    `json:"apiVersion"`
	Name       string    `json:"name"`
	Version    string    `json:"version"`
	Created    time.Time `json:"created"`
	Digest     string    `json:"digest"`
	URLs       []string  `json:"urls"`
}

// Charts serves an empty chart repository on loopback until the test ends.
func Charts(t testing.TB) *ChartRepository {
	t.Helper()
	r := &ChartRepository{entries: map[string][]chartEntry{}, archives: map[string][]byte{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Publish packages a version of a chart with these templates, by file name, and serves it from now on.
func (r *ChartRepository) Publish(t testing.TB, name, version string, templates map[string]string) {
	t.Helper()
	archive, err := packChart(name, version, templates)
	if err != nil {
		t.Fatalf("package chart %s %s: %v", name, version, err)
	}
	digest := sha256.Sum256(archive)
	path := fmt.Sprintf("%s-%s.tgz", name, version)
	entry := chartEntry{
		APIVersion: "v2", Name: name, Version: version, Created: time.Now().UTC(), Digest: hex.EncodeToString(digest[:]), URLs: []string{path},
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.archives[path] = archive
	r.entries[name] = append([]chartEntry{entry}, r.entries[name]...)
}

func packChart(name, version string, templates map[string]string) ([]byte, error) {
	files := map[string]string{name + "/Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)}
	for file, text := range templates {
		files[name+"/templates/"+file] = text
	}
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	packed := tar.NewWriter(compressed)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := packed.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(files[path]))}); err != nil {
			return nil, err
		}
		if _, err := packed.Write([]byte(files[path])); err != nil {
			return nil, err
		}
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}

// ServeHTTP serves the index of the repository, and archives.
func (r *ChartRepository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	content, err := r.content(strings.TrimPrefix(request.URL.Path, "/"))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case content == nil:
		http.NotFound(w, request)
	default:
		_, _ = w.Write(content)
	}
}

// content returns nil for unknown paths.
func (r *ChartRepository) content(path string) ([]byte, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if path != "index.yaml" {
		return r.archives[path], nil
	}
	return yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": r.entries})
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
)

// Image is a container image of a few programs that need no libraries.
type Image struct {
	Name       string            // such as example.org/thing:1; without a tag, or with "latest", the kubelet would look for it elsewhere
	Programs   map[string][]byte // by their paths
	Entrypoint []string
	Env        []string
	User       string
}

// Archive packs the image as "docker save" does.
func (i Image) Archive() ([]byte, error) {
	layer, err := i.layer()
	if err != nil {
		return nil, fmt.Errorf("pack the image %s: %w", i.Name, err)
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": i.Entrypoint, "Env": i.Env, "User": i.User, "WorkingDir": "/"},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hash(layer)}},
	})
	if err != nil {
		return nil, fmt.Errorf("pack the image %s: %w", i.Name, err)
	}
	configName := hash(config) + ".json"
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": []string{i.Name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, fmt.Errorf("pack the image %s: %w", i.Name, err)
	}
	return packed([]tarFile{
		{name: configName, content: config}, {name: "layer.tar", content: layer}, {name: "manifest.json", content: manifest},
	})
}

// layer contains the programs, the folders around them, and one for temporary files.
func (i Image) layer() ([]byte, error) {
	files := []tarFile{{name: "tmp/", mode: 0o1777}}
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(i.Programs)) {
		relative := strings.TrimPrefix(path.Clean("/"+name), "/")
		for at, char := range relative {
			if folder := relative[:at] + "/"; char == '/' && !known[folder] {
				known[folder] = true
				files = append(files, tarFile{name: folder, mode: 0o755})
			}
		}
		files = append(files, tarFile{name: relative, mode: 0o755, content: i.Programs[name]})
	}
	return packed(files)
}

type tarFile struct {
	name    string // a folder if it ends in a slash
	mode    int64
	content []byte
}

func packed(files []tarFile) ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, file := range files {
		header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(file.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	directory := t.TempDir()
	err := Check(ProgramsBeside(filepath.Join(directory, "espalier")))
	if !errors.Is(err, ErrUnfit) {
		t.Fatalf("it says %v", err)
	}
	for _, want := range []string{
		"apt-get install --no-install-recommends containerd runc nftables iproute2", filepath.Join(directory, "espalier-node"),
		filepath.Join(directory, "espalier-pause"), "make node",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
}

// A machine that lacks only packages gets an error that names them.
func TestMissingPackagesAreNamed(t *testing.T) {
	program := filepath.Join(t.TempDir(), "espalier-node")
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	err := Check(Programs{Node: program, Pause: program})
	var packages *PackagesError
	nothingElse := os.Geteuid() == 0 && len(hierarchies()) > 0
	if errors.As(err, &packages) != nothingElse || !errors.Is(err, ErrUnfit) {
		t.Fatalf("it says %v", err)
	}
	if nothingElse && !slices.Contains(packages.Names, "runc") {
		t.Errorf("it names %v", packages.Names)
	}
	if !strings.Contains(err.Error(), "apt-get install --no-install-recommends containerd runc") {
		t.Errorf("it does not say what to do: %v", err)
	}
}

func TestBothVersionsOfCgroupsAreRecognised(t *testing.T) {
	for name, c := range map[string]struct {
		files, folders []string
		links          map[string]string
		want           []string // relative to where they are mounted
	}{
		"the second version": {
			files: []string{"cgroup.controllers", "cgroup.procs"}, folders: []string{"system.slice", "user.slice"}, want: []string{"."},
		},
		"the first version": {
			folders: []string{"memory", "cpu,cpuacct"}, links: map[string]string{"cpu": "cpu,cpuacct", "cpuacct": "cpu,cpuacct"},
			want: []string{"cpu,cpuacct", "memory"},
		},
		"the first version, with a tree of the second": {
			files: []string{"unified/cgroup.controllers"}, folders: []string{"memory", "unified"}, want: []string{"memory", "unified"},
		},
		"a directory and nothing mounted": {},
	} {
		t.Run(name, func(t *testing.T) {
			mount := t.TempDir()
			var errs []error
			for _, folder := range c.folders {
				errs = append(errs, os.MkdirAll(filepath.Join(mount, folder), 0o700))
			}
			for _, file := range c.files {
				errs = append(errs, os.WriteFile(filepath.Join(mount, file), nil, 0o600))
			}
			for link, target := range c.links {
				errs = append(errs, os.Symlink(target, filepath.Join(mount, link)))
			}
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, path := range c.want {
				want = append(want, filepath.Join(mount, path))
			}
			if got := hierarchiesIn(mount); !slices.Equal(got, want) {
				t.Errorf("the hierarchies are %v, want %v", got, want)
			}
		})
	}
	if got := hierarchiesIn(filepath.Join(t.TempDir(), "missing")); len(got) > 0 {
		t.Errorf("without cgroups, the hierarchies are %v", got)
	}
}

func TestOwners(t *testing.T) {
	own, err := thisProcess()
	if err != nil {
		t.Fatal(err)
	}
	if read, valid := parseOwner(own.String()); !valid || read != own || !read.isRunning() {
		t.Errorf("%v is read as %v", own, read)
	}
	if read, valid := ownerOfCgroup(cgroupOf(own, 7)); !valid || read != own {
		t.Errorf("the cgroup %s belongs to %v", cgroupOf(own, 7), read)
	}
	if (owner{process: own.process, began: "1"}).isRunning() {
		t.Error("a process that had the same ID before is taken for this one")
	}
	ended := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if (owner{process: ended.Process.Pid, began: own.began}).isRunning() {
		t.Error("a process that has ended lives")
	}
	for _, text := range []string{"", "7", "-", "x-1", "7-"} {
		if read, valid := parseOwner(text); valid {
			t.Errorf("%q is read as %v", text, read)
		}
	}
	for _, name := range []string{"user.slice", "espalier-node-", "espalier-node-x-1-2", "espalier-node-7"} {
		if read, ours := ownerOfCgroup(name); ours {
			t.Errorf("the cgroup %s belongs to %v", name, read)
		}
	}
}

func TestNetworksThatAreInUse(t *testing.T) {
	routes := parseRoutes(`Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0102A8C0	0003	0	0	0	00000000	0	0	0
eth0	0002A8C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
cni0	0001F40A	00000000	0001	0	0	0	00FFFFFF	0	0	0
`)
	want := []netip.Prefix{netip.MustParsePrefix("192.168.2.0/24"), netip.MustParsePrefix("10.244.1.0/24")}
	if !slices.Equal(routes, want) {
		t.Fatalf("the routes are %v", routes)
	}
	for number, used := range map[int]bool{0: false, 1: true, 2: false} {
		n := &Network{number: number}
		if overlaps(routes, netip.MustParsePrefix(n.Subnet())) != used {
			t.Errorf("%s is in use: %v, want %v", n.Subnet(), !used, used)
		}
	}
}

// files unpacks an archive.
func files(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	result := map[string][]byte{}
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return result
		}
		if err != nil {
			t.Fatal(err)
		}
		if result[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnImageIsComplete(t *testing.T) {
	image := Image{Name: "example.org/a:1", Programs: map[string][]byte{"/usr/bin/a": []byte("A"), "b": []byte("B")}, Entrypoint: []string{"/b"}}
	archive, err := image.Archive()
	if err != nil {
		t.Fatal(err)
	}
	again, err := image.Archive()
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("it is another one each time: %v", err)
	}
	parts := files(t, archive)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(parts["manifest.json"], &manifest); err != nil || len(manifest) != 1 || manifest[0].RepoTags[0] != image.Name {
		t.Fatalf("the manifest is %s: %v", parts["manifest.json"], err)
	}
	var config struct {
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	layer := parts[manifest[0].Layers[0]]
	if err := json.Unmarshal(parts[manifest[0].Config], &config); err != nil || config.Rootfs.DiffIDs[0] != "sha256:"+hash(layer) {
		t.Fatalf("the configuration is %s: %v", parts[manifest[0].Config], err)
	}
	inside := files(t, layer)
	for name, content := range map[string]string{"usr/": "", "usr/bin/": "", "usr/bin/a": "A", "b": "B", "tmp/": ""} {
		if found, exists := inside[name]; !exists || string(found) != content {
			t.Errorf("%s is %q (%v)", name, found, exists)
		}
	}
}

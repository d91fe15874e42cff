// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"espalier.dev/internal/gitprovider"
)

const fetching = "fetch commits"

// Wish describes what to fetch.
type Wish struct {
	// Commits are tips that Tips has returned.
	Commits []string
	// Depth is the number of generations to fetch, including the commits themselves.
	Depth int
	// WithoutFiles fetches only the commits themselves. Servers that cannot omit files send them nevertheless.
	WithoutFiles bool
}

// Fetch fetches commits and their files. The caller must close the result.
func (r *Remote) Fetch(ctx context.Context, wish Wish) (_ *Objects, err error) {
	if r.known == nil {
		return nil, errors.New("fetch: look up the branches first")
	}
	directory, err := os.MkdirTemp(r.settings.Temporary, "espalier-git-")
	if err != nil {
		return nil, r.failed(fetching, err)
	}
	fetched := &Objects{directory: directory, limits: r.settings.Limits}
	defer func() {
		if err != nil {
			_ = fetched.Close()
			err = r.failed(fetching, err)
		}
	}()
	pack := filepath.Join(directory, "received.pack")
	if err := r.download(ctx, pack, wish); err != nil {
		return nil, err
	}
	return fetched, fetched.unpack(ctx, pack)
}

// download requests commits and writes the response of the server into a file.
func (r *Remote) download(ctx context.Context, pack string, wish Wish) error {
	request, err := r.fetchRequest(wish)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.Limits.Time)
	defer cancel()
	answer, err := r.do(ctx, exchange{
		operation: fetching, method: http.MethodPost, path: "/" + uploadPack, service: uploadPack,
		accept: "application/x-" + uploadPack + "-result", body: request.body,
	})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := request.open(bound(answer.Body, r.settings.Limits.Pack, "the content of the repository"))
	if err != nil {
		return malformed(err)
	}
	file, err := os.OpenFile(pack, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(malformedUnlessNil(err), file.Close())
}

func malformedUnlessNil(err error) error {
	if err == nil {
		return nil
	}
	return malformed(err)
}

// fetchRequest is a request for commits, with the expected form of its response.
type fetchRequest struct {
	packp.UploadPackRequest
	body *bytes.Buffer
}

func (r *Remote) fetchRequest(wish Wish) (*fetchRequest, error) {
	request := &fetchRequest{UploadPackRequest: *packp.NewUploadPackRequest(), body: &bytes.Buffer{}}
	for _, commit := range wish.Commits {
		request.Wants = append(request.Wants, plumbing.NewHash(commit))
	}
	// Multiple acknowledgements are never sent, because the client has no commits; some servers require the capability nevertheless.
	for _, wanted := range []capability.Capability{
		capability.Sideband64k,
		capability.OFSDelta,
		capability.Shallow,
		capability.NoProgress,
		capability.MultiACK,
	} {
		if r.known.can.Supports(wanted) {
			_ = request.Capabilities.Set(wanted)
		}
	}
	if request.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(wish.Depth)
	}
	if r.known.can.Supports(capability.Filter) {
		_ = request.Capabilities.Set(capability.Filter)
		request.Filter = packp.FilterBlobLimit(uint64(r.settings.Limits.Searched), packp.BlobLimitPrefixNone)
		if wish.WithoutFiles {
			request.Filter = packp.FilterTreeDepth(0)
		}
	}
	if err := request.UploadRequest.Encode(request.body); err != nil {
		return nil, err
	}
	return request, pktline.NewEncoder(request.body).EncodeString("done\n")
}

// open reads the start of a response and returns the pack that follows.
func (f *fetchRequest) open(answer io.Reader) (io.Reader, error) {
	response := packp.NewUploadPackResponse(&f.UploadPackRequest)
	if err := response.Decode(io.NopCloser(answer)); err != nil {
		return nil, notOurs(err)
	}
	if f.Capabilities.Supports(capability.Sideband64k) {
		return sideband.NewDemuxer(sideband.Sideband64k, response), nil
	}
	return response, nil
}

// notOurs detects a server's error about a commit that was the tip of a branch a moment ago.
func notOurs(err error) error {
	if bytes.Contains([]byte(err.Error()), []byte("not our ref")) {
		return &gitprovider.Error{Class: gitprovider.Conflict, Message: "a branch has moved since it was looked up", Cause: err}
	}
	return err
}

// unpack makes the objects of a pack readable, after checking that it is within the limits.
func (o *Objects) unpack(ctx context.Context, pack string) error {
	if err := inspect(ctx, pack, o.limits); err != nil {
		return malformed(err)
	}
	file, err := os.Open(pack)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	o.storage = filesystem.NewStorageWithOptions(
		osfs.New(o.directory, osfs.WithBoundOS()),
		cache.NewObjectLRU(cacheBytes),
		filesystem.Options{ExclusiveAccess: true},
	)
	if err := packfile.WritePackfileToObjectStorage(o.storage, file); err != nil {
		return malformed(fmt.Errorf("read the received objects: %w", err))
	}
	return os.Remove(pack)
}

const cacheBytes = 32 * mebibyte
